"""What a server says: plans are advice, answers are checked, text cannot paint a terminal."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import numpy as np
import pytest

from pretend_server import (
    CAMERA,
    PHOTO,
    WORDS,
    Pretend,
    answer,
    make_client,
)
from sfumato.client.errors import BadAnswer, Refused
from sfumato.core.errors import InvalidInput, Mismatch, NotPrivate
from sfumato.core.releases import Release, WordRelease


def plan(**other: Any) -> httpx.Response:
    content = {
        "epsilon": 8.0,
        "epsilon_per_picture": 400.0,
        "num_words": 1024,
        "subset_size": 1,
        "max_keypoints": 30,
        "dictionary": NESTED.fingerprint_at(1024),
        "not_protected": ["positions"],
    }
    return httpx.Response(200, json=content | other)


NESTED = WORDS.with_levels((1024,))


def test_a_plan_is_taken_within_the_limits_and_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    server = Pretend(plan(epsilon=7.0))
    with make_client(server, dictionary=NESTED) as client, caplog.at_level(logging.WARNING):
        client.follow_plan()
        client.localize(PHOTO, CAMERA)
    assert "1,024 words instead of 2,048" in caplog.text
    assert "ε = 7 per descriptor instead of 8" in caplog.text
    sent = Release.from_bytes(server.asked[0])
    assert isinstance(sent, WordRelease)
    assert (sent.epsilon, sent.num_words, sent.subset_size, len(sent)) == (7.0, 1024, 1, 30)
    chosen = Pretend(plan(max_keypoints=None))
    with make_client(chosen, dictionary=NESTED, subset_size=3, num_words=2048) as client:
        client.follow_plan(say=lambda text: None)
        client.localize(PHOTO, CAMERA)
    sent = Release.from_bytes(chosen.asked[0])
    assert isinstance(sent, WordRelease)
    assert (sent.num_words, sent.subset_size, len(sent)) == (2048, 3, 50)


@pytest.mark.parametrize(
    ("advice", "error", "sentence"),
    [
        ({"epsilon": 12.0}, NotPrivate, "was given 8"),
        ({"num_words": 512}, NotPrivate, "at least 1,024 words"),
        ({"dictionary": "ab" * 32}, Mismatch, "is not taken"),
        ({"num_words": 1500}, InvalidInput, "none of 1500"),
        ({"epsilon": 1e9}, BadAnswer, "not a plan"),
        ({"subset_size": 5000}, BadAnswer, "not a plan"),
        ({"max_keypoints": 0}, BadAnswer, "not a plan"),
    ],
)
def test_a_plan_beyond_the_limits_is_refused_as_a_whole(
    advice: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    server = Pretend(plan(**advice))
    with make_client(server, dictionary=NESTED) as client:
        with pytest.raises(error, match=sentence):
            client.follow_plan()
        client.localize(PHOTO, CAMERA)
    sent = Release.from_bytes(server.asked[0])
    assert isinstance(sent, WordRelease)
    assert (sent.epsilon, sent.num_words, sent.subset_size) == (8.0, 2048, 1)


def test_an_answer_from_a_part_of_the_map_says_so() -> None:
    sentence = "25% of the map's images could not be looked at."
    server = Pretend(httpx.Response(200, json=answer(searched=0.75, warning=sentence)))
    with make_client(server) as client:
        partial, whole = client.localize(PHOTO, CAMERA), client.localize(PHOTO, CAMERA)
    assert (partial.searched, partial.warning) == (0.75, sentence)
    assert (whole.searched, whole.warning) == (1.0, None)  # also of older servers


def test_unknown_maps_and_hostile_ids() -> None:
    server = Pretend()
    with (
        make_client(server, map="elsewhere") as client,
        pytest.raises(Refused, match="no map 'elsewhere'"),
    ):
        client.localize(PHOTO, CAMERA)
    evil = Pretend(id="../../admin")
    with make_client(evil) as client, pytest.raises(BadAnswer, match="id"):
        client.localize(PHOTO, CAMERA)
    assert len(evil.requests) == 1


@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        (answer(num_inliers=51, num_matches=60), "51 inliers"),
        (answer(num_inliers=20, num_matches=10), "20 inliers among 10"),
        (answer(localized=False), "contradicts"),
        (answer(cam_from_world=None), "contradicts"),
        (answer(center=[0, 0, 0]), "not the same place"),
        (answer(center=None), "not the same place"),
        (answer(num_inliers=-1), "num_inliers"),
        (answer(searched=1.5), "searched"),
        (answer(num_inliers="30"), "num_inliers"),
        (answer(num_inliers=True), "num_inliers"),
        (answer(log10_chance="-3"), "log10_chance"),
        (answer(cam_from_world={"rotation": [[1, 0]], "translation": [0, 0, 0]}), "rotation"),
        (
            answer(cam_from_world={"rotation": (2 * np.eye(3)).tolist(), "translation": [1, 2, 3]}),
            "proper rotation",
        ),
        (answer(expected_error={"position": -1, "rotation_deg": 1}), "expected_error.position"),
        (answer(camera={"model": "X", "width": 1, "height": 1, "params": [1]}), "camera"),
        ([], "localization"),
        ({}, "localized"),
    ],
)  # fmt: skip
def test_a_lying_answer_is_not_used(lie: Any, sentence: str) -> None:
    server = Pretend(httpx.Response(200, json=lie))
    with make_client(server) as client, pytest.raises(BadAnswer, match=sentence) as told:
        client.localize(PHOTO, CAMERA)
    assert "\n" not in str(told.value)
    assert told.value.prepared is not None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense", b"[" * 50_000, b"\xff\xfe", b'{"localized": NaN}',
        str(answer()).replace("'", '"').replace("True", "true").replace("None", "null")
        .replace("-20.5", "1e999").encode(),
        str(answer()).replace("'", '"').replace("True", "true").replace("None", "null")
        .replace("1.0", "NaN").encode(),
        b'{"localized": true' + b" " * (1 << 17) + b"}",
    ],
)  # fmt: skip
def test_bytes_that_are_no_answer_are_told_in_one_sentence(body: bytes) -> None:
    server = Pretend(httpx.Response(200, content=body))
    with make_client(server) as client, pytest.raises(BadAnswer) as told:
        client.localize(PHOTO, CAMERA)
    assert len(str(told.value)) < 400


def test_not_localized_is_an_answer_and_its_reason_cannot_paint_the_terminal() -> None:
    no = answer(
        localized=False, cam_from_world=None, center=None, reason="too\x1b[31m few\nmatches"
    )
    server = Pretend(httpx.Response(200, json=no))
    with make_client(server) as client:
        found = client.localize(PHOTO, CAMERA)
    assert not found.localized
    assert found.reason == "too\\x1b[31m few matches"


def test_an_answer_that_needs_unpacking_is_refused() -> None:
    import gzip

    bomb = httpx.Response(
        200, content=gzip.compress(bytes(1 << 20)), headers={"content-encoding": "gzip"}
    )
    with make_client(Pretend(bomb)) as client, pytest.raises(BadAnswer, match="compressed"):
        client.localize(PHOTO, CAMERA)
