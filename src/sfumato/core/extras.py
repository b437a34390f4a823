"""What `pip install sfumato` leaves out: the base is a device and its client, extras add the rest.

A folder that an extra brings calls `need` in its `__init__`, so that whoever imports any part of
it without the extra reads one sentence. Nothing is imported to find out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sfumato.core.errors import Missing, MissingExtra


def need(extra: str, what: str, *packages: str) -> None:
    """Refuse `what` where a package (by the name it is imported by) of its extra is missing."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingExtra(what, extra, missing)


def public_name(error: MissingExtra, name: str) -> MissingExtra:
    """The same error, about the name that was asked for where it speaks of a folder of sfumato."""
    if error.what.startswith("sfumato."):
        return MissingExtra(name, error.extra, error.packages)
    return error


def name_extras(
    load: Callable[[str], Any], prefix: str, every: Iterable[str] = ()
) -> Callable[[str], Any]:
    """A module's `__getattr__` whose refusals say `sf.localize`, not `sfumato.server`.

    every  the module's public names; its `__all__` is made of those that are installed
    """

    def is_installed(name: str) -> bool:
        try:
            load(name)
        except MissingExtra:
            return False
        return True

    def load_named(name: str) -> Any:
        if name == "__all__" and every:
            return [one for one in every if is_installed(one)]
        try:
            return load(name)
        except MissingExtra as error:
            raise public_name(error, f"{prefix}.{name}") from None

    return load_named


def file_in_package(package: str, pattern: str, otherwise: str) -> Path:
    """The first file that matches inside an installed package, which is not imported.

    otherwise  what is said where there is none
    """
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).glob(pattern)):
            if path.is_file():
                return path
    raise Missing(otherwise)
