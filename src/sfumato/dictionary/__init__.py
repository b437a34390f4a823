"""Public words that descriptors are replaced by: build, index, store, and bundled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.dictionary.bundled import bundled_names
from sfumato.dictionary.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.dictionary.build import build_dictionary

__all__ = ["Dictionary", "build_dictionary", "bundled_names"]


def __getattr__(name: str) -> Any:
    # Building is rare: who only looks words up does not load it.
    if name != "build_dictionary":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sfumato.dictionary.build import build_dictionary

    return build_dictionary
