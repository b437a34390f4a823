"""The verdict about a photograph, and the recommendation, follow from its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.metrics import Similarity
from sfumato.core.errors import Missing
from sfumato.core.types import NOT_PROTECTED, Features, PrivacyEvent
from sfumato.detectors import find
from sfumato.detectors.base import Boxes
from sfumato.pages import photo_people
from sfumato.pages.photo_people import Lookout
from sfumato.pages.photo_result import (
    FLAT,
    RAW,
    WORDS,
    Again,
    Baseline,
    People,
    PhotoResult,
    PhotoRow,
    PhotoSettings,
)
from sfumato.pages.photo_verdict import advice, verdict
from support import photograph

BLANK = np.zeros((16, 16, 3), dtype=np.float32)
FACE = np.array([[180.0, 60, 270, 178]])


def features(count: int = 1) -> Features:
    ones = np.ones(count, dtype=np.float32)
    return Features(
        keypoints=np.ones((count, 2), dtype=np.float32),
        descriptors=np.ones((count, 4), dtype=np.uint8),
        scores=ones,
        scales=ones,
        angles=ones,
        image_size=(16, 16),
        extractor="sift",
    )


def row(
    epsilon: float | None, ssim: float, right: float | None = None, again: Again | None = None
) -> PhotoRow:
    return PhotoRow(
        mechanism=RAW if epsilon is None else WORDS,
        event=PrivacyEvent("subset", epsilon, 1, "one descriptor", NOT_PROTECTED),
        num_bytes=50,
        picture=BLANK,
        similarity=Similarity(0.1, ssim, 10.0),
        again=again or Again({"face": 0}),
        right=right,
    )


def result(
    *rows: PhotoRow, described: Mapping[str, int] | None = None, missing: tuple[str, ...] = ()
) -> PhotoResult:
    return PhotoResult(
        settings=PhotoSettings(),
        photo=BLANK.astype(np.uint8),
        original_size=(16, 16),
        features=features(),
        sent=(),
        preview=None,
        people=People({"face": 1}, {"face": 1}, described or {"face": 0}, missing),
        rows=rows,
        baselines=(Baseline(FLAT, BLANK, Similarity(0.1, 0.3, 10.0)),),
        networks=(),
        words=None,
        left_out=(),
    )


def test_the_largest_epsilon_where_nothing_is_recognised_is_recommended() -> None:
    shown = result(row(None, 0.6), row(12, 0.5, 0.9), row(8, 0.32, 0.3), row(6, 0.3, 0.1))
    assert advice(shown).options == ("--epsilon", "8")
    assert "ε = 8 per descriptor or less" in advice(shown).sentence
    assert "one who was trained on words may" in advice(shown).sentence
    # "Or less" must hold: a smaller one at which something shows speaks against all above.
    assert advice(result(row(None, 0.6), row(8, 0.32, 0.3), row(6, 0.5, 0.3))).options == ()


@pytest.mark.parametrize(
    "worse",
    [
        row(8, 0.32, 0.3, Again({"face": 1})),
        row(8, 0.32, 0.3, Again({"face": 0}, 1)),
        row(8, 0.36, 0.3),
        row(8, 0.32, 0.51),
    ],
)
def test_a_face_a_scene_or_most_words_speak_against_an_epsilon(worse: PhotoRow) -> None:
    shown = result(row(None, 0.6), worse, row(6, 0.3, 0.1))
    assert advice(shown).options == ("--epsilon", "6")
    alone = advice(result(row(None, 0.6), worse))
    assert alone.options == ()
    assert "send nothing of this photograph with these settings" in alone.sentence
    # The attack that was trained on words counts as much as the plain one.
    both = result(row(None, 0.6), row(8, 0.3, 0.1), worse, row(6, 0.3, 0.1))
    assert advice(both).options == ("--epsilon", "6")


def test_faces_on_which_keypoints_are_sent_are_to_be_left_out() -> None:
    shown = result(row(None, 0.6), row(8, 0.3, 0.3), described={"person": 2, "face": 1})
    assert advice(shown).options == ("--epsilon", "8", "--suppress", "person,face")
    assert "leave 2 people and 1 face out" in advice(shown).sentence


def test_what_could_not_be_looked_for_is_said_and_left_to_the_reader() -> None:
    shown = result(row(None, 0.6), row(8, 0.3, 0.3), missing=("Faces were not looked for: why.",))
    assert "Faces were not looked for: why." in verdict(shown)
    assert "look for people yourself" in advice(shown).sentence


def test_epsilons_with_one_outcome_share_a_sentence_and_keep_their_unit() -> None:
    raw = row(None, 0.6, again=Again({"face": 1}, 1))
    told = verdict(result(raw, row(12, 0.5, 0.9), row(8, 0.3, 0.2), row(6, 0.29, 0.1)))
    assert "found again: 1 of 1 face; taken for the same person: 1 of 1" in told[1]
    assert told[2].startswith("At ε = 12 per descriptor the painting shows the scene")
    assert told[3].startswith("At ε = 8 and 6 per descriptor the painting is no nearer")
    assert "20% and 10% of the words" in told[3]
    assert len(told) == 4


def test_a_missing_detector_is_named_and_nothing_is_counted_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> object:
        raise Missing("it needs a package.")

    monkeypatch.setattr(photo_people, "DETECTORS", {**find.DETECTORS, "face": absent})
    lookout = Lookout(photograph(), photograph())
    assert lookout.missing == ["Faces were not looked for: it needs a package."]
    assert "face" not in lookout.people(np.zeros((0, 2))).found


class FaceInColour:
    """Finds the astronaut's face where a picture has contrast there."""

    name = "face"

    def __call__(self, picture: NDArray[Any]) -> Boxes:
        scale = picture.shape[0] / 512
        left, top, right, bottom = np.rint(FACE[0] * scale).astype(int)
        seen = int(picture[top:bottom, left:right].std() > 10)
        return Boxes(FACE[:seen] * scale, ("face",) * seen, np.ones(seen))


class Brightness:
    """Whose face it is, by its mean brightness."""

    def embed(self, picture: NDArray[Any]) -> NDArray[Any]:
        return np.array([picture.mean() / 50], dtype=np.float32)


def test_a_face_is_found_again_and_taken_for_the_same_person_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(photo_people, "DETECTORS", {"face": FaceInColour})
    monkeypatch.setattr(Lookout, "_open_network", lambda _: Brightness())
    small = np.ascontiguousarray(photograph()[::2, ::2])
    lookout = Lookout(photograph(), small)
    same, dark, flat = small / 255, small / 255 * 0.6, np.full(small.shape, 0.5)
    assert lookout.again(same) == Again({"person": 0, "face": 1}, 1)
    assert lookout.again(dark) == Again({"person": 0, "face": 1}, 0)
    assert lookout.again(flat).found["face"] == 0
    inside, outside = np.array([[200.0, 100]]), np.array([[20.0, 20]])
    assert lookout.people(inside).described["face"] == 1
    assert lookout.people(outside).described["face"] == 0
