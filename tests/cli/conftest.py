"""What the commands are given in several files of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pretend_server import Pretend, on_a_socket
from sfumato.dictionary import Dictionary
from support import photograph


@pytest.fixture
def pretend() -> Pretend:
    return Pretend()


@pytest.fixture
def server(pretend: Pretend) -> Iterator[str]:
    """The address of a server that lives in the test."""
    with on_a_socket(pretend) as url:
        yield url


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(photograph()[:256, :256]).save(path)
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    values = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(values, extractor="sift").save(tmp_path / "words")
    return tmp_path / "words"


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """A folder with one small network, which paints from raw SIFT."""
    from onnx_bytes import save_painter
    from sfumato.adversary.invert.architecture import Architecture

    path = tmp_path / "networks"
    path.mkdir()
    save_painter(path / "sift-raw.onnx", Architecture(depth=4))
    return path
