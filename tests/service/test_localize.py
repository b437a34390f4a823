"""POST /v1/maps/{id}/localize: a pose, or one sentence."""

from __future__ import annotations

import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from computations import slow_localize, under_way
from served import QUERY, ROOM, Serve, Served, refused, tar_of
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import PlainRelease
from sfumato.core.wire import HEADER
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.up import with_up
from sfumato.service import compute, query_routes
from support import one_of_each_release, tiny_dictionary
from synthetic import CAMERA, DICTIONARY


def protected(
    dictionary: Dictionary, *, size: int = 1, camera: Any = CAMERA, count: int = 0
) -> bytes:
    features, _ = ROOM.look(QUERY, seed=0)
    if count:
        features = features.take(np.arange(count))
    release = SubsetMechanism(7.0, size, dictionary).release(
        features, rng=SecureRandom(), camera=camera
    )
    return release.to_bytes()


def patched(data: bytes, offset: int, form: str, value: Any) -> bytes:
    """The same message with one field overwritten and a fitting checksum."""
    body = bytearray(data[:-4])
    struct.pack_into(form, body, offset, value)
    return bytes(body) + struct.pack("<I", zlib.crc32(body))


def test_a_release_gets_the_pose_it_was_taken_from(served: Served) -> None:
    found = served.localize(served.map_id(), served.world.release).json()
    assert found["localized"] is True
    assert np.allclose(found["center"], QUERY.center, atol=0.05)
    rotation = np.array(found["cam_from_world"]["rotation"])
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
    assert found["reason"] is None
    assert found["log10_chance"] < -4
    assert 0 < found["expected_error"]["position"] < 0.1
    assert 0 < found["expected_error"]["rotation_deg"] < 1
    assert len(set(found["inliers"]["keypoints"])) == found["num_inliers"]
    assert set(found["inliers"]) == {"keypoints"}  # the map's points stay with the server
    assert found["warning"] is None
    assert found["camera"] is None


def test_a_level_of_a_nested_dictionary_is_served_too(served: Served) -> None:
    level = Dictionary.load(served.world.words).at(64)
    found = served.localize(served.map_id(), protected(level))
    assert found.status_code == 200
    assert found.json()["num_matches"] > 0


def test_what_cannot_be_localized_is_no_error(served: Served) -> None:
    found = served.localize(served.map_id(), protected(DICTIONARY, count=3))
    assert found.status_code == 200
    assert found.json()["localized"] is False
    assert found.json()["cam_from_world"] is None
    assert found.json()["reason"]


def test_other_kinds_need_the_owners_consent(served: Served) -> None:
    strict, open_ = served.map_id("strict"), served.map_id("open", accept="words,plain")
    refused(served.localize(strict, served.world.plain), 403, "accepts words")
    found = served.localize(open_, served.world.plain)
    assert found.json()["localized"] is True
    codes = one_of_each_release()["codes"].to_bytes()
    refused(served.localize(open_, codes), 403, "not codes")


def test_malformed_releases_are_refused_with_one_sentence(served: Served) -> None:
    room, good = served.map_id(), served.world.release
    refused(served.localize(room, b""), 400, "empty")
    refused(served.localize(room, b"no"), 400, "at least")
    refused(served.localize(room, b"\xff\xd8\xff" * 100), 400, "not an sfumato release")
    refused(served.localize(room, good[:-1]), 400, "announces")
    refused(served.localize(room, good + b"\0"), 400, "announces")
    refused(served.localize(room, good[:-1] + bytes([good[-1] ^ 1])), 400, "checksum")
    refused(served.localize(room, patched(good, 8, "<I", 5)), 400, "announces")
    refused(served.localize(room, patched(good, HEADER.size, "<d", float("nan"))), 400, "NaN")
    refused(served.localize(room, patched(good, HEADER.size, "<d", 1e-200)), 400, "focal length")
    refused(served.localize(room, protected(DICTIONARY, camera=None)), 400, "intrinsics")


def test_no_keypoints_and_too_many_are_refused(serve: Serve) -> None:
    served = serve(max_keypoints=50)
    room = served.map_id()
    features, _ = ROOM.look(QUERY, seed=0)
    none = SubsetMechanism(7.0, 1, DICTIONARY).release(
        features.take(np.arange(0)), rng=SecureRandom(), camera=CAMERA
    )
    refused(served.localize(room, none.to_bytes()), 400, "no keypoint")
    refused(served.localize(room, protected(DICTIONARY)), 413, "50 keypoints")


