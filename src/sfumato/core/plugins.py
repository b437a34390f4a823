"""Your own code by its address: `package.module:name`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import Any

from sfumato.core.errors import InvalidInput

#: Own code that was loaded: its address, in words what it is, and the modules it is written in.
_loaded: dict[str, tuple[str, set[str]]] = {}


def load_object(text: str, what: str) -> Any:
    """Load the object that `module:name` names, for instance `mine.mechanisms:Blur`.

    what  what the object should be, in words for the messages: "a mechanism"

    The module is looked for among the installed packages first, then in the current folder.
    Loading runs the module: load only code that you trust.
    """
    module_name, colon, name = text.partition(":")
    if not (colon and _is_dotted(module_name) and _is_dotted(name)):
        raise InvalidInput(
            f"{what} of your own must be given as module:name, for instance mine.module:Name, "
            f"got {text!r}."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file of this folder hides no installed package
    try:
        loaded: Any = import_module(module_name)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput(
            f"{what} should be {name!r} in the module {module_name!r}, which cannot be imported "
            f"({reason}); it must be installed or lie in the current folder."
        ) from error
    for part in name.split("."):
        if not hasattr(loaded, part):
            raise InvalidInput(
                f"{what} should be {name!r} in the module {module_name!r}, which has no such name."
            )
        loaded = getattr(loaded, part)
    _loaded.pop(text, None)  # the last one that was loaded is the last in the table
    _loaded[text] = (what, {module_name, str(getattr(loaded, "__module__", module_name))})
    return loaded


def asked_for(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Of what is offered, that which the function has a parameter for."""
    try:
        asked = inspect.signature(function).parameters
    except ValueError:  # a function in C that does not tell its parameters
        return {}
    return {name: value for name, value in offered.items() if name in asked}


def blame(error: BaseException) -> str | None:
    """The own code that raised an error, "attack mine:attack"; None where none did."""
    cause: BaseException | None = error
    while cause is not None:
        for frame, _ in walk_tb(cause.__traceback__):
            module, code = frame.f_globals.get("__name__"), frame.f_code.co_qualname
            written = [text for text, (_, modules) in _loaded.items() if module in modules]
            if written:
                return _described(next((t for t in written if _names(t, code)), written[-1]))
        if isinstance(cause, TypeError | AttributeError):  # a call that its signature refuses
            for text in _loaded:
                if _names(text, str(cause).lstrip("'").split("(")[0].split("'")[0]):
                    return _described(text)
        cause = cause.__cause__
    return None


def _names(address: str, qualified: str) -> bool:
    """Whether a qualified name (Blur.release) is that of an address (mine:Blur) or inside it."""
    name = address.partition(":")[2]
    return qualified == name or qualified.startswith(f"{name}.")


def _described(address: str) -> str:
    return f"{_loaded[address][0].removeprefix('an ').removeprefix('a ')} {address}"


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
