"""Ours: what a release says about one person, `sfumato experiment objects`.

Pictures with known people. For each person and each face (the upper eighth of a person's box):
how many descriptors see it, and by how much anyone's guess about it can be better than chance.
Exact, nothing is drawn: see docs/whole-picture.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.datasets.pascal import Annotated, read_annotated
from sfumato.device.filters import KeepStrongest
from sfumato.device.objects import CapDensity, count_in_boxes
from sfumato.features import extract, load_image
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import Checked, folder, needed, option
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.harness.work import worked_through

#: The part of a standing person's box that holds the head, from the top.
HEAD = 1 / 8


@dataclass(frozen=True)
class Settings(Checked):
    """How many descriptors see one person or face, and what they can give away together.

    Example: sfumato experiment objects --data penn_fudan -o objects
    """

    data: Path | None = folder(
        "Pictures with PASCAL-style boxes: folders images and annotations.", "one of outcomes"
    )
    max_keypoints: int = option(1000, "The strongest of a picture.", low=1)
    caps: tuple[int, ...] = option(
        (40, 20, 10), "At most so many descriptors see any window, several.", "--cap", low=1
    )
    window: int = option(48, "Side of the window of a cap, in pixels.", low=1)
    epsilons: tuple[float, ...] = option(
        (8.0, 6.0, 5.0, 4.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    words: tuple[int, ...] = option((16384, 262144), "|K|, several.", low=2)


@dataclass(frozen=True)
class Outcome:
    """One picture with one cap (0: none): descriptors that see each person and each face."""

    picture: str
    cap: int
    num_sent: int
    people: list[int]
    faces: list[int]
    face_sides: list[float]

    @property
    def key(self) -> tuple[str, int]:
        return self.picture, self.cap


JOURNAL = Journal("objects", "the objects experiment", Outcome)


def _run(settings: Settings, path: Path) -> None:
    pictures = read_annotated(needed(settings.data))
    about = {
        "max_keypoints": settings.max_keypoints,
        "window": settings.window,
        "pictures": [item.name for item in pictures],
    }
    kept = JOURNAL.begin(path, about, "outcomes of other pictures or settings")
    wanted = [
        (item, [cap for cap in (0, *settings.caps) if (item.name, cap) not in kept])
        for item in pictures
    ]
    todo = [(item, caps) for item, caps in wanted if caps]
    for found in worked_through(_outcomes, todo, "pictures", settings):
        kept.add(*found)


def _outcomes(settings: Settings, work: tuple[Annotated, list[int]]) -> list[Outcome]:
    """One picture with each of these caps."""
    item, caps = work
    features = extract(load_image(item.picture), "sift")
    return [_outcome(item, features, cap, settings) for cap in caps]


def _outcome(item: Annotated, features: Features, cap: int, settings: Settings) -> Outcome:
    rng = SeededRandom(0)  # neither filter draws
    if cap:
        features = CapDensity(cap, (settings.window, settings.window))(features, rng=rng)
    features = KeepStrongest(settings.max_keypoints)(features, rng=rng)
    people = item.truth.corners
    faces = head_boxes(people)
    return Outcome(
        picture=item.name,
        cap=cap,
        num_sent=len(features),
        people=count_in_boxes(features, people).tolist(),
        faces=count_in_boxes(features, faces).tolist(),
        face_sides=(faces[:, 3] - faces[:, 1]).tolist(),
    )


def head_boxes(people: NDArray[np.float64]) -> NDArray[np.float64]:
    """A square at the top of each box, an eighth of its height, in the middle."""
    left, top, right, bottom = people.T
    half, middle = (bottom - top) * HEAD / 2, (left + right) / 2
    return np.stack([middle - half, top, middle + half, top + 2 * half], axis=1)


def rows(outcomes: Sequence[Outcome], settings: Settings) -> Iterator[dict[str, Any]]:
    """For every cap and setting: how many see a person or face, and the advantage they allow."""
    for cap in sorted({one.cap for one in outcomes}, key=lambda cap: (cap > 0, -cap)):
        own = [one for one in outcomes if one.cap == cap]
        people = np.concatenate([one.people for one in own])
        faces = np.concatenate([one.faces for one in own])
        sent = float(np.mean([one.num_sent for one in own]))
        for num_words in settings.words:
            for epsilon in settings.epsilons:
                answer = PrivateAnswer(epsilon, num_words)
                middle = Composition({answer: int(np.median(faces))})
                most = Composition({answer: int(faces.max())})
                yield {
                    "cap": cap or None,
                    "keypoints": sent,
                    "see_a_person": float(np.median(people)),
                    "see_a_face": float(np.median(faces)),
                    "see_a_face_most": int(faces.max()),
                    "num_words": num_words,
                    "epsilon": epsilon,
                    "picture_epsilon": epsilon * sent,
                    "picture_exact": Composition({answer: round(sent)}).epsilon(),
                    "face_exact": middle.epsilon(),
                    "face_advantage": middle.advantage,
                    "face_advantage_most": most.advantage,
                }


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    found = list(rows(outcomes, settings))
    faces = [side for one in outcomes if one.cap == 0 for side in one.face_sides]
    table: Table = table_of(
        found,
        ("cap", "cap"), ("keypoints", "keypoints", ".0f"), ("person", "see_a_person", ".0f"),
        ("face", "see_a_face", ".0f"), ("most", "see_a_face_most"),
        ("words", "num_words", ","), ("ε", "epsilon", "g"), ("N·ε", "picture_epsilon", ",.0f"),
        ("E picture", "picture_exact", ",.0f"), ("E face", "face_exact", ".0f"),
        ("advantage", "face_advantage", ".3f"), ("worst", "face_advantage_most", ".3f"),
    )  # fmt: skip
    notes = [
        f"{len(head['pictures'])} pictures, {len(faces)} people; a face is {np.median(faces):.0f} "
        "pixels high in the median. Keypoints: mean; person, face: median.",
        f"Cap: at most so many descriptors see any window of {head['window']} × {head['window']}.",
        "ε is per descriptor, ω = 1; E at δ = 1e-6. Advantage a: whoever tells two contents of a",
        "face apart is right with probability at most (1 + a)/2; worst: the face most seen.",
        "Compared are contents with the same number of keypoints at the same positions; positions",
        "and their number are not protected.",
        f"outcomes: {path}",
    ]
    return Report([table, "", *notes], {**head, "rows": found})


command = make_command(Settings, _run, _report, "experiment-objects")
