"""Your own code by its address: `package.module:name`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput


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
    return loaded


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
