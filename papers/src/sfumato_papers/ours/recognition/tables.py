"""Ours: what is recognised in paintings; the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato_papers.harness.table import Table, table_of, wrapped
from sfumato_papers.ldp_feat.inversion.outcomes import Setting

Row = dict[str, Any]

_ATTACKS = {
    "photograph": "–",
    "raw": "painted",
    "vertex": "vertex attack, painted",
    "direct": "painted by a network that reads words",
    "posterior": "words taken for descriptors, painted",
    "positions": "painted from positions",
}


def sent(row: Setting) -> str:
    """What leaves the device, in a few words."""
    defence = row.defence
    if defence.strategy:
        return f"lifted, m = {defence.dimension}"
    if defence.subset_size:
        return f"words, ε = {defence.epsilon:g}"
    named = {"photograph": "the photograph", "raw": "raw SIFT", "positions": "positions only"}
    return named[row.attack]


def _common() -> list[tuple[Any, ...]]:
    return [
        ("sent", lambda row: sent(row["setting"])),
        ("attack", lambda row: _ATTACKS[row["setting"].attack]),
        ("keypoints", "num_keypoints", ",.0f"),
        ("ε a picture", "epsilon_per_picture", ",.0f"),
        ("pictures", "pictures"),
    ]


def _percent(share: str, low: str, high: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        a, b, c = (100 * row[name] for name in (share, low, high))
        return f"{a:.0f} % [{b:.0f}, {c:.0f}]"

    return cell


def face_table(rows: Sequence[Row], num_people: int) -> Table:
    """Who is recognised."""
    return table_of(
        rows,
        *_common(),
        ("same person", _percent("share", "low", "high")),
        (f"first of {num_people}", _percent("first", "first_low", "first_high")),
        ("somebody else", "others", ".1%"),
        ("distance", "distance", ".2f"),
        left=(0, 1),
        fold=("pictures", "keypoints"),
    )


def text_table(rows: Sequence[Row]) -> Table:
    """What is read again, by the height of letters too."""
    heights = list(rows[0]["by_height"]) if rows else []

    def of_height(height: str) -> tuple[Any, ...]:
        return f"{height} px", lambda row: row["by_height"].get(height), ".0%"

    return table_of(
        rows,
        *_common(),
        ("words read", _percent("share", "low", "high")),
        *map(of_height, heights),
        left=(0, 1),
        fold=("pictures", "keypoints"),
    )


def face_notes(head: Mapping[str, Any], threshold: float, others: float) -> list[str]:
    """What the table of faces says, and what it does not."""
    facts = head["faces"]
    return wrapped(
        f"{facts['data']}: {len(facts['people'])} people, enlarged {facts['scale']} times before "
        "features are taken; photographs in which dlib finds no face are left out. Same person: "
        "dlib's network puts the painted face within "
        f"{threshold:.3f} of another photograph of that person. At this distance "
        f"{100 * others:.1f} % of the photographs of two people are taken for one (somebody else: "
        "the same for paintings). First: of everybody's photographs that of the right person is "
        f"nearest; a guess has {100 / len(facts['people']):.1f} %. Faces are cut out where the "
        "true picture has them, which favours the attacker. Brackets: Wilson, 95 %, over people."
    )


def text_notes(rows: Sequence[Row]) -> list[str]:
    """What the table of text says."""
    count = max((row["words"] for row in rows), default=0)
    return wrapped(
        f"Signs on photographs, {count} words that PaddleOCR's network reads there; it is told "
        "where the lines are, which favours the attacker. A word counts if all of it is read. "
        "Pixels: height of capital letters. Brackets: 95 %, bootstrap over pictures."
    )


def shared_notes(
    head: Mapping[str, Any], networks: Sequence[str], absent: Mapping[str, str]
) -> list[str]:
    """What holds for every table."""
    same = head["database"] == head["dictionary"]
    lines = [f"Painted by {', '.join(networks)}." if networks else "Nothing was painted."]
    lines += [f"not made: {name}: {reason}." for name, reason in absent.items()]
    lines += [
        "Words: as many as `protect` takes at each ε, one for each keypoint; of two attacks the "
        "one that recognises more is shown. Lifts pass through "
        + ("the words of the same dictionary." if same else "descriptors of other pictures."),
        "ε is per descriptor and adds up over the keypoints of a picture; positions and their "
        "number are never protected. Lifting has no guarantee. Releases are reproducible "
        "(seeded), not for sending.",
    ]
    return [line for note in lines for line in wrapped(note)]
