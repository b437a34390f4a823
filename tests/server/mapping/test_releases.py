"""Structure from motion where every view is a release, in a room with known truth."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, MalformedRelease, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, PlainRelease, WordRelease
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.device.mechanisms.lifting import SubspaceLifting
from sfumato.server.localize import localize
from sfumato.server.mapping import Map, build_map_from_releases, read_releases, reprojection_errors
from sfumato.server.mapping.releases import check_releases
from sfumato_papers.ldp_feat.structure_from_motion_table import fit_similarity
from support import one_of_each_release
from synthetic import CAMERA, DICTIONARY, make_room, pose_at

POSES = [pose_at(x, 0.1 * i, 0.0, turn_deg=-6 * x) for i, x in enumerate((-2, -1, 0, 1, 2))]
MECHANISMS: dict[str, Any] = {
    "plain": Plain(),
    "words": SubsetMechanism(7.0, 1, DICTIONARY),
    "two words": SubsetMechanism(7.0, 2, DICTIONARY),
    "subspaces": SubspaceLifting("random", 2),
}
ROOM = make_room(900)


def look(kind: str, pose: Any, seed: int, *, camera: bool = True) -> KeypointRelease:
    features, _ = ROOM.look(pose, seed=seed, clutter=60)
    release: KeypointRelease = MECHANISMS[kind].release(
        features, rng=SeededRandom(seed), camera=CAMERA if camera else None
    )
    return release


def views(kind: str, *, camera: bool = True) -> dict[str, KeypointRelease]:
    return {f"v{i}": look(kind, pose, i, camera=camera) for i, pose in enumerate(POSES)}


@cache
def built(kind: str) -> Map:
    return build_map_from_releases(views(kind))


def center_errors(world: Map) -> Any:
    found = np.stack([world.pose(i).center for i in range(world.num_images)])
    wanted = np.stack([POSES[int(name[1:])].center for name in world.image_names])
    return np.linalg.norm(fit_similarity(found, wanted) - wanted, axis=1)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_all_views_are_placed_where_they_were(kind: str) -> None:
    world = built(kind)
    assert world.image_names == ("v0", "v1", "v2", "v3", "v4")
    assert world.facts["unregistered"] == []
    assert center_errors(world).max() < 0.02  # of a room 8 wide
    assert len(world.points) > 500
    assert reprojection_errors(world).max() <= 2.0 + 1e-6
    assert world.facts["points_by_matches"] >= world.facts["long_tracks_by_matches"] > 200


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_new_release_is_localized_in_a_map_of_releases(kind: str, tmp_path: Path) -> None:
    world = built(kind)
    world.save(tmp_path / "map")
    stored = Map.load(tmp_path / "map")
    answer = localize(look(kind, pose_at(0.5, 0.2, 0.0, turn_deg=-3), 77), stored)
    assert answer.pose is not None, answer.reason
    # In the map's own frame: between the two views it was taken between.
    left, right = world.pose(2).center, world.pose(3).center
    span = float(np.linalg.norm(right - left))
    assert np.linalg.norm(answer.pose.center - (left + right) / 2) < 0.2 * span


def test_without_cameras_a_rough_focal_length_is_enough() -> None:
    with pytest.raises(InvalidInput, match="5 of 5 carry none; protect with a camera, or give a"):
        build_map_from_releases(views("plain", camera=False))
    world = build_map_from_releases(views("plain", camera=False), focal=500.0)
    assert world.num_images == 5
    assert world.cameras[0].params[0] == pytest.approx(480.0, rel=0.02)
    assert center_errors(world).max() < 0.05
    with pytest.raises(InvalidInput, match="focal must be a length in pixels above 0"):
        build_map_from_releases(views("plain", camera=False), focal=-1.0)


def test_the_order_of_rows_and_of_files_says_nothing() -> None:
    some = dict(list(views("words").items())[:3])
    rng = np.random.default_rng(0)
    mixed = {}
    for name, release in reversed(some.items()):
        assert isinstance(release, WordRelease)
        order = rng.permutation(len(release))
        mixed[name] = replace(
            release, keypoints=release.keypoints[order], words=release.words[order]
        )
    first, second = build_map_from_releases(some), build_map_from_releases(mixed)
    assert first.image_names == second.image_names
    np.testing.assert_array_equal(first.keypoints, second.keypoints)
    # COLMAP adds up with several threads, so that a point on a limit may fall to either side.
    agree = (first.point_of_feature >= 0) == (second.point_of_feature >= 0)
    assert agree.mean() > 0.99


def test_a_picture_with_one_keypoint_or_none_is_left_out() -> None:
    some = dict(list(views("words").items())[:3])
    plain = some["v0"]
    assert isinstance(plain, WordRelease)
    for count in (1, 0):
        poor = replace(plain, keypoints=plain.keypoints[:count], words=plain.words[:count])
        world = build_map_from_releases({**some, "poor": poor})
        assert world.facts["unregistered"] == ["poor"]
        assert world.num_images == 3


@pytest.mark.parametrize("kind", ["plain", "words", "subspaces"])
def test_releases_of_nothing_in_common_make_no_map(kind: str) -> None:
    release = one_of_each_release(400, seed=1)[kind]
    other = one_of_each_release(400, seed=2)[kind]
    assert isinstance(release, KeypointRelease)
    assert isinstance(other, KeypointRelease)
    with pytest.raises(InvalidInput, match="none of the 2 releases shows the same place"):
        build_map_from_releases({"a": release, "b": other})


def test_what_does_not_belong_together_is_refused_in_one_sentence() -> None:
    kinds: dict[str, Any] = one_of_each_release()
    words, plain = kinds["words"], kinds["plain"]
    with pytest.raises(InvalidInput, match=r"at least two releases .* got 1"):
        check_releases([words])
    with pytest.raises(Mismatch, match=r"one kind, got 1 of plain, 2 of words"):
        check_releases([words, plain, words])
    with pytest.raises(Mismatch, match=r"one dictionary, got 1 of abab.*, 1 of cdcd"):
        check_releases([words, replace(words, dictionary="cd" * 32)])
    with pytest.raises(Mismatch, match="one extractor, got 1 of rootsift, 1 of sift"):
        check_releases([words, replace(words, extractor="rootsift")])
    with pytest.raises(Mismatch, match="one size of descriptor, got 1 of 5, 1 of 16"):
        check_releases([plain, kinds["plain-float"]])
    with pytest.raises(InvalidInput, match="releases of candidates cannot be placed"):
        check_releases([kinds["candidates"], kinds["candidates"]])
    assert isinstance(plain, PlainRelease)


def test_a_folder_of_releases_is_read_whole_or_refused(tmp_path: Path) -> None:
    kinds = one_of_each_release()
    data = kinds["words"].to_bytes()
    (tmp_path / "a.sfr").write_bytes(data)
    (tmp_path / "notes.txt").write_text("not a release")
    with pytest.raises(InvalidInput, match="at least two releases"):
        read_releases(tmp_path)
    (tmp_path / "b.sfr").write_bytes(data[:-9])
    with pytest.raises(MalformedRelease, match=r"b\.sfr is not a whole release: .* Send it again"):
        read_releases(tmp_path)
    (tmp_path / "b.sfr").write_bytes(data)
    assert read_releases(tmp_path) == {"a": kinds["words"], "b": kinds["words"]}
    (tmp_path / "b.sfr").write_bytes(kinds["codes"].to_bytes())
    with pytest.raises(InvalidInput, match="releases of codes cannot be placed"):
        read_releases(tmp_path)
    with pytest.raises(InvalidInput, match="no folder of releases"):
        read_releases(tmp_path / "nowhere")
