"""Does a mechanism keep the ε it claims? Five procedures, each able to say no.

1. exact law      all outputs of the shipped sampler in small worlds, as fractions
2. target event   the event whose likelihood ratio is e^ε, measured with exact intervals
3. histogram      every output as it is sent, in a small world at ε = 1
4. truth share    how often the true input is sent, two-sided: too rarely is a bug as well
5. forks          processes that share an ancestor must not share their randomness

A mechanism without an ε has nothing to measure: the report says so and why.

Intervals are Clopper–Pearson. The chance that a correct mechanism is called broken is at
most about one in a million per statistical check.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.progress import Progress, silent
from sfumato.privacy.law import check_law, distinct_rows
from sfumato.privacy.report import AuditReport, Check, bounds_text
from sfumato.privacy.subject_of import subject_of, why_no_epsilon
from sfumato.privacy.subjects import Rows, Subject

ALPHA = 1e-6
_CHUNK = 1_000_000
_MAX_OUTPUTS = 4096


def audit(mechanism: Any, *, draws: int | None = None, progress: Progress = silent) -> AuditReport:
    """Examine one mechanism: does it keep the ε it claims?

    mechanism  any of sfumato's, your own (see `sf.Auditable`), or a Subject of `privacy/subjects`
    draws      per input; by default as many as the claim needs

    All procedures run, so that the report names every failure.

    >>> words = sf.Dictionary.from_words(np.eye(8, dtype=np.float32), extractor="mine")
    >>> sf.audit(sf.SubsetMechanism(1, 2, words), draws=100_000).verdict
    'consistent'
    >>> sf.audit(sf.Plain())
    AuditReport(Plain: no ε: the descriptors are sent as they are)
    """
    need("attack", "sf.audit", "scipy")
    subject = subject_of(mechanism)
    if subject is None or subject.epsilon == math.inf:
        return AuditReport(
            mechanism=type(mechanism).__name__,
            unit="nothing",
            not_protected=("everything that is sent",),
            epsilon_claimed=None,
            epsilon_measured=None,
            draws_per_input=0,
            no_epsilon=why_no_epsilon(mechanism),
        )
    check_epsilon(subject.epsilon)
    check_count("num_inputs", subject.num_inputs, low=2)
    draws = subject.target_draws() if draws is None else check_count("draws", draws, low=1000)
    check, measured, tight = _target_and_truth(subject, draws, progress)
    law = _exact_law(subject, progress)
    checks = (
        *law,
        *check,
        _histogram(subject.companion()),
        _forks(subject),
        *subject.further_checks(),
    )
    return AuditReport(
        mechanism=subject.name,
        unit=subject.unit,
        not_protected=subject.not_protected,
        epsilon_claimed=subject.epsilon,
        epsilon_measured=measured,
        draws_per_input=draws,
        checks=checks,
        one_pair=not tight and not law,
    )


def clopper_pearson(hits: int, draws: int, alpha: float = ALPHA) -> tuple[float, float]:
    """An interval that holds the true chance with probability at least 1 − alpha."""
    low, high = _intervals(np.array([hits]), draws, alpha)
    return float(low[0]), float(high[0])


def ratio_interval(
    first: int, second: int, draws: int, alpha: float = ALPHA
) -> tuple[float, float]:
    """Bounds on log(Pr(event|0) / Pr(event|1)) from hits in `draws` draws each."""
    low1, high1 = clopper_pearson(first, draws, alpha / 2)
    low2, high2 = clopper_pearson(second, draws, alpha / 2)
    low = math.log(low1 / high2) if low1 else -math.inf
    high = math.log(high1 / low2) if low2 else math.inf
    return low, high


def _intervals(
    hits: NDArray[np.int64], draws: int, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.stats import beta

    low = np.where(hits == 0, 0.0, beta.ppf(alpha / 2, np.maximum(hits, 1), draws - hits + 1))
    high = np.where(
        hits == draws, 1.0, beta.ppf(1 - alpha / 2, hits + 1, np.maximum(draws - hits, 1))
    )
    return low, high


def _worst_ratio(counts: NDArray[np.int64], draws: int, alpha: float) -> float:
    """The largest log ratio, in either direction, that is surely exceeded by some output."""
    low, high = _intervals(counts, draws, alpha / 2)
    with np.errstate(divide="ignore"):
        return float(np.log(low / high[:, ::-1]).max())


def _exact_law(subject: Subject, progress: Progress) -> tuple[Check, ...]:
    worlds = list(subject.worlds())
    if not worlds:
        return ()
    for i, world in enumerate(worlds):
        progress("exact law", i, len(worlds))
        try:
            law = check_law(world.sampler, world.num_inputs, world.epsilon)
            holds = law.holds or (not world.tight and law.mass_is_one and law.within_claim)
        except InvalidInput as error:
            return (Check("exact law", False, f"{world.name}: {error}"),)
        if not holds:
            wrong = (
                "the probabilities do not sum to one"
                if not law.mass_is_one
                else "an output betrays its input with certainty"
                if law.worst_ratio is None
                else f"the worst ratio is e^{math.log(law.worst_ratio):.12g}"
            )
            return (Check("exact law", False, f"{world.name}: {wrong}"),)
    progress("exact law", len(worlds), len(worlds))
    many = "one small world" if len(worlds) == 1 else f"{len(worlds)} small worlds"
    bound = "e^ε" if worlds[0].tight else "at most e^ε"
    return (Check("exact law", True, f"{many}: mass 1, worst ratio {bound}, in fractions"),)


def _target_and_truth(
    subject: Subject, draws: int, progress: Progress
) -> tuple[list[Check], tuple[float, float], bool]:
    """The checks, the measured ε, and whether the subject knows the event that reaches its ε."""
    event: Callable[[Rows], NDArray[np.bool_]] = subject.target  # type: ignore[assignment]
    tight = subject.target(subject.sample(0, 1)) is not None
    if not tight:
        event = _worst_event(subject, min(draws, 200_000))
    hits = [0, 0]
    sent, share = 0, None
    for value in (0, 1):
        for start in range(0, draws, _CHUNK):
            progress("target event", value * draws + start, 2 * draws)
            rows = subject.sample(value, min(_CHUNK, draws - start))
            hits[value] += int(np.count_nonzero(event(rows)))
            if value == 0 and (truth := subject.truth(rows)) is not None:
                sent, share = sent + int(np.count_nonzero(truth[0])), truth[1]
    progress("target event", 2 * draws, 2 * draws)
    low, high = ratio_interval(hits[0], hits[1], draws)
    inside = low <= subject.epsilon and (not tight or subject.epsilon <= high)
    detail = f"ε {bounds_text(low, high)} from {draws:,} draws per input"
    checks = [Check("target event", inside, detail)]
    if share is not None:
        fit_low, fit_high = clopper_pearson(sent, draws)
        checks.append(
            Check(
                "truth share",
                fit_low <= share <= fit_high,
                f"sent with probability {share:.6g}, measured {fit_low:.6g} to {fit_high:.6g}",
            )
        )
    return checks, (low, high), tight


def _worst_event(subject: Subject, draws: int) -> Callable[[Rows], NDArray[np.bool_]]:
    """A pilot picks the output that tells inputs 0 and 1 apart best; fresh draws judge it."""
    outputs, counts = _histogram_counts(subject, draws)
    low, high = _intervals(counts, draws, ALPHA)
    chosen = outputs[int(np.argmax(low[:, 0] / high[:, 1]))]
    return lambda rows: np.asarray((rows == chosen).all(axis=1))


def _histogram_counts(subject: Subject, draws: int) -> tuple[Rows, NDArray[np.int64]]:
    """All outputs to inputs 0 and 1, and how often each input gave them: (outputs, 2)."""
    rows = np.concatenate([subject.sample(value, draws) for value in (0, 1)])
    outputs, index = distinct_rows(rows)
    counts = [np.bincount(half, minlength=len(outputs)) for half in index.reshape(2, draws)]
    return outputs, np.stack(counts, axis=1)


def _histogram(subject: Subject) -> Check:
    name = "histogram"
    refusal = subject.refusal(subject.sample(0, 10_000))
    if refusal is not None:
        return Check(name, False, f"the answers cannot be sent: {refusal}")
    draws = subject.histogram_draws
    outputs, counts = _histogram_counts(subject, draws)
    counts = _grouped(counts)
    worst = _worst_ratio(counts, draws, ALPHA / (2 * len(counts)))
    return Check(
        name,
        worst <= subject.epsilon,
        f"{len(outputs):,} outputs in a small world at ε = {subject.epsilon:g}: the worst ratio is "
        f"surely above e^{max(worst, 0):.4g}",
    )


def _grouped(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most _MAX_OUTPUTS rows: a group of outputs is an event as good as a single one."""
    if len(counts) <= _MAX_OUTPUTS:
        return counts
    starts = np.linspace(0, len(counts), _MAX_OUTPUTS, endpoint=False).astype(np.int64)
    return np.asarray(np.add.reduceat(counts, starts, axis=0))


def _forks(subject: Subject, children: int = 4, draws: int = 512) -> Check:
    """Children of one process draw the same inputs; no two may answer alike."""
    name = "forks"
    if "fork" not in multiprocessing.get_all_start_methods():
        return Check(name, True, "this system has no fork; nothing to check")
    context = multiprocessing.get_context("fork")
    answers = []
    for _ in range(children):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(subject, draws, sender))
        process.start()
        sender.close()
        answers.append(receiver.recv_bytes())
        process.join()
    answers.append(_drawn_bytes(subject, draws))
    distinct = len(set(answers))
    return Check(
        name,
        distinct == len(answers),
        f"{children} forks and their parent gave {distinct} different streams",
    )


def _answer(subject: Subject, draws: int, sender: Any) -> None:
    sender.send_bytes(_drawn_bytes(subject, draws))
    sender.close()


def _drawn_bytes(subject: Subject, draws: int) -> bytes:
    return np.concatenate([subject.sample(value, draws) for value in (0, 1)]).tobytes()
