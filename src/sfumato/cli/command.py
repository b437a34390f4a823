"""How a function becomes a command: option groups, options that do not apply, --quiet, --verbose.

A parameter whose type is a dataclass stands for all its fields: each is one option, declared
once for every command that has it. Groups and commands say in one table, their rules, which
options need which:

    @applies({"--dimension --dither": "--lift", "--cap": "not --no-ledger"})
    def run(photo: ImageArgument, account: Account, ...) -> None: ...

An option that was given and does not apply is refused by its name.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from sfumato.cli.numbers import check_numbers
from sfumato.cli.output import QuietFlag, VerboseFlag, speak
from sfumato.core.errors import InvalidInput

Function = Callable[..., None]
_METAVARS = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
_log = logging.getLogger(__name__)
_current: ContextVar[typer.Context] = ContextVar("the command that runs")


def applies(table: Mapping[str, str]) -> Callable[[Function], Function]:
    """Which options (left) apply only with which others (right).

    --lift                 with this option
    --boxes --mask         with one of these at least
    --kind=words,subspace  where an option has one of these values
    not --no-ledger        only without any of these
    """

    def attach(function: Function) -> Function:
        function.rules = table  # type: ignore[attr-defined]
        return function

    return attach


def was_given(name: str) -> bool:
    """Whether the running command was given this parameter, or has its default."""
    source = _current.get().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_given(reason: str, *names: str) -> None:
    """Refuse the first of these parameters that was given: "--image is <reason>; leave it out"."""
    for name in names:
        if was_given(name):
            raise InvalidInput(f"--{name.replace('_', '-')} {reason}; leave it out.")


def options_given(*without: str, only: Container[str] | None = None) -> list[str]:
    """The options that the running command was given, as they would be typed again."""
    ctx, words = _current.get(), list[str]()
    for param in ctx.command.params:
        name = param.name or ""
        wanted = name not in without if only is None else name in only
        if param.param_type_name == "option" and wanted and was_given(name):
            value = [] if ctx.params[name] is True else [str(ctx.params[name])]
            words += [max(param.opts, key=len), *value]
    return words


def make_command(name: str, function: Function, *, summary: str = "") -> Any:
    """The command of a function; its help is the summary and the function's docstring."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    text = "\n\n".join(filter(None, (summary, inspect.getdoc(function))))
    alone.command(name, help=text)(_expanded(function))
    made: Any = typer.main.get_command(alone)
    for param in made.params:
        if param.param_type_name == "argument":
            _write_plainly(param)
    return made


def _write_plainly(argument: Any) -> None:
    """Write IMAGE, [IMAGE] or FOLDER... where typer writes {IMAGE} and IMAGE <path>."""
    name = argument.metavar or argument.name.upper()
    usage = name if argument.required else f"[{name}]"
    record = argument.get_help_record
    argument.get_usage_pieces = lambda _: [usage + "..." * (argument.nargs != 1)]
    argument.get_help_record = lambda ctx: (name, record(ctx)[1])


def _expanded(function: Function) -> Function:
    groups: dict[str, Any] = {}
    every = [*_parameters(function, groups), _parameter("quiet", QuietFlag, False)]
    every.append(_parameter("verbose", VerboseFlag, False))

    def command(ctx: typer.Context, quiet: bool, verbose: bool, **given: Any) -> None:
        _current.set(ctx)
        speak(ctx.command_path.partition(" ")[2], quiet=quiet, verbose=verbose)
        check_numbers(given, ctx.find_root().obj or ())
        check_options(ctx, changed.rules)
        for name, group in groups.items():
            own = {item.name: given.pop(item.name) for item in fields(group)}
            given[name] = group(**own)
        start = time.monotonic()
        function(**given)
        if ctx.parent is not None:  # the root has nothing to do
            _log.info("done after %.1f s", time.monotonic() - start)

    every.append(_parameter("ctx", typer.Context, inspect.Parameter.empty))
    changed: Any = command
    changed.__signature__ = inspect.Signature(every)
    changed.__annotations__ = {one.name: one.annotation for one in every}
    changed.rules = [
        rule
        for source in (function, *groups.values())
        for rule in getattr(source, "rules", {}).items()
    ]
    return command


def _parameters(function: Function, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    made = getattr(function, "__signature__", None)  # of functions that make their own options
    hints = get_type_hints(function, include_extras=True) if made is None else {}
    for item in (made or inspect.signature(function)).parameters.values():
        kind = hints.get(item.name, item.annotation)
        if not is_dataclass(kind):
            yield _parameter(item.name, kind, item.default)
            continue
        groups[item.name] = kind
        inside = get_type_hints(kind, include_extras=True)
        for part in fields(kind):
            default = inspect.Parameter.empty if part.default is MISSING else part.default
            yield _parameter(part.name, inside[part.name], default)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """A parameter for typer; what an option leaves unsaid follows from its name and type."""
    base, *said = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if said and isinstance(said[0], OptionInfo):
        info = copy(said[0])
        types = [part for one in get_args(base) or (base,) for part in get_args(one) or (one,)]
        if bool in types and info.default is ...:
            info.default = f"--{name.replace('_', '-')}"  # and no --no-…: a default is never on
        info.metavar = info.metavar or next(
            (word for one, word in _METAVARS.items() if one in types), None
        )
        kind = Annotated[base, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def check_options(ctx: typer.Context, rules: Iterable[tuple[str, str]]) -> None:
    """Refuse the first option that was given and does not apply, by its name."""
    names = {flag: param.name for param in ctx.command.params for flag in param.opts}

    def holds(condition: str) -> bool:
        flag, _, values = condition.partition("=")
        value = ctx.params[names[flag] or ""]
        return str(value) in values.split(",") if values else value not in (None, False, [], ())

    for options, needed in sorted(rules, key=lambda rule: not rule[1].startswith("not ")):
        for flag in options.split():
            if not was_given(names[flag] or ""):
                continue
            others = needed.removeprefix("not ").split()
            found = [other for other in others if holds(other)]
            if needed.startswith("not ") and found:
                other, valued, _ = found[0].partition("=")
                value = f" {ctx.params[names[other] or '']}" if valued else ""
                raise InvalidInput(
                    f"{flag} does not apply with {other}{value}; leave one of them out."
                )
            if not needed.startswith("not ") and not found:
                listed = " or ".join(others).replace("=", " ").replace(",", " or ")
                raise InvalidInput(f"{flag} applies only with {listed}; leave it out, or add that.")


class LazyGroup(TyperGroup):
    """Commands by name; the module of one is imported when it is asked for, and no other.

    entries  name → ("module:function" in this package, one line of help), or another group
    """

    def __init__(self, entries: Mapping[str, tuple[str, str] | LazyGroup], **rest: Any) -> None:
        super().__init__(**rest, no_args_is_help=True, rich_markup_mode=None)
        self.entries = entries
        self._only_listed = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = self.entries.get(cmd_name)
        if not isinstance(entry, tuple):
            return entry
        if self._only_listed:
            return TyperCommand(cmd_name, short_help=entry[1])
        module, _, function = entry[0].partition(":")
        loaded = getattr(import_module(f"sfumato.cli.{module}"), function)
        return make_command(cmd_name, loaded, summary=entry[1])

    @contextmanager
    def _listed(self) -> Iterator[None]:
        """In here commands have a name and one line of help, and nothing is imported."""
        self._only_listed = True
        try:
            yield
        finally:
            self._only_listed = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with self._listed():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        with self._listed():
            return super().shell_complete(ctx, incomplete)
