"""A map in shards answers bit for bit as the map in one piece does, and says what it missed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, SubspaceRelease
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.server.localize import LocalizeOptions, localize
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.scenes import join_maps
from sfumato.server.motion import Frame
from sfumato.server.pose import PoseOptions
from sfumato.server.retrieval import RetrievalOptions
from sfumato.server.sequence import localize_sequence
from sfumato.server.shards.packing import pack, unpack
from sfumato.server.shards.regions import group_images
from sfumato.server.shards.shard import Message
from sfumato.server.shards.sharded_map import ShardedMap, open_map
from sfumato.server.shards.stored import shard_map
from sharded import assert_same, losing
from support import tiny_dictionary
from synthetic import CAMERA, make_map, make_room, pose_at

DICTIONARY = tiny_dictionary(2048, dimension=16)
ROOM = make_room(700, dictionary=DICTIONARY)
POSES = [
    pose_at(x, y, 0.0, turn_deg=turn)
    for x in np.linspace(-3, 3, 6)
    for y in (-0.3, 0.3)
    for turn in (-12, 12)
]
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)
FEW = LocalizeOptions(retrieval=RetrievalOptions(max_images=8))  # of 48: there is a real vote
SHARDS = (1, 2, 3, 7)


@pytest.fixture(scope="module")
def world() -> Map:
    """Two scenes, the second without errors of its own learnt yet."""
    hall = make_map(ROOM, POSES)
    seen = np.array(hall.point_of_feature)
    seen[hall.features_of(5)] = -1  # an image that sees no point
    made = join_maps(
        {
            "hall": replace(hall, point_of_feature=seen),
            "other": make_map(ROOM, POSES[:4], seed=9),
        }
    )
    made.word_index(DICTIONARY)
    made.word_index(DICTIONARY, words_each=2)
    return made


@pytest.fixture(scope="module")
def folders(world: Map, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    root = tmp_path_factory.mktemp("shards")
    for count in SHARDS:
        shard_map(world, root / str(count), count)
    return {count: root / str(count) for count in SHARDS}


def word_release(epsilon: float, *, seed: int = 0) -> KeypointRelease:
    features, _ = ROOM.look(QUERY, seed=seed)
    mechanism = SubsetMechanism(epsilon, 1, DICTIONARY)
    return mechanism.release(features, rng=SeededRandom(seed), camera=CAMERA)


def lifted_release() -> KeypointRelease:
    features, _ = ROOM.look(QUERY, seed=1)
    unit = features.descriptors / np.linalg.norm(features.descriptors, axis=1, keepdims=True)
    generator = np.random.default_rng(0)
    bases = np.linalg.qr(generator.normal(size=(len(unit), 16, 2)))[0].transpose(0, 2, 1)
    return SubspaceRelease(
        keypoints=features.keypoints,
        image_size=features.image_size,
        extractor="tiny",
        camera=CAMERA,
        offsets=unit + np.einsum("nm,nmd->nd", generator.normal(size=(len(unit), 2)), bases),
        bases=bases,
    )


@pytest.mark.parametrize("count", SHARDS)
@pytest.mark.parametrize("epsilon", [9.0, 7.0])
def test_words_are_answered_as_by_the_whole_map(
    world: Map, folders: dict[int, Path], count: int, epsilon: float
) -> None:
    sharded = ShardedMap.load(folders[count])
    release = word_release(epsilon)
    whole = localize(release, world, options=FEW)
    assert whole.localized
    assert_same(localize(release, sharded, options=FEW), whole)


@pytest.mark.parametrize("count", SHARDS)
def test_raw_and_lifted_descriptors_are_answered_as_by_the_whole_map(
    world: Map, folders: dict[int, Path], count: int
) -> None:
    features, _ = ROOM.look(QUERY, seed=2)
    plain = Plain().release(features, rng=SeededRandom(0), camera=CAMERA)
    sharded = ShardedMap.load(folders[count])
    for release in (plain, lifted_release()):
        whole = localize(release, world, options=FEW)
        assert whole.localized
        assert_same(localize(release, sharded, options=FEW), whole)


def test_the_search_by_positions_is_the_same_too(world: Map, folders: dict[int, Path]) -> None:
    """Where words alone are never believed, with two words each, and where nothing is found."""
    guided = replace(FEW, words_each=2, pose=PoseOptions(max_log10_chance=-np.inf))
    release = word_release(9.0, seed=3)
    whole = localize(release, world, options=guided)
    assert whole.localized
    assert_same(localize(release, ShardedMap.load(folders[3]), options=guided), whole)
    features, _ = ROOM.look(pose_at(0, 0, -3, turn_deg=180), seed=4)  # clutter alone
    nowhere = SubsetMechanism(9.0, 1, DICTIONARY).release(
        features, rng=SeededRandom(0), camera=CAMERA
    )
    whole = localize(nowhere, world, options=FEW)
    assert not whole.localized
    assert_same(localize(nowhere, ShardedMap.load(folders[3]), options=FEW), whole)


def test_a_small_map_and_named_images_are_searched_without_a_vote(
    world: Map, folders: dict[int, Path]
) -> None:
    release, sharded = word_release(9.0), ShardedMap.load(folders[7])
    assert_same(localize(release, sharded), localize(release, world))  # at most 48 images
    named = np.array([11, 3, 8, 20])
    whole = localize(release, world, shortlist=named)
    assert_same(localize(release, sharded, shortlist=named), whole)


def test_messages_survive_the_way_through_bytes(world: Map, folders: dict[int, Path]) -> None:
    sharded = ShardedMap.load(folders[3])

    def by_bytes(messages: Mapping[int, Message]) -> Mapping[int, Message]:
        sent = {number: unpack(pack(one)) for number, one in messages.items()}
        return {number: unpack(pack(one)) for number, one in sharded.ask(sent).items()}

    release = word_release(7.0)
    found = localize(release, replace(sharded, ask=by_bytes), options=FEW)
    assert_same(found, localize(release, world, options=FEW))
    whole = pack({"ask": "vote", "weight": np.ones(3)})
    for damaged in (whole[:-1], whole + b"!", b"", whole[:12]):
        with pytest.raises(DamagedFile, match="message of a shard"):
            unpack(damaged)


def moving(epsilon: float, motion: float = 0.1) -> list[Frame]:
    """Three frames of a device that goes sideways, and says that it went so far each time."""
    made = []
    for number in range(3):
        features, _ = ROOM.look(pose_at(0.5 + 0.1 * number, 0.1, 0.8), seed=20 + number)
        mechanism = SubsetMechanism(epsilon, 1, DICTIONARY)
        release = mechanism.release(features, rng=SeededRandom(number), camera=CAMERA)
        made.append(Frame(release, pose_at(motion * number, 0.0, 0.0)))
    return made


@pytest.mark.parametrize("by_words", [True, False])
def test_a_sequence_is_answered_as_by_the_whole_map(
    world: Map, folders: dict[int, Path], by_words: bool
) -> None:
    """Found by words, by positions alone, and where the motion contradicts what is seen."""
    limit = FEW.pose.max_log10_chance if by_words else -np.inf
    options = replace(FEW, pose=PoseOptions(max_log10_chance=limit))
    sharded = ShardedMap.load(folders[3])
    for asked, is_found in ((moving(7.0), True), (moving(9.0, motion=9.0), False)):
        whole = localize_sequence(asked, world, options=options)
        assert [one.localized for one in whole] == [is_found] * 3
        for found, one in zip(
            localize_sequence(asked, sharded, options=options), whole, strict=True
        ):
            assert_same(found, one)


@pytest.mark.parametrize("step", ["vote", "cut"])
def test_a_sequence_says_where_a_shard_was_lost(folders: dict[int, Path], step: str) -> None:
    sharded, asked = ShardedMap.load(folders[3]), moving(9.0)
    told = [
        localize_sequence(asked, replace(sharded, ask=losing(sharded.ask, lost, step=step)))
        for lost in range(3)
    ]
    for found in (one for answers in told for one in answers):
        assert found.searched < 1
        assert "could not be looked at" in (
            (found.warning if found.localized else found.reason) or ""
        )


@pytest.mark.parametrize("step", ["vote", "cut"])
def test_a_lost_shard_is_told_and_is_never_a_plain_no(folders: dict[int, Path], step: str) -> None:
    sharded = ShardedMap.load(folders[3])
    release = word_release(9.0)
    answers = [
        localize(release, replace(sharded, ask=losing(sharded.ask, lost, step=step)), options=FEW)
        for lost in range(3)
    ]
    for found in answers:
        if found.searched == 1:  # nobody needed anything of it any more
            assert (step, found.localized, found.warning) == ("cut", True, None)
            continue
        assert 0.4 < found.searched < 0.9
        told = found.warning if found.localized else found.reason
        assert "could not be looked at" in (told or "")
        if found.pose is not None:
            assert found.pose.error_to(QUERY)[0] < 0.05
    assert any(found.searched < 1 for found in answers)


def test_the_rest_of_the_map_is_searched_as_if_it_were_all(
    world: Map, folders: dict[int, Path]
) -> None:
    """A shard that is lost between the vote and the answer counts as lost before."""
    sharded, release = ShardedMap.load(folders[3]), word_release(9.0)
    for lost in range(3):
        early, late = (
            localize(release, replace(sharded, ask=losing(sharded.ask, lost, step=step)))
            for step in ("vote", "cut")
        )
        assert_same(late, early)


def test_no_shard_at_all_is_told(folders: dict[int, Path]) -> None:
    sharded = ShardedMap.load(folders[2])
    plain = Plain().release(ROOM.look(QUERY, seed=2)[0], rng=SeededRandom(0), camera=CAMERA)
    for release, step in ((word_release(9.0), "vote"), (plain, "nearest")):
        found = localize(release, replace(sharded, ask=losing(sharded.ask, 0, 1, step=step)))
        assert (found.searched, found.localized) == (0.0, False)
        assert (found.reason or "").startswith("100% of the map's images")


def test_regions_are_even_and_their_images_see_the_same_points() -> None:
    """Along two streets, whose images are numbered at random, each region is one stretch."""
    count, near = 200, np.array([0, 1, -1, 2, -2, 3, -3, 4])
    place = np.random.default_rng(0).permutation(count)  # of each image
    image_at = np.argsort(place)
    street = place // (count // 2)
    together = place[:, None] + near
    same = (together >= 0) & (together < count)
    same &= np.clip(together, 0, count - 1) // (count // 2) == street[:, None]
    covisible = np.where(same, image_at[np.clip(together, 0, count - 1)], -1)
    group = group_images(covisible, np.full(count, 50), 4)
    assert np.bincount(group).tolist() == [50, 50, 50, 50]
    assert np.count_nonzero(np.diff(group[image_at])) == 3
    heavy = np.where(place < 20, 1000, 10)  # regions are even in observations, not in images
    sizes = np.bincount(group_images(covisible, heavy, 2), weights=heavy)
    assert sizes.min() > 0.4 * sizes.sum()


def test_a_folder_says_what_it_is_and_damage_is_told(
    world: Map, folders: dict[int, Path], tmp_path: Path
) -> None:
    assert isinstance(open_map(folders[2]), ShardedMap)
    with pytest.raises(InvalidInput, match="shards must be between 1 and"):
        shard_map(world, tmp_path / "many", world.num_images + 1)
    assert not (tmp_path / "many").exists()
    shard_map(world, tmp_path / "own", 2)
    array = tmp_path / "own" / "shard-001" / "keypoints.npy"
    array.write_bytes(array.read_bytes()[:-4] + b"\xff\xff\xff\xff")
    with pytest.raises(DamagedFile, match="keypoints"):
        ShardedMap.load(tmp_path / "own")
    shutil.rmtree(tmp_path / "own" / "shard-001")
    shutil.copytree(tmp_path / "own" / "shard-000", tmp_path / "own" / "shard-001")
    with pytest.raises(DamagedFile, match="belongs to another map"):
        ShardedMap.load(tmp_path / "own")


def test_words_of_another_dictionary_and_wide_regions_are_refused(
    folders: dict[int, Path],
) -> None:
    sharded = ShardedMap.load(folders[2])
    other = tiny_dictionary(2048, dimension=16, seed=5)
    features, _ = ROOM.look(QUERY, seed=0)
    release = SubsetMechanism(9.0, 1, other).release(features, rng=SeededRandom(0), camera=CAMERA)
    with pytest.raises(Mismatch, match="not filed under"):
        localize(release, sharded)
    wide = LocalizeOptions(retrieval=RetrievalOptions(region_size=9))
    with pytest.raises(InvalidInput, match="region_size must be between 1 and 8"):
        localize(word_release(9.0), sharded, options=wide)
