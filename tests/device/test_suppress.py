"""Suppression: nothing in a region leaves, and nothing leaves when a detector fails."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch, NotPrivate
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import KeypointRelease, Release
from sfumato.core.types import Features
from sfumato.detectors import GivenBoxes, GivenMask
from sfumato.detectors.base import Boxes
from sfumato.detectors.regions import touches
from sfumato.device.filters import Decoys, KeepStrongest, Suppress, Suppression
from sfumato.device.ledger import Ledger
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.device.protect import Pipeline, protect
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from support import photograph

PHOTO = photograph()[:320, :320]
SIFT = extract(PHOTO, "sift")
RNG = SecureRandom()
WORDS = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
DICTIONARY = Dictionary.from_words(WORDS, extractor="sift")
FACE = Boxes(np.array([[180.0, 60, 270, 180]]), ("face",), np.ones(1))
TWO = Boxes(np.array([[20.0, 30, 90, 140], [200, 100, 300, 300]]), ("a", "b"), np.ones(2))


@dataclass
class Acting:
    """A detector that does what a test wants."""

    act: Any
    name: str = "acting"

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        answer: Boxes = self.act()
        return answer


def hidden(boxes: Boxes, features: Features = SIFT, **options: Any) -> Features:
    return Suppress(GivenBoxes(boxes), **options).look(features, PHOTO, rng=SeededRandom(3))


def test_exactly_the_keypoints_outside_stay() -> None:
    kept = hidden(TWO, margin=0.0)
    inside = touches(TWO, SIFT.keypoints)
    assert 0 < inside.sum() < len(SIFT)
    rows = {row.tobytes() for row in kept.keypoints}
    assert rows.isdisjoint({row.tobytes() for row in SIFT.keypoints[inside]})
    assert len(kept) >= len(SIFT) - inside.sum() - 3  # some stand within 1/8 pixel of a side


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.5])
def test_no_keypoint_of_a_release_lies_in_a_region(margin: float) -> None:
    """Boxes of every offset below a pixel: rounding must not carry a keypoint inside."""
    generator = np.random.default_rng(3)
    for _ in range(40):
        low = generator.uniform(0, 150, 2)
        box = np.concatenate([low, low + generator.uniform(20, 160, 2)])
        boxes = Boxes(box[None], ("x",), np.ones(1))
        sent = Plain().release(hidden(boxes, margin=margin), rng=RNG)
        release = Release.from_bytes(sent.to_bytes())
        assert isinstance(release, KeypointRelease)
        assert not touches(boxes, release.keypoints, margin=margin).any()


def test_reach_also_drops_what_sees_inside() -> None:
    near = hidden(TWO, margin=0.0)
    far = hidden(TWO, margin=0.0, reach=3.0)
    assert len(far) < len(near)
    assert not touches(TWO, far.keypoints, reach=3.0 * far.scales).any()


def test_several_detectors_add_up_and_classes_choose() -> None:
    both = Suppress([GivenBoxes(FACE), GivenBoxes(TWO)]).look(SIFT, PHOTO, rng=RNG)
    assert not touches(FACE, both.keypoints).any()
    assert not touches(TWO, both.keypoints).any()
    one = hidden(TWO, classes=["a"])
    assert touches(TWO, one.keypoints).any()
    assert not touches(TWO.of(["a"]), one.keypoints).any()


def test_a_mask_hides_what_is_painted() -> None:
    mask = np.zeros((320, 320), dtype=bool)
    mask[100:200, 50:60] = mask[190:200, 50:300] = True
    kept = Suppress(GivenMask(mask), margin=0.0).look(SIFT, PHOTO, rng=RNG)
    x, y = np.rint(kept.keypoints).astype(int).T
    assert not mask[np.clip(y, 0, 319), np.clip(x, 0, 319)].any()
    assert touches(Boxes(np.array([[60, 100, 300, 180]]), ("x",), np.ones(1)), kept.keypoints).any()


def test_counts_are_told_on_the_device_only() -> None:
    told: list[Suppression] = []
    suppress = Suppress(GivenBoxes(TWO), report=told.append)
    release = protect(PHOTO, Pipeline(Plain(), filters=(suppress,)))
    assert told[0].boxes == {"a": 1, "b": 1}
    assert told[0].removed + told[0].kept == len(SIFT)
    assert told[0].decoys == 0
    bare = Plain().release(hidden(TWO), rng=RNG)
    assert release.to_bytes() == bare.to_bytes()  # nothing more than the keypoints is sent


def test_suppression_composes_with_other_filters() -> None:
    pipeline = Pipeline(Plain(), filters=(Suppress(GivenBoxes(TWO)), KeepStrongest(50)))
    release = protect(PHOTO, pipeline)
    assert isinstance(release, KeypointRelease)
    assert len(release) == 50
    assert not touches(TWO, release.keypoints).any()


def test_hiding_everything_gives_an_empty_release() -> None:
    whole = Boxes(np.array([[-0.5, -0.5, 319.5, 319.5]]), ("all",), np.ones(1))
    assert len(hidden(whole)) == 0
    assert len(hidden(whole, decoys=Decoys(DICTIONARY))) == 0


HANG = threading.Event()


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: 1 / 0, "failed, so nothing is released"),
        (lambda: HANG.wait(), "did not answer within"),
        (lambda: None, "answered nonsense"),
        (lambda: Boxes(np.array([[-90, 0, 9, 9]]), ("x",), np.ones(1)), "answered nonsense"),
        (lambda: Boxes(np.array([[0, 0, 9, 999]]), ("x",), np.ones(1)), "answered nonsense"),
        (lambda: Boxes(np.array([[0, 0, np.nan, 9]]), ("x",), np.ones(1)), "finite"),
    ],
    ids=["raises", "hangs", "none", "negative", "outside", "nan"],
)
def test_a_failing_detector_releases_nothing_and_charges_nothing(
    act: Any, sentence: str, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    told: list[Suppression] = []

    class MustNotDraw(SecureRandom):
        def words(self, count: int, bits: int) -> NDArray[Any]:
            raise AssertionError("drawn although a detector failed")

    suppress = Suppress(
        [GivenBoxes(TWO), Acting(act)],
        timeout=0.5 if sentence.startswith("did") else 60,
        report=told.append,
    )
    pipeline = Pipeline(SubsetMechanism(10.0, 2, DICTIONARY), filters=(suppress,))
    with pytest.raises(NotPrivate, match=sentence) as refused:
        protect(PHOTO, pipeline, ledger=ledger, rng=MustNotDraw())
    assert "\n" not in str(refused.value)
    assert ledger.spent().pictures == 0
    assert not told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"margin": -0.1}, "margin must be between 0 and 10"),
        ({"margin": float("nan")}, "margin must be a number"),
        ({"reach": float("inf")}, "reach must be between"),
        ({"timeout": 0}, "timeout must be a positive"),
        ({"classes": "person"}, "must be a list of names"),
        ({"classes": ["persn"]}, "no detector knows the class 'persn'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    from sfumato.detectors.people import PeopleDetector

    with pytest.raises(InvalidInput, match=sentence):
        Suppress(PeopleDetector(), **options)


def test_no_detector_and_another_picture_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one detector"):
        Suppress([])
    with pytest.raises(Mismatch, match="320×320"):
        Suppress(GivenBoxes(TWO)).look(SIFT, PHOTO[:100], rng=RNG)


def test_decoys_fill_the_hole_and_nothing_else() -> None:
    bare = hidden(TWO)
    told: list[Suppression] = []
    filled = hidden(TWO, decoys=Decoys(DICTIONARY), report=told.append)
    assert filled.take(np.arange(len(bare))) == bare
    decoys = filled.take(np.arange(len(bare), len(filled)))
    assert told[0].decoys == len(decoys) > 30
    assert touches(TWO, decoys.keypoints, margin=0.1).all()
    words = {row.tobytes() for row in WORDS}
    assert {row.tobytes() for row in decoys.descriptors} <= words
    assert set(decoys.scores) <= set(bare.scores)


def test_decoys_do_not_depend_on_what_was_hidden() -> None:
    """Not in number, not in place: with the hole emptied before, they are the same."""
    beforehand = SIFT.take(np.flatnonzero(~touches(TWO, SIFT.keypoints, margin=0.09)))
    assert len(beforehand) < len(SIFT)
    made = [
        Suppress(GivenBoxes(TWO), decoys=Decoys(DICTIONARY)).look(
            features, PHOTO, rng=SeededRandom(5)
        )
        for features in (SIFT, beforehand)
    ]
    assert made[0] == made[1]


def test_decoys_are_as_dense_as_keypoints_around() -> None:
    """Uniform keypoints: the filled hole holds about as many as were dropped."""
    generator = np.random.default_rng(1)
    count = 3000
    even = Features(
        keypoints=generator.uniform(0, 319, (count, 2)).astype(np.float32),
        descriptors=generator.integers(0, 256, (count, 128), dtype=np.uint8),
        scores=generator.random(count, dtype=np.float32),
        scales=np.full(count, 4.0, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=(320, 320),
        extractor="sift",
    )
    told: list[Suppression] = []
    hidden(TWO, even, decoys=Decoys(DICTIONARY), report=told.append)
    assert told[0].decoys == pytest.approx(told[0].removed, rel=0.15)


def test_decoys_of_another_extractor_are_refused() -> None:
    other = Dictionary.from_words(WORDS, extractor="vgg")
    with pytest.raises(Mismatch, match="the dictionary holds 'vgg' features"):
        hidden(TWO, decoys=Decoys(other))
