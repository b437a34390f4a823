"""Mechanisms, attacks, extractors and detectors of the user's own modules: module:name."""

from __future__ import annotations

import json
from typing import Annotated, Any

from sfumato.cli.options import option
from sfumato.core.errors import InvalidInput
from sfumato.core.plugins import asked_for, load_object

MechanismOptions = Annotated[
    list[str] | None,
    option("What it is made with: key=value, repeatedly, or a JSON object.", metavar="KEY=VALUE"),
]


def make_own(address: str, what: str, options: dict[str, Any], **offered: Any) -> Any:
    """What a module's class or function makes of these options.

    offered  given only where it has a parameter of that name, and was given no other value
    """
    make = load_object(address, what)
    if not callable(make):
        raise InvalidInput(f"{what} is made by a class or function, {address} is none.")
    try:
        return make(**(asked_for(make, **offered) | options))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} cannot be made of {address}: {error}.") from None


def find_extractor(text: str) -> Any:
    """The name of a shipped extractor as it is; of a file or module:name, what that describes with.

    The one door for what --extractor says: a word stays a word, anything else becomes an object
    with a name that is called with a picture. FILE.onnx is a network; NAME:FILE.onnx one that
    does not say its name itself.
    """
    if text.lower().endswith(".onnx"):
        from sfumato.features.networks.extractor import network_extractor

        return network_extractor(text)
    return load_ready(text, "an extractor") if ":" in text else text


def load_ready(address: str, what: str) -> Any:
    """An object of a module that is used as it is; of a class, one that needs no arguments."""
    found = load_object(address, what)
    return make_own(address, what, {}) if isinstance(found, type) else found


def read_options(texts: list[str] | None) -> dict[str, Any]:
    """Values as JSON where they are that, as text where they are not: rate=0.5 is a number."""
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if text.lstrip().startswith("{"):
            read = _json_or_text(text)
            if not isinstance(read, dict):
                raise InvalidInput(f"--mechanism-options must be a JSON object, got {text!r}.")
            options |= read
        elif equals and key.isidentifier():
            options[key] = _json_or_text(value)
        else:
            raise InvalidInput(f"--mechanism-options must be key=value, got {text!r}.")
    return options


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
