"""A release finds its place in a world with known truth, or says why not."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import SubspaceRelease, WordRelease
from sfumato.core.types import Camera, Localization, Pose
from sfumato.device.mechanisms import Plain, Quantize, SubsetMechanism
from sfumato.server.localize import LocalizeOptions, localize, match_release
from sfumato.server.mapping.filing import file_under
from sfumato.server.mapping.map import ARRAY_NAMES, Map
from sfumato.server.retrieval import RetrievalOptions, retrieve_map_regions
from sfumato.server.upright import WorldGravity
from support import tiny_dictionary
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)


def word_release(
    epsilon: float, pose: Pose = QUERY, *, seed: int = 0, subset_size: int = 1
) -> WordRelease:
    features, _ = ROOM.look(pose, seed=seed)
    mechanism = SubsetMechanism(epsilon, subset_size, DICTIONARY)
    return mechanism.release(features, rng=SeededRandom(seed), camera=CAMERA)


def assert_found(result: Localization, truth: Pose = QUERY) -> None:
    assert result.pose is not None, result.reason
    distance, degrees = result.pose.error_to(truth)
    assert distance < 0.05
    assert degrees < 0.5
    assert result.log10_chance < -4


@pytest.mark.parametrize("epsilon", [6.0, 4.5])
@pytest.mark.parametrize("subset_size", [1, 2])
def test_private_words_find_the_pose(epsilon: float, subset_size: int) -> None:
    release = word_release(epsilon, subset_size=subset_size)
    assert_found(localize(release, WORLD, dictionary=DICTIONARY))


def test_quantised_raw_and_lifted_queries_go_through_the_same_door() -> None:
    features, _ = ROOM.look(QUERY, seed=1)
    rng = SeededRandom(0)
    quantised = Quantize(DICTIONARY).release(features, rng=rng, camera=CAMERA)
    assert_found(localize(quantised, WORLD, dictionary=DICTIONARY))
    assert_found(localize(Plain().release(features, rng=rng, camera=CAMERA), WORLD))
    unit = features.descriptors / np.linalg.norm(features.descriptors, axis=1, keepdims=True)
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(len(unit), 16, 2))
    bases = np.linalg.qr(directions)[0].transpose(0, 2, 1)
    moved = unit + np.einsum("nm,nmd->nd", generator.normal(size=(len(unit), 2)), bases)
    lifted = SubspaceRelease(
        keypoints=features.keypoints,
        image_size=features.image_size,
        extractor="tiny",
        camera=CAMERA,
        offsets=moved,
        bases=bases,
    )
    assert_found(localize(lifted, WORLD))


def test_gravity_helps_and_is_optional() -> None:
    release = word_release(4.5)
    down = (0.0, 1.0, 0.0)
    gravity = WorldGravity(tuple(QUERY.rotation @ down), down)
    assert_found(localize(release, WORLD, dictionary=DICTIONARY, gravity=gravity))
    x, y, z = gravity.in_camera
    upside_down = replace(gravity, in_camera=(-x, -y, -z))
    found = localize(release, WORLD, dictionary=DICTIONARY, gravity=upside_down)
    assert found.pose is None
    assert str(found.reason).endswith("does it point down?")
    exact = replace(gravity, error_deg=0.0)
    assert_found(localize(release, WORLD, dictionary=DICTIONARY, gravity=exact))
    with pytest.raises(InvalidInput, match="0 to 45 degrees"):
        replace(gravity, error_deg=-1.0)
    for bad in ((0.0, 0.0, 0.0), (np.nan, 0.0, 1.0), (1.0, 2.0)):
        with pytest.raises(InvalidInput, match="gravity in_camera"):
            WorldGravity(bad, down)  # type: ignore[arg-type]


def test_the_map_remembers_a_dictionary_it_was_filed_under(tmp_path: Path) -> None:
    release = word_release(6.0)
    with pytest.raises(Mismatch, match="not filed under dictionary"):
        localize(release, make_map(ROOM, MAPPING_POSES))
    localize(release, WORLD, dictionary=DICTIONARY)
    WORLD.save(tmp_path / "map")
    assert_found(localize(release, Map.load(tmp_path / "map")))


def test_an_index_is_filed_once_and_kept_beside_the_map(tmp_path: Path) -> None:
    make_map(ROOM, MAPPING_POSES).save(tmp_path / "map")
    first = Map.load(tmp_path / "map")
    assert first.filed_under == []
    made = first.word_index(DICTIONARY)
    file_under(first, DICTIONARY)
    again = Map.load(tmp_path / "map")
    assert again.filed_under == [DICTIONARY.fingerprint]
    assert_found(localize(word_release(6.0), again))
    kept = again.word_index(DICTIONARY)
    assert isinstance(kept.rows.base, np.memmap) or isinstance(kept.rows, np.memmap)
    assert np.array_equal(kept.rows, made.rows)
    # A damaged index, or one of another map, is made anew without a word.
    file = tmp_path / "map" / f"words-{DICTIONARY.fingerprint}" / "rows.npy"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    mended = Map.load(tmp_path / "map").word_index(DICTIONARY)
    assert np.array_equal(mended.rows, made.rows)


def test_queries_change_nothing_in_the_folder_of_a_map(tmp_path: Path) -> None:
    make_map(ROOM, MAPPING_POSES).save(tmp_path / "map")
    before = sorted(tmp_path.rglob("*"))
    world = Map.load(tmp_path / "map")
    assert_found(localize(word_release(6.0), world, dictionary=DICTIONARY))
    assert_found(localize(word_release(6.0), world))  # the index is in memory now
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ARRAY_NAMES)
def test_arrays_of_a_map_cannot_be_written_to(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(WORLD, name)[:] = 0


def test_a_map_of_an_earlier_release_opens_with_its_indices(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parent / "mapping" / "data" / "map-format-1.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    world = Map.load(tmp_path / "map")
    assert repr(world) == "Map(3 images, 40 points, 76 observations, tiny)"
    assert world.sidecars is not None
    assert len(world.filed_under) == 2
    for fingerprint in world.filed_under:
        index = world.sidecars.word_index(fingerprint)
        assert index is not None
        assert len(index.rows) == 76
    assert world.sidecars.derived()["observations_per_image"].sum() == 76


def test_several_words_per_descriptor_of_the_map_find_more() -> None:
    world = make_map(ROOM, MAPPING_POSES)
    release = word_release(5.0)
    counts = []
    for words_each in (1, 2, 3):
        options = LocalizeOptions(words_each=words_each)
        result = localize(release, world, dictionary=DICTIONARY, options=options)
        assert_found(result)
        counts.append(len(world.word_index(DICTIONARY, words_each=words_each).rows))
    assert counts == [world.num_observations * k for k in (1, 2, 3)]
    old = replace(DICTIONARY.with_levels((64,)), weights=None)  # groups of the nearest words
    level = world.word_index(old.at(64), words_each=3)
    assert world.num_observations < len(level.rows) < 3 * world.num_observations


def test_a_place_that_is_not_in_the_map_is_not_localized() -> None:
    elsewhere = make_map(make_room(seed=9), MAPPING_POSES)
    for epsilon in (6.0, 12.0):
        for seed in range(2):
            result = localize(word_release(epsilon, seed=seed), elsewhere, dictionary=DICTIONARY)
            assert result.pose is None
            assert result.reason is not None
            assert "chance" in result.reason or "no pose" in result.reason


def test_wrong_poses_are_practically_never_returned() -> None:
    """At ε far too small the answer must be "not localized", not a guess."""
    for seed in range(4):
        result = localize(word_release(1.0, seed=seed), WORLD, dictionary=DICTIONARY)
        if result.pose is not None:
            assert_found(result)


def test_zero_keypoints_and_wrong_keypoints_are_answered_with_a_reason() -> None:
    features, _ = ROOM.look(QUERY, seed=2)
    mechanism = SubsetMechanism(8.0, 1, DICTIONARY)
    nothing = mechanism.release(features.take(np.arange(0)), rng=SeededRandom(0), camera=CAMERA)
    result = localize(nothing, WORLD, dictionary=DICTIONARY)
    assert result.pose is None
    assert result.reason == "0 candidate matches give no pose"
    generator = np.random.default_rng(0)
    places = (generator.random((len(features), 2)) * (639, 479)).astype(np.float32)
    wrong = mechanism.release(
        replace(features, keypoints=places), rng=SeededRandom(0), camera=CAMERA
    )
    result = localize(wrong, WORLD, dictionary=DICTIONARY)
    assert result.pose is None


def test_a_map_of_one_image_still_localizes() -> None:
    alone = make_map(ROOM, [pose_at(0.5, 0.0, 0.0)])
    assert_found(localize(word_release(7.0), alone, dictionary=DICTIONARY))


def test_a_shortlist_replaces_retrieval() -> None:
    release = word_release(6.0)
    near = np.array([6, 7])
    assert_found(localize(release, WORLD, dictionary=DICTIONARY, shortlist=near))
    none = localize(release, WORLD, dictionary=DICTIONARY, shortlist=np.zeros(0, dtype=np.int64))
    assert none.pose is None


def test_no_image_outside_a_shortlist_is_looked_at() -> None:
    release = word_release(6.0)
    candidates = match_release(release, WORLD, DICTIONARY)
    near = np.array([7, 2])
    found = retrieve_map_regions(release, candidates, WORLD, RetrievalOptions(), shortlist=near)
    assert {int(image) for region in found.map_regions for image in region.images} <= {2, 7}
    free = retrieve_map_regions(release, candidates, WORLD, RetrievalOptions())
    assert all(len(region.images) > 1 for region in free.map_regions)


def test_what_does_not_fit_the_map_is_refused_by_name() -> None:
    release = word_release(6.0)
    with pytest.raises(Mismatch, match="'tiny' features, the release 'sift'"):
        localize(replace(release, extractor="sift"), WORLD, dictionary=DICTIONARY)
    with pytest.raises(Mismatch, match="both sides must use the same words"):
        localize(release, WORLD, dictionary=tiny_dictionary(64, dimension=16))
    with pytest.raises(InvalidInput, match="intrinsics"):
        localize(replace(release, camera=None), WORLD, dictionary=DICTIONARY)
    assert_found(
        localize(replace(release, camera=None), WORLD, dictionary=DICTIONARY, camera=CAMERA)
    )


def test_a_distorted_camera_is_undistorted() -> None:
    """The same rays through a lens: pixels move, the pose does not."""
    import poselib

    lens = Camera("OPENCV", 640, 480, (480.0, 480.0, 320.0, 240.0, -0.15, 0.02, 0.0, 0.0))
    features, _ = ROOM.look(QUERY, seed=3)
    flat = (features.keypoints + 0.5 - (320, 240)) / 480
    bent = np.asarray(poselib.Camera(lens.model, list(lens.params), 640, 480).project(flat)) - 0.5
    inside = np.flatnonzero((bent >= 0).all(axis=1) & (bent < (639, 479)).all(axis=1))
    seen = replace(features.take(inside), keypoints=bent[inside].astype(np.float32))
    mechanism = SubsetMechanism(6.0, 1, DICTIONARY)
    release = mechanism.release(seen, rng=SeededRandom(0), camera=lens)
    assert_found(localize(release, WORLD, dictionary=DICTIONARY))


def test_a_damaged_map_file_is_noticed(tmp_path: Path) -> None:
    WORLD.save(tmp_path / "map")
    loaded = Map.load(tmp_path / "map")
    assert loaded.image_names == WORLD.image_names
    assert np.array_equal(loaded.points, WORLD.points)
    for name in ("points.npy", "descriptors.npy", "manifest.json"):
        file = tmp_path / "map" / name
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(DamagedFile):
            Map.load(tmp_path / "map")
        file.write_bytes(data)


def test_leaving_an_image_out_hides_it() -> None:
    candidates = match_release(word_release(6.0), WORLD, DICTIONARY)
    less = candidates.without(WORLD.features_of(3))
    images = WORLD.image_of(less.row)
    assert 3 not in images
    assert len(less.row) == np.count_nonzero(WORLD.image_of(candidates.row) != 3)
    assert len(less.row) < len(candidates.row)
