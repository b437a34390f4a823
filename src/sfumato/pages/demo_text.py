"""The figures as words: one formatting for the terminal, the page and machines.

ε is never written without its unit: "per descriptor" or "per picture" stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato import __version__
from sfumato.core.accounting import DELTA
from sfumato.core.types import PrivacyEvent
from sfumato.device.explain import SMALL_OBJECT, promise, promise_sentences, short
from sfumato.pages.demo_result import OURS, PAPER, RAW, Answer, DemoResult, Row

#: Beyond this a pose is nowhere near the room, and more digits would say nothing.
_FAR_CM = 1000.0

METHODS = {RAW: "direct matching", OURS: "sfumato", PAPER: "the paper's recipe"}


def verdict(result: DemoResult) -> str:
    """What came out, in one sentence; shown before any figure."""
    shown = result.shown
    return (
        f"The server finds {shown.num_right} of {result.num_queries} photographs at "
        f"ε = {shown.epsilon:g} per descriptor and gives {wrong_answers(shown)}."
    )


def wrong_answers(row: Row) -> str:
    return f"{row.num_wrong or 'no'} wrong answer{'' if row.num_wrong == 1 else 's'}"


def headings(result: DemoResult) -> tuple[str, ...]:
    """The columns of the table."""
    limits = f"{result.settings.max_cm:g} cm, {result.settings.max_deg:g}°"
    return (
        "what is sent",
        "localized by",
        "ε per descriptor",
        "N·ε per picture",
        "E per picture",
        "advantage per object",
        "bytes per picture",
        f"within {limits}",
        "wrong pose",
        "no answer",
        "median error",
        "server time",
    )


def cells(row: Row, result: DemoResult) -> tuple[str, ...]:
    """One line of the table, in the order of the headings."""
    total = len(row.answers)
    return (
        sent(row, result),
        METHODS[row.method],
        "none" if row.epsilon is None else f"{row.epsilon:g}",
        "none" if row.picture_epsilon is None else f"{row.picture_epsilon:,.0f}",
        *_promised(row, result),
        f"{row.median_bytes:,.0f}",
        f"{row.num_right}/{total}",
        str(row.num_wrong),
        str(row.num_unanswered),
        centimetres(row.median_error_cm),
        f"{row.median_seconds:.2f} s",
    )


#: What a terminal of 80 columns has no room for; `sizes` says it in a sentence.
NOT_IN_TERMINAL = ("what is sent", "localized by", "bytes per picture", "server time")


def sizes(result: DemoResult) -> str:
    """How much is sent and how long the server takes, for the row whose examples are shown."""
    raw, shown = result.of(RAW)[0], result.shown
    return (
        f"A picture takes {shown.median_bytes:,.0f} bytes as words and {raw.median_bytes:,.0f} as "
        f"raw descriptors; the server takes {shown.median_seconds:.2f} s for one."
    )


def words_sent(result: DemoResult) -> str:
    """How many words a keypoint sends, and of how many; the number depends on ε."""
    by_count: dict[int, list[str]] = {}
    for row in result.of(OURS):
        if row.num_words is not None:
            by_count.setdefault(row.num_words, []).append(f"{row.epsilon:g}")
    parts = [f"{count:,} at ε = {' and '.join(those)}" for count, those in by_count.items()]
    return f"{result.settings.subset_size} per keypoint, of {', '.join(parts)}"


def exact_promise(row: Row, result: DemoResult) -> str:
    """What the median picture costs as a whole, and what an object in it may give away."""
    return promise_sentences(_event(row, result))


def promise_facts(row: Row, result: DemoResult) -> dict[str, Any]:
    """The same as numbers; empty for raw descriptors, which promise nothing."""
    return {} if row.epsilon is None else promise(_event(row, result))


def _event(row: Row, result: DemoResult) -> PrivacyEvent:
    keypoints = int(np.median([answer.num_keypoints for answer in row.answers]))
    words, size = row.num_words, result.settings.subset_size
    return PrivacyEvent("subset", row.epsilon, keypoints, "one descriptor", (), words, size)


def _promised(row: Row, result: DemoResult) -> tuple[str, str]:
    facts = promise_facts(row, result)
    if not facts:
        return "none", "none"
    advantage = facts["advantage_per_object"]
    return short(facts["exact_epsilon_per_picture"]), f"{advantage:.3f}"


def sent(row: Row, result: DemoResult) -> str:
    if row.method == RAW:
        return "raw descriptors"
    size = result.settings.subset_size
    return f"{size} of {row.num_words:,} words per keypoint"


def centimetres(error_cm: float | None) -> str:
    if error_cm is None:
        return "–"
    if error_cm > _FAR_CM:
        return f"> {_FAR_CM / 100:g} m"
    return f"{error_cm:.0f} cm" if error_cm >= 10 else f"{error_cm:.1f} cm"


def outcome(answer: Answer) -> str:
    """What a server answered, beside the truth."""
    if answer.error_cm is None or answer.error_deg is None:
        return f"no answer ({answer.localization.reason})"
    return f"{distance(answer)} and {answer.error_deg:.1f}°"


def distance(answer: Answer) -> str:
    """How far off a pose is, within a sentence."""
    return centimetres(answer.error_cm).replace(">", "more than")


def short_name(row: Row) -> str:
    """What is sent and who localizes it, where there is room for one column only."""
    return {RAW: "raw descriptors", OURS: "words, sfumato", PAPER: "words, paper"}[row.method]


def not_protected_sentence(result: DemoResult) -> str:
    return f"Not protected: {listed(result.not_protected)}."


def listed(items: tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])}, and {items[-1]}"


def notes(result: DemoResult) -> tuple[str, ...]:
    """What a reader of the table must know, one sentence each."""
    settings = result.settings
    return (
        f"Medians over {result.num_queries} queries. A pose is right within {settings.max_cm:g} "
        f"cm and {settings.max_deg:g}°, every other one that is returned counts as wrong; the "
        "median error is over all poses returned.",
        *_wrong_poses(result),
        "N·ε per picture is what all N descriptors of the median picture add up to; E per picture "
        f"counts them exactly, except with probability {DELTA:g}. With an advantage of a, who "
        f"tells two contents of an object apart that {SMALL_OBJECT} descriptors see is right "
        "with probability (1 + a)/2 at most.",
        not_protected_sentence(result),
    )


def _wrong_poses(result: DemoResult) -> tuple[str, ...]:
    """How far off our wrong poses are: a little beyond the limit, or somewhere else."""
    wrong = [
        answer
        for row in result.rows
        if row.method == OURS
        for answer in row.answers
        if answer.localization.localized and not answer.is_right
    ]
    if not wrong:
        return ()
    far = max(answer.error_cm or 0.0 for answer in wrong)
    turned = max(answer.error_deg or 0.0 for answer in wrong)
    return (f"Our wrong poses are off by at most {far:,.1f} cm and {turned:.1f}°.",)


def as_dict(result: DemoResult) -> dict[str, Any]:
    """Everything in the table, for machines."""
    settings = result.settings
    return {
        "version": __version__,
        "scene": {"mapping_views": result.world.num_images, "queries": result.num_queries},
        "map": {"points": len(result.world.points), "observations": result.world.num_observations},
        "dictionary": result.dictionary.fingerprint,
        "dictionary_words": result.dictionary.num_words,
        "words_per_keypoint": settings.subset_size,
        "right_within": {"cm": settings.max_cm, "degrees": settings.max_deg},
        "rows": [_row_dict(row, result) for row in result.rows],
        "not_protected": list(result.not_protected),
    }


def _row_dict(row: Row, result: DemoResult) -> dict[str, Any]:
    return {
        "sent": sent(row, result),
        "localized_by": METHODS[row.method],
        "epsilon_per_descriptor": row.epsilon,
        "epsilon_per_picture": row.picture_epsilon,
        **promise_facts(row, result),
        "true_word_sent_probability": row.keep_probability,
        "bytes_per_picture": row.median_bytes,
        "queries": len(row.answers),
        "right": row.num_right,
        "wrong": row.num_wrong,
        "unanswered": row.num_unanswered,
        "median_error_cm": row.median_error_cm,
        "errors_cm": [answer.error_cm for answer in row.answers],
        "median_server_seconds": row.median_seconds,
    }
