"""Pickles of arrays give arrays; whatever else a pickle can do is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.adversary.invert.pickled_arrays import read_pickled_arrays
from sfumato.core.errors import InvalidInput, Missing


def write(path: Path, content: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return path


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<i8", "|u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_as_they_were(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(24).reshape(2, 3, 4), dtype=dtype, order=order)
    found = read_pickled_arrays(write(tmp_path / "w", {"a": {"b": array}}))
    assert np.array_equal(np.asarray(found["a"]["b"]), array)
    assert np.asarray(found["a"]["b"], np.float32).dtype == np.float32


class Asks:
    """Pickled as a call of anything with anything."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self._asked = (call, arguments)

    def __reduce__(self) -> Any:
        return self._asked


@pytest.mark.parametrize(
    "content",
    [
        Asks(subprocess.getoutput, "true"),
        Asks(np.frombuffer, b"12345678"),
        {"a": np.array([object], dtype=object)},
        {"a": np.zeros(2, dtype=[("x", "f4")])},
        np.float64,
    ],
)
def test_any_other_name_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InvalidInput, match="does not hold VGG16"):
        read_pickled_arrays(write(tmp_path / "w", content))
    with pytest.raises(Missing, match="none are at"):
        read_pickled_arrays(tmp_path / "none")


def test_bytes_are_never_taken_for_objects(tmp_path: Path) -> None:
    """NumPy's class would take them for addresses, and the process would end."""
    path = write(tmp_path / "w", {"a": Asks(np.ndarray, (1,), "O", b"A" * 8)})
    program = (
        "import sys, numpy; from sfumato.adversary.invert.pickled_arrays import *;"
        "print(numpy.asarray(read_pickled_arrays(sys.argv[1])['a']).shape)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    assert ended.stdout == "(0,)\n"
