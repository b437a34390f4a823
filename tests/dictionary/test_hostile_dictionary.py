"""Dictionaries that someone else packed, with checksums that agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from endurance.file_seeds import sign_folder
from sfumato.core.errors import SfumatoError
from sfumato.dictionary import Dictionary
from support import tiny_dictionary


@pytest.mark.parametrize(
    "levels", [3, None, "16", [0], ["../../key"], [[]], [1.5], [True], {"a": 1}]
)
def test_levels_are_a_list_of_counts(tmp_path: Path, levels: Any) -> None:
    tiny_dictionary(32).save(tmp_path / "d")
    sign_folder(tmp_path / "d", {"levels": levels})
    with pytest.raises(SfumatoError, match=r"is damaged: levels"):
        Dictionary.load(tmp_path / "d")


@pytest.mark.parametrize(
    "words",
    [
        np.zeros(32, np.uint8),
        np.zeros((1, 8), np.uint8),
        np.zeros((32, 0), np.uint8),
        np.zeros((32, 8)),
        np.full((32, 8), np.nan, np.float32),
        np.full((32, 8), "a"),
        np.asfortranarray(np.arange(256, dtype=np.uint8).reshape(32, 8)),
    ],
)
def test_words_are_checked_like_new_ones(tmp_path: Path, words: np.ndarray[Any, Any]) -> None:
    tiny_dictionary(32).save(tmp_path / "d")
    np.save(tmp_path / "d" / "words.npy", words)
    sign_folder(tmp_path / "d")
    with pytest.raises(SfumatoError, match="is damaged: words must"):
        Dictionary.load(tmp_path / "d")
