"""What the attacks on a photograph mean, in sentences, and what to do: from its own figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sfumato.detectors.find import counted
from sfumato.pages.photo_result import DIRECT, WORDS, Again, PhotoResult, PhotoRow

#: A painting shows the scene where its SSIM is above that of one flat colour by more than this.
SHOWS = 0.05
#: Who guesses more than this share of the words right has the picture's words, and may find a
#: better painter.
MOST = 0.5


@dataclass(frozen=True)
class Advice:
    """One recommendation, and the options of `sfumato protect` for it; none where not to send."""

    sentence: str
    options: tuple[str, ...] = ()


def verdict(result: PhotoResult) -> tuple[str, ...]:
    """What is recognised, a sentence for each way of sending; shown before any figure."""
    if not len(result.features):
        return ("The photograph has no keypoints: nothing is sent, and nothing can be attacked.",)
    sentences = [_in_the_photograph(result), *result.people.missing]
    sentences.append(f"From raw features {_painted(result, [result.raw])}.")
    shown = {e: _painted(result, rows) for e, rows in by_epsilon(result).items()}
    for painted, group in groupby(shown, key=shown.__getitem__):
        epsilons = list(group)
        right = [max(row.right or 0.0 for row in by_epsilon(result)[e]) for e in epsilons]
        sentences.append(
            f"At ε = {_list([f'{e:g}' for e in epsilons])} per descriptor {painted}; "
            f"{_list([f'{share:.0%}' for share in right])} of the words are guessed right."
        )
    return tuple(sentences)


def by_epsilon(result: PhotoResult) -> dict[float, list[PhotoRow]]:
    """The rows of words, by ε per descriptor."""
    rows: dict[float, list[PhotoRow]] = {}
    for row in result.of(WORDS):
        rows.setdefault(row.epsilon or 0.0, []).append(row)
    return rows


def advice(result: PhotoResult) -> Advice:
    """What to do with this photograph."""
    if not len(result.features):
        return Advice("Do this: nothing; there is nothing to send.")
    rows = by_epsilon(result)
    if not rows:
        return Advice(
            "Do this: do not send raw features of this photograph to anybody who may not see it; "
            "words, the one way with a guarantee, could not be tried here."
        )
    hiding, options = _hide(result)
    loud = [e for e, painted in rows.items() if any(recognised(result, r) for r in painted)]
    quiet = [e for e in rows if e < min(loud, default=math.inf)]
    if not quiet:
        return Advice(
            "Do this: send nothing of this photograph with these settings, even at the smallest ε "
            f"shown it can be recognised; try an ε below {min(rows):g} per descriptor or fewer "
            f"keypoints (--keep){hiding}."
        )
    epsilon = max(quiet)
    knows = any(row.attack == DIRECT for row in rows[epsilon])
    stronger = "" if knows else " (one who was trained on words may)"
    return Advice(
        f"Do this: send words at ε = {epsilon:g} per descriptor or less, where this attacker "
        f"recognises nothing{stronger}, and never raw features{hiding}.",
        ("--epsilon", f"{epsilon:g}", *options),
    )


def recognised(result: PhotoResult, row: PhotoRow) -> bool:
    """Whether this attack is to be feared: somebody is found, the scene shows, or most is read."""
    return row.again.anybody or gain(result, row) > SHOWS or (row.right or 0.0) > MOST


def gain(result: PhotoResult, row: PhotoRow) -> float:
    """How much nearer than one flat colour the painting is to the photograph, in SSIM."""
    return row.similarity.ssim - result.flat.similarity.ssim


def found_again(result: PhotoResult, again: Again) -> str:
    """How many are found in a painting, of how many; nothing where nobody could be."""
    visible = {name: count for name, count in result.people.visible.items() if count}
    if not visible:
        return ""
    if not again.anybody:
        return "nobody is found again"
    parts = [f"{again.found[name]} of {counted(count, name)}" for name, count in visible.items()]
    text = f"found again: {_list(parts)}"
    if again.same is not None:
        text += f"; taken for the same person: {again.same} of {visible['face']}"
    return text


def _painted(result: PhotoResult, rows: Sequence[PhotoRow]) -> str:
    """What the most telling of some paintings shows."""
    again = Again(
        {name: max(row.again.found[name] for row in rows) for name in rows[0].again.found},
        None if rows[0].again.same is None else max(row.again.same or 0 for row in rows),
    )
    best = max(gain(result, row) for row in rows)
    if best > SHOWS:
        shown = "the painting shows the scene"
    elif best > 0:
        shown = "the painting shows little more than one flat colour would"
    else:
        shown = "the painting is no nearer to the photograph than one flat colour"
    people = found_again(result, again)
    return f"{shown} ({people})" if people else shown


def _in_the_photograph(result: PhotoResult) -> str:
    found, visible = result.people.found, result.people.visible
    parts = [counted(count, name) if count else f"no {name}" for name, count in found.items()]
    lost = {name: found[name] - visible[name] for name in found if found[name] > visible[name]}
    small = ""
    if lost:
        which = _list([counted(count, name) for name, count in lost.items()])
        small = f" Too small to be looked for in a painting of this size: {which}."
    return f"Found in the photograph: {_list(parts)}; detectors miss some.{small}"


def _hide(result: PhotoResult) -> tuple[str, tuple[str, ...]]:
    """Who should be left out before anything is sent, as words and as options."""
    still: Mapping[str, int] = {n: count for n, count in result.people.described.items() if count}
    if not still:
        look = ", and look for people yourself, not everything was looked for"
        return (look if result.people.missing else ""), ()
    who = _list([counted(count, name) for name, count in still.items()])
    if any(one.hidden for one in result.sent):
        return f", and mark {who} with --boxes: keypoints there are still sent", ()
    names = ",".join(still)
    return f", and leave {who} out with --suppress {names}", ("--suppress", names)


def _list(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
