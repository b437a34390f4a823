"""A graph that comes with a dictionary is looked through before faiss reads it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile
from sfumato.dictionary.index import make_index, read_index

COUNT, DIMENSION = 400, 8
rng = np.random.default_rng(3)
WORDS = rng.integers(0, 256, (COUNT, DIMENSION), dtype=np.uint8)
KINDS: dict[str, tuple[NDArray[Any], str]] = {
    "bytes": (WORDS, "l2"),
    "floats": (WORDS / np.float32(3), "l2"),
    "bits": (WORDS, "hamming"),
}


def graph(kind: str) -> bytes:
    words, metric = KINDS[kind]
    data = make_index(words, metric=metric, kind="graph").to_bytes()
    assert data is not None
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_read_and_finds_the_same(tmp_path: Path, kind: str) -> None:
    words, metric = KINDS[kind]
    (tmp_path / "g").write_bytes(graph(kind))
    found = read_index(tmp_path / "g", words, metric=metric).nearest(words)
    assert np.array_equal(found, np.arange(COUNT))


def refused(tmp_path: Path, data: bytes, kind: str = "bytes") -> None:
    words, metric = KINDS[kind]
    (tmp_path / "g").write_bytes(data)
    with pytest.raises(DamagedFile, match="not the graph of these words"):
        read_index(tmp_path / "g", words, metric=metric)


def test_an_index_that_names_another_file_is_refused(tmp_path: Path) -> None:
    flat = faiss.IndexFlatL2(DIMENSION)
    index = faiss.IndexIVFFlat(flat, DIMENSION, 4)
    index.train(WORDS.astype(np.float32))
    lists = faiss.OnDiskInvertedLists(4, index.code_size, str(tmp_path / "elsewhere"))
    index.replace_invlists(lists)
    index.add(WORDS.astype(np.float32))
    refused(tmp_path, bytes(faiss.serialize_index(index).data))


@pytest.mark.parametrize("kind", KINDS)
def test_links_out_of_the_graph_are_refused(tmp_path: Path, kind: str) -> None:
    data = bytearray(graph(kind))
    at = 25 if kind == "bits" else 37  # where the five tables begin
    places = []
    for size in (8, 4, 4, 8, 4):
        (count,) = struct.unpack_from("<Q", data, at)
        places.append((at, at + 8, count))
        at += 8 + size * count
    (_, ends, _), (_, levels, _), (_, starts, _), (_, links, count) = places[1:]
    changes = [
        (links, "<i", COUNT),
        (links + 4 * (count - 1), "<i", -2),
        (levels + 4 * 7, "<i", 7),
        (levels, "<i", 0),
        (starts + 8 * 3, "<Q", 1 << 40),
        (ends + 4, "<i", -4),
        (at, "<i", COUNT),
        (at, "<i", -1),
        (at + 4, "<i", 50),
        *((place, "<Q", 1 << 60) for place, _, _ in places),
    ]
    for place, form, value in changes:
        spoiled = bytearray(data)
        struct.pack_into(form, spoiled, place, value)
        refused(tmp_path, bytes(spoiled), kind)
    refused(tmp_path, bytes(data) + b"x", kind)
    refused(tmp_path, bytes(data[:-1]), kind)


def test_a_link_to_a_word_of_a_lower_level_is_refused(tmp_path: Path) -> None:
    data = bytearray(graph("bytes"))
    read: Any = faiss.deserialize_index(np.frombuffer(data, np.uint8))
    levels = faiss.vector_to_array(read.hnsw.levels)
    starts = faiss.vector_to_array(read.hnsw.offsets)
    ends = faiss.vector_to_array(read.hnsw.cum_nneighbor_per_level)
    links = faiss.vector_to_array(read.hnsw.neighbors)
    high, low = int(np.argmax(levels)), int(np.argmin(levels))
    begin = bytes(data).index(links.astype("<i4").tobytes())
    struct.pack_into("<i", data, begin + 4 * int(starts[high] + ends[1]), low)
    refused(tmp_path, bytes(data))