def test_work_beyond_the_limits_is_not_begun(serve: Serve) -> None:
    served = serve(max_candidates=100, max_comparisons=1000, max_release_bytes=200_000)
    room = served.map_id(accept="words,plain")
    refused(served.localize(room, served.world.release), 413, "candidate matches")
    few = protected(DICTIONARY, count=5)
    assert served.localize(room, few).status_code == 200
    refused(served.localize(room, bytes(200_001)), 413, "200000 bytes")

    refused(served.localize(room, served.world.plain), 413, "keypoints")


def test_another_dictionary_or_extractor_is_a_conflict(served: Served) -> None:
    room = served.map_id()
    refused(served.localize(room, protected(tiny_dictionary(512, 16, seed=9))), 409, "filed under")
    other = patched(served.world.release, 36, "24s", b"sift")
    refused(served.localize(room, other), 409, "'sift'")


def test_descriptors_of_another_size_are_a_conflict(served: Served) -> None:

    room = served.map_id(accept="plain,subspaces")
    narrow = PlainRelease(
        keypoints=np.ones((3, 2), dtype=np.float32),
        descriptors=np.ones((3, 5), dtype=np.float32),
        image_size=(640, 480),
        extractor="tiny",
        camera=CAMERA,
    )
    refused(served.localize(room, narrow.to_bytes()), 409, "16 × float32")
    refused(served.localize(room, served.world.release), 403, "plain, subspaces")


def test_the_line_is_short_and_says_when_to_come_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(parallel=1, queue_size=0)
    room = served.map_id()
    monkeypatch.setattr(query_routes, "localize_release", slow_localize)
    monkeypatch.setattr(compute, "LONG_SECONDS", 600.0)
    store, body = served.service.store.folder, served.world.release
    with under_way(store, lambda: served.localize(room, body)) as first:
        second = served.localize(room, body)
    refused(second, 503, "waiting")
    assert int(second.headers["retry-after"]) >= 1
    assert first[0].json()["localized"] is True


def test_a_deadline_ends_the_wait_and_the_work(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(parallel=1, deadline_seconds=0.05)
    room = served.map_id()
    monkeypatch.setattr(query_routes, "localize_release", slow_localize)
    for _ in range(2):
        late = served.localize(room, served.world.release)
        refused(late, 503, "too long")
        assert int(late.headers["retry-after"]) >= 1
    while served.service.queue.running:  # the work would never end by itself
        time.sleep(0.005)


def test_bodies_held_at_once_are_bounded(serve: Serve) -> None:
    served = serve(max_buffered_bytes=1000)
    refused(served.localize(served.map_id(), served.world.release), 503, "being received")


def test_a_map_that_goes_while_it_is_asked_is_missing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = served.map_id()
    monkeypatch.setattr(query_routes, "localize_release", slow_localize)
    store = served.service.store
    with under_way(store.folder, lambda: served.localize(room, served.world.release)) as answers:
        store.remove("a", room)
    refused(answers[0], 404, "no map")


def test_a_map_damaged_under_the_service_is_said_without_a_path(served: Served) -> None:
    room = served.map_id()
    (served.service.store.folder_of(room) / "points.npy").write_bytes(b"")
    broken = served.localize(room, served.world.release)
    refused(broken, 500, "operator")
    assert str(served.service.store.folder) not in broken.text


def test_gravity_is_taken_by_maps_that_know_which_way_is_up(served: Served, tmp_path: Path) -> None:
    unaware, release = served.map_id(), served.world.release
    with_up(Map.load(served.world.folder), (0, -1, 0)).save(tmp_path / "up")
    made = served.upload("upright", content=tar_of(tmp_path / "up")).json()
    assert made["up"] == [0, -1, 0]

    def ask(map_id: str, gravity: str) -> Any:
        return served.localize(
            map_id, release, headers={**served.query, "Sfumato-Gravity": gravity}
        )

    found = ask(made["id"], "0,1,0,2").json()
    assert found["localized"] is True
    assert np.allclose(found["center"], QUERY.center, atol=0.05)
    assert ask(made["id"], "1,0,0,2").json()["localized"] is False
    for bad, word in (
        ("0,1,0", "4 numbers"),
        ("0,0,0,2", "not all zero"),
        ("0,nan,0,2", "NaN"),
        ("0,1,0,0", "from 0.1 to 20 degrees"),
        ("0,1,0,90", "from 0.1 to 20 degrees"),
        ("0,1,0," + "2" * 5000, "4 numbers"),
        ("", "4 numbers"),
    ):
        refused(ask(made["id"], bad), 400, word)
    refused(ask(unaware, "0,1,0,2"), 409, "knows which way is up")
    listed = served.client.get(f"/v1/maps/{unaware}", headers=served.query).json()
    assert listed["up"] is None
    points = served.client.get(f"/v1/maps/{made['id']}/points", headers=served.query).json()
    assert points["up"] == [0, -1, 0]
