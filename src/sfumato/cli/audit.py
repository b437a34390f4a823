"""`sfumato audit`: does a mechanism keep the ε it claims?"""

from __future__ import annotations

import importlib
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sfumato.cli.output import JsonFlag, emit_json, printer, progress_bar
from sfumato.core.errors import InvalidInput
from sfumato.privacy.audit import audit
from sfumato.privacy.report import AuditReport
from sfumato.privacy.sampled import SampledSubject
from sfumato.privacy.subjects import ResponseSubject, Subject, SubsetSubject


def run(
    epsilon: Annotated[float, typer.Option(help="The ε that is claimed, per unit.")] = 1.0,
    words: Annotated[
        int, typer.Option(help="|K|, words of the dictionary (values, for randomized response).")
    ] = 8,
    subset_size: Annotated[
        int, typer.Option(help="ω, words sent per descriptor (codes, for the sampled response).")
    ] = 2,
    mechanism: Annotated[
        str,
        typer.Option(
            help="subset, randomized-response, sampled-response (ε of a whole picture of 3 codes), "
            "or package.module:name of your own Subject (a class or function without arguments, "
            "see docs/audit.md)."
        ),
    ] = "subset",
    draws: Annotated[
        int | None, typer.Option(help="Draws per input; as many as the claim needs by default.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the ε of a mechanism and compare it with its claim.

    Exit code 0: consistent, or no ε to measure. 1: broken. 2: bad input.

    Example: sfumato audit --epsilon 1 --words 8 --subset-size 2
    """
    subject = _subject(mechanism, epsilon, words, subset_size)
    with progress_bar(quiet=as_json) as progress:
        report = audit(subject, draws=draws, progress=progress)
    if as_json:
        emit_json(report.facts())
    else:
        _print(report)
    if report.verdict == "broken":
        raise typer.Exit(1)


def _subject(mechanism: str, epsilon: float, words: int, subset_size: int) -> Subject:
    if mechanism == "subset":
        return SubsetSubject(epsilon, words, subset_size)
    if mechanism == "randomized-response":
        return ResponseSubject(epsilon, words)
    if mechanism == "sampled-response":
        return SampledSubject(epsilon, words, subset_size)
    module_name, _, name = mechanism.partition(":")
    if not name:
        raise InvalidInput(
            "mechanism must be subset, randomized-response, sampled-response or "
            f"package.module:name, got {mechanism!r}."
        )
    try:
        made = getattr(importlib.import_module(module_name), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise InvalidInput(f"mechanism {mechanism!r} cannot be made: {error}.") from None
    if not isinstance(made, Subject):
        raise InvalidInput(
            f"{mechanism!r} gives a {type(made).__name__}; it must give a subclass of "
            "sfumato.privacy.subjects.Subject."
        )
    return made


def _print(report: AuditReport) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for check in report.checks:
        mark = Text("ok", "green") if check.passed else Text("fails", "red")
        table.add_row(mark, check.name, check.detail)
    with printer() as console:
        console.print(report.headline, style="bold")
        console.print(table)
        colour = "green" if report.verdict == "consistent" else "red"
        console.print(f"verdict: {report.verdict}", style=colour)
        console.print(f"not protected: {', '.join(report.not_protected)}", style="dim")
