"""`sfumato audit`: does a mechanism keep the ε it claims?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from sfumato.cli import options as opt
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.cli.own_code import MechanismOptions, make_own, read_options
from sfumato.core.accounting import PrivateAnswer
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput
from sfumato.core.plugins import asked_for, load_object
from sfumato.dictionary import Dictionary
from sfumato.privacy.audit import audit
from sfumato.privacy.composition import audit_composition
from sfumato.privacy.program import ProgramSubject
from sfumato.privacy.report import AuditReport
from sfumato.privacy.sampled import SampledSubject
from sfumato.privacy.subjects import ResponseSubject, Subject, SubsetSubject
from sfumato.privacy.unit_vectors import UnitSubject

SHIPPED = "--mechanism=subset,randomized-response,sampled-response,private-unit"


@applies(
    {
        "--epsilon": SHIPPED,
        "--subset-size": "--mechanism=subset,sampled-response",
        "--mechanism-options --dictionary": f"not {SHIPPED}",
        "--together --program": "--mechanism=subset",
        "--words": "not --mechanism=private-unit",
        "--vector-dimension": "--mechanism=private-unit",
    }
)
def run(
    epsilon: Annotated[float, option("The ε that is claimed, per unit.")] = 1.0,
    words: Annotated[
        int | None,
        option(
            "|K|, words of the dictionary (values, for randomized response).",
            shown="8; for your own, all words",
        ),
    ] = None,
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE,
    mechanism: Annotated[
        str,
        option(
            "subset, randomized-response, sampled-response (ε of a whole picture of 3 codes), "
            "private-unit (ε of a whole vector), or module:name of your own (see "
            "docs/add-your-own.md).",
            metavar="NAME",
        ),
    ] = "subset",
    vector_dimension: Annotated[
        int, option("Numbers of a vector, for private-unit.", metavar="N")
    ] = 128,
    mechanism_options: MechanismOptions = None,
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    draws: Annotated[
        int | None, option("Draws per input.", shown="as many as the claim needs")
    ] = None,
    together: Annotated[
        int | None,
        option("Examine N answers of one picture together as well.", metavar="N", shown="not"),
    ] = None,
    program: Annotated[
        str | None,
        option(
            "Examine another device: a program that is run with ε |K| ω INPUT COUNT and writes a "
            "release of so many answers.",
            metavar="COMMAND",
            shown="the mechanism of sfumato",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Exit code 0: consistent, not refuted, or no ε to measure. 1: broken. 2: bad input.

    Example: sfumato audit --epsilon 1 --words 8 --subset-size 2
    """
    if ":" in mechanism:
        subject = _own(mechanism, read_options(mechanism_options), dictionary, words)
    elif program is not None:
        subject = ProgramSubject(program, epsilon, 8 if words is None else words, subset_size)
    elif mechanism == "private-unit":
        subject = UnitSubject(epsilon, vector_dimension)
    else:
        subject = _subject(mechanism, epsilon, 8 if words is None else words, subset_size)
    with long_work() as progress:
        report = audit(subject, draws=draws, progress=progress)
        if together is not None:
            answer = PrivateAnswer(epsilon, 8 if words is None else words, subset_size)
            whole = audit_composition(answer, count=together, progress=progress)
            report = replace(report, checks=report.checks + whole.checks)
    if as_json:
        emit_json(report.facts())
    else:
        _print(report)
    if report.verdict == "broken":
        raise typer.Exit(1)


def _own(address: str, options: dict[str, Any], dictionary: str, words: int | None) -> Any:
    """A mechanism of somebody's own, with a dictionary where it asks for one."""
    what = "a mechanism"
    make = load_object(address, what)
    if not callable(make) or not asked_for(make, dictionary=dictionary):
        refuse_given("is of no use, this mechanism asks for no dictionary", "dictionary", "words")
        return make_own(address, what, options)
    public = Dictionary.load(dictionary)
    return make_own(
        address, what, options, dictionary=public if words is None else public.at(words)
    )


def _subject(mechanism: str, epsilon: float, words: int, subset_size: int) -> Subject:
    if mechanism == "subset":
        return SubsetSubject(epsilon, words, subset_size)
    if mechanism == "randomized-response":
        return ResponseSubject(epsilon, words)
    if mechanism == "sampled-response":
        return SampledSubject(epsilon, words, subset_size)
    raise InvalidInput(
        "mechanism must be subset, randomized-response, sampled-response, private-unit or "
        f"module:name, got {mechanism!r}."
    )


def _print(report: AuditReport) -> None:
    from rich.text import Text

    table = make_table(show_header=False)
    for check in report.checks:
        mark = Text("ok", "green") if check.passed else Text("fails", "red")
        table.add_row(mark, check.name, check.detail)
    with printer() as console:
        console.print(report.headline, style="bold")
        console.print(table)
        colour = {"consistent": "green", "broken": "red"}.get(report.verdict, "yellow")
        console.print(f"verdict: {report.verdict}", style=colour)
        console.print(f"not protected: {', '.join(report.not_protected)}", style="dim")
