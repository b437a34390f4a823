"""Settings of an experiment: a frozen dataclass whose fields are the options of its command.

    @dataclass(frozen=True)
    class Settings(Checked):
        \"\"\"The help of the command, with one example.\"\"\"

        dimensions: tuple[int, ...] = option((2, 4), "m, several.", "--dimension", low=2)

Several values are given with commas between, none at all as `none`. What a field's metadata
demands is checked when settings are made, from the command line or in Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from sfumato.cli.own_code import find_extractor
from sfumato.cli.protection import no_words
from sfumato.cli.values import names, numbers, whole_numbers
from sfumato.core.checks import check_choice, check_count, check_epsilon
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import Extractor, extractor_name

EXTRACTOR = "The extractor of map and queries: a name, an .onnx file, module:name."

_READERS: dict[Any, Callable[[str, str], Any]] = {
    int: whole_numbers,
    float: numbers,
    str: lambda _, text: names(text),
}


def option(
    default: Any,
    text: str,
    name: str = "",
    *,
    choices: Iterable[str] = (),
    own: bool = False,
    low: int | None = None,
    epsilon: bool = False,
    parse: Callable[[str], Any] | None = None,
    shown: str | None = None,
    repeat: bool = False,
    further: str = "",
    needed: str = "",
) -> Any:
    """A field that is an option.

    text     the help; name is the option's, from the field's where it is not given
    choices  the values allowed; own: besides them, your own code as module:name
    low      the least whole number; epsilon: a positive finite ε
    parse    makes the value of the text given, shown is the default as text
    repeat   several values by repeating the option; further: or behind it, with this help
    needed   the sentence that refuses a run without it
    """
    return field(default=default, metadata=locals())


def folders(text: str, otherwise: str, *, further: str = "") -> Any:
    """The option for one or more folders of data, without which nothing is run."""
    refusal = f"give --data with a folder, or --evaluate with {otherwise}."
    return option((), text, repeat=True, further=further, needed=refusal)


def folder(text: str, otherwise: str) -> Any:
    """The option for the one folder of data, without which nothing is run."""
    return option(None, text, needed=f"give --data with a folder, or --evaluate with {otherwise}.")


class Checked:
    """Settings that refuse what their fields do not allow."""

    def __post_init__(self) -> None:
        for item in _options(type(self)):
            known, given = item.metadata, getattr(self, item.name)
            name = _flag(item).split("/")[0].removeprefix("--")
            for value in given if isinstance(given, tuple) else (given,):
                if value is None:
                    continue
                is_own = known["own"] and ":" in str(value)
                if known["choices"] and not is_own:
                    own = "your own is given as module:name" if known["own"] else ""
                    check_choice(name, value, known["choices"], otherwise=own)
                if known["low"] is not None and not isinstance(value, str):
                    check_count(name, value, low=known["low"])
                if known["epsilon"]:
                    check_epsilon(value)


def _options(settings: type) -> list[Field[Any]]:
    every: Any = settings
    return [item for item in fields(every) if "text" in item.metadata]


def _flag(item: Field[Any]) -> str:
    return item.metadata["name"] or f"--{item.name.replace('_', '-')}"


def parameters(settings: type) -> list[inspect.Parameter]:
    """The options as parameters that typer understands; those further behind come last."""
    found, last = [], []
    hints = get_type_hints(settings)
    for item in _options(settings):
        kind, default = hints[item.name], item.default
        if item.metadata["repeat"]:
            kind, default = list[get_args(kind)[0]] | None, None  # type: ignore[misc]
            if item.metadata["further"]:
                behind = typer.Argument(metavar="FOLDER", help=item.metadata["further"])
                last.append(parameter(f"further_{item.name}", Annotated[kind, behind], None))
        elif item.metadata["parse"] or get_origin(kind) is tuple:
            default = item.metadata["shown"] or _shown(default)
            kind = str | None if default is None else str
        metavar = "FOLDER" if item.metadata["needed"] else None
        given = typer.Option(_flag(item), help=item.metadata["text"], metavar=metavar)
        found.append(parameter(item.name, Annotated[kind, given], default))
    return [*found, *last]


def parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command, which is always named."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _shown(default: Any) -> str | None:
    """A default as it would be typed; None where there is none."""
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in default) or None


def read_settings(settings: type, given: Mapping[str, Any]) -> Any:
    """Settings from what typer gives; text becomes the values it names."""
    hints = get_type_hints(settings)
    values: dict[str, Any] = {}
    for item in _options(settings):
        value, parse = given[item.name], item.metadata["parse"]
        if item.metadata["repeat"]:
            value = (*(value or ()), *(given.get(f"further_{item.name}") or ()))
        elif value is None:
            value = item.default
        elif parse is not None:
            value = parse(value)
        elif get_origin(hints[item.name]) is tuple:
            reader = _READERS[get_args(hints[item.name])[0]]
            value = () if value == "none" else reader(_flag(item).removeprefix("--"), value)
        values[item.name] = value
    return settings(**values)


def check_needed(settings: object) -> None:
    """Refuse settings without what a run needs."""
    for item in _options(type(settings)):
        given = getattr(settings, item.name)
        if item.metadata["needed"] and (given is None or given == ()):
            raise InvalidInput(item.metadata["needed"])


def needed(value: Path | None) -> Path:
    """A folder that `check_needed` has found to be given."""
    if value is None:
        raise InvalidInput("a run needs a folder of data; give --data.")
    return value


def extractor_for(text: str, words: Dictionary) -> str | Extractor:
    """What --extractor names; refused before any work where the words are of another."""
    found: str | Extractor = find_extractor(text)
    if extractor_name(found) != words.extractor:
        raise Mismatch(no_words(extractor_name(found), words.extractor))
    return found
