"""Words, their doors, and their files."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.dictionary import Dictionary, bundled_names
from sfumato.dictionary.words import fingerprint_of


def some_words(count: int = 40, dimension: int = 128, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 200, (count, dimension), dtype=np.uint8)


def sift_words(count: int = 40) -> Dictionary:
    return Dictionary.from_words(some_words(count), extractor="sift")


def test_nearest_is_the_nearest_and_ties_go_to_the_first() -> None:
    words = some_words()
    words[7] = words[3]
    queries = some_words(60, seed=1)
    distances = np.square(words[None].astype(int) - queries[:, None]).sum(axis=2)
    found = Dictionary.from_words(words, extractor="sift").nearest(queries)
    assert found.dtype == np.uint32
    assert np.array_equal(found, distances.argmin(axis=1))
    assert Dictionary.from_words(words, extractor="sift").nearest(words[7:8]) == [3]


def test_nearest_does_not_depend_on_the_batch() -> None:
    dictionary = Dictionary.from_words(some_words(5000), extractor="sift")
    queries = some_words(150, seed=1)
    together = dictionary.nearest(queries)
    assert np.array_equal(together, np.concatenate([dictionary.nearest(q[None]) for q in queries]))


def test_binary_words_are_compared_by_hamming_distance() -> None:
    words = some_words(50, 64)
    queries = some_words(30, 64, seed=2)
    bits = np.unpackbits(words[None] ^ queries[:, None], axis=2).sum(axis=2)
    dictionary = Dictionary.from_words(words, extractor="freak")
    assert dictionary.metric == "hamming"
    assert np.array_equal(dictionary.nearest(queries), bits.argmin(axis=1))


def test_no_descriptors_give_no_words() -> None:
    found = sift_words().nearest(np.empty((0, 128), dtype=np.uint8))
    assert found.shape == (0,)
    assert found.dtype == np.uint32


def test_descriptors_that_do_not_belong_are_refused() -> None:
    dictionary = sift_words()
    with pytest.raises(Mismatch, match=r"\(any, 128\).*\(3, 64\)"):
        dictionary.nearest(np.zeros((3, 64), dtype=np.uint8))
    with pytest.raises(Mismatch, match=r"uint8.*float32"):
        dictionary.nearest(np.zeros((3, 128), dtype=np.float32))
    with pytest.raises(Mismatch, match="int64"):
        dictionary.nearest(np.zeros((3, 128), dtype=np.int64))
    with pytest.raises(Mismatch, match=r"\(128,\)"):
        dictionary.nearest(np.zeros(128, dtype=np.uint8))
    floats = Dictionary.from_words(np.eye(4, dtype=np.float32), extractor="tiny")
    with pytest.raises(InvalidInput, match="NaN"):
        floats.nearest(np.full((1, 4), np.nan))
    with pytest.raises(Mismatch, match="float32"):
        floats.nearest(np.zeros((1, 4), dtype=np.uint8))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (np.zeros((1, 4), dtype=np.uint8), "at least 2 words, got 1"),
        (np.zeros((0, 4), dtype=np.uint8), "at least 2 words, got 0"),
        (np.zeros(4, dtype=np.uint8), "shape"),
        (np.zeros((4, 0), dtype=np.uint8), "shape"),
        (np.zeros((4, 4), dtype=np.int32), "int32"),
        (np.full((4, 4), np.inf), "finite"),
        ([["a", "b"], ["c", "d"]], "uint8 or floating point"),
    ],
)
def test_words_that_are_none_are_refused(words: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Dictionary.from_words(words, extractor="tiny")


def test_metric_and_index_are_checked() -> None:
    with pytest.raises(InvalidInput, match="metric"):
        Dictionary.from_words(some_words(), extractor="sift", metric="cosine")
    with pytest.raises(InvalidInput, match="packed bits"):
        Dictionary.from_words(np.eye(4, dtype=np.float32), extractor="tiny", metric="hamming")
    with pytest.raises(InvalidInput, match="index"):
        Dictionary.from_words(some_words(), extractor="sift", index="fast")


def test_words_cannot_be_changed_from_outside() -> None:
    given = some_words()
    dictionary = Dictionary.from_words(given, extractor="sift")
    given[:] = 0
    assert dictionary.words.any()
    with pytest.raises(ValueError, match="read-only"):
        dictionary.words[0, 0] = 1


def test_fingerprint_is_of_the_content_only() -> None:
    words = some_words()
    one = Dictionary.from_words(words, extractor="sift", provenance="here")
    other = Dictionary.from_words(words, extractor="sift", provenance="there", index="graph")
    assert one == other
    assert hash(one) == hash(other)
    assert one.fingerprint == fingerprint_of(words, "sift")
    changed = words.copy()
    changed[0, 0] ^= 1
    different = [
        Dictionary.from_words(changed, extractor="sift"),
        Dictionary.from_words(words, extractor="sift-harris"),
        Dictionary.from_words(words.reshape(80, 64), extractor="sift"),
        Dictionary.from_words(words.astype(np.float32), extractor="sift"),
    ]
    assert len({one.fingerprint, *(d.fingerprint for d in different)}) == 5


def test_negative_zero_is_zero() -> None:
    zero = Dictionary.from_words(np.eye(3, dtype=np.float32), extractor="tiny")
    minus = Dictionary.from_words(np.eye(3, dtype=np.float32) - np.float32(0), extractor="tiny")
    signed = Dictionary.from_words(-(-np.eye(3) + 0.0), extractor="tiny")
    assert zero == minus == signed


def test_duplicates_are_reported() -> None:
    words = some_words()
    words[5] = words[9] = words[1]
    assert Dictionary.from_words(words, extractor="sift").manifest["duplicate_words"] == 2


def test_repr_is_short() -> None:
    assert len(repr(sift_words())) < 80


def test_sub_databases_are_equal_disjoint_and_complete() -> None:
    dictionary = sift_words(48)
    parts = dictionary.sub_databases()
    assert [part.shape for part in parts] == [(3, 128)] * 16
    together = {row.tobytes() for part in parts for row in part}
    assert together == {row.tobytes() for row in dictionary.words}
    with pytest.raises(InvalidInput, match="48 words cannot be split in 5 equal parts"):
        dictionary.sub_databases(5)
    with pytest.raises(InvalidInput, match="between 1 and 48"):
        dictionary.sub_databases(0)


@pytest.mark.parametrize("index", ["exact", "graph"])
@pytest.mark.parametrize("extractor", ["sift", "freak", "tiny"])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, index: str, extractor: str) -> None:
    words = some_words(64, 64)
    given = words.astype(np.float32) if extractor == "tiny" else words
    saved = Dictionary.from_words(given, extractor=extractor, index=index, provenance="Köln")
    saved.save(tmp_path / "words")
    loaded = Dictionary.load(tmp_path / "words")
    assert loaded == saved
    assert loaded.manifest == saved.manifest
    assert loaded.metric == saved.metric
    assert loaded.index.kind == index
    queries = some_words(100, 64, seed=3).astype(given.dtype)
    assert np.array_equal(loaded.nearest(queries), saved.nearest(queries))
    assert not loaded.words.flags.writeable
    loaded.save(tmp_path / "again")
    assert Dictionary.load(tmp_path / "again").manifest == saved.manifest
    with pytest.raises(InvalidInput, match="exists already"):
        loaded.save(tmp_path / "again")


@pytest.mark.parametrize("index", ["exact", "graph"])
@pytest.mark.parametrize("extractor", ["sift", "freak"])
def test_pickled_and_copied_it_is_the_same(tmp_path: Path, index: str, extractor: str) -> None:
    made = Dictionary.from_words(some_words(64, 64), extractor=extractor, index=index)
    fine = made.with_levels((8,))
    fine.save(tmp_path / "words")
    queries = some_words(100, 64, seed=3)
    for one in (made, fine, fine.at(8), Dictionary.load(tmp_path / "words")):
        sent = pickle.dumps(one)
        for again in (pickle.loads(sent), copy.deepcopy(one)):
            assert again == one
            assert again.manifest == one.manifest
            assert np.array_equal(again.nearest(queries), one.nearest(queries))
            assert not again.words.flags.writeable
            assert not any(groups.flags.writeable for groups in again.levels.values())


@pytest.mark.parametrize("name", ["words.npy", "index.faiss", "manifest.json"])
@pytest.mark.parametrize("harm", ["flip first", "flip middle", "flip last", "truncate", "remove"])
def test_any_damage_is_noticed(tmp_path: Path, name: str, harm: str) -> None:
    folder = tmp_path / "words"
    Dictionary.from_words(some_words(), extractor="sift", index="graph").save(folder)
    file = folder / name
    data = bytearray(file.read_bytes())
    if harm == "remove":
        file.unlink()
    elif harm == "truncate":
        file.write_bytes(data[:-1] if name != "manifest.json" else data[:-3])
    else:
        # The last byte of the manifest is a newline, which carries nothing.
        end = len(data) - (2 if name == "manifest.json" else 1)
        place = {"first": 0, "middle": len(data) // 2, "last": end}[harm.split()[1]]
        data[place] ^= 1
        file.write_bytes(data)
    expected = InvalidInput if (name, harm) == ("manifest.json", "remove") else DamagedFile
    with pytest.raises(expected):
        Dictionary.load(folder)


def test_words_under_a_foreign_fingerprint_are_refused(tmp_path: Path) -> None:
    from sfumato.core.storage import save_arrays

    manifest = {"kind": "dictionary", "format": 1, **sift_words().manifest}
    save_arrays(tmp_path / "words", {"words": some_words(seed=9)}, manifest)
    with pytest.raises(DamagedFile, match="fingerprint"):
        Dictionary.load(tmp_path / "words")
    save_arrays(tmp_path / "newer", {"words": some_words()}, {**manifest, "format": 3})
    with pytest.raises(InvalidInput, match="format 3"):
        Dictionary.load(tmp_path / "newer")


def test_the_bundled_dictionary_loads_and_is_what_its_manifest_says() -> None:
    assert "bsds-16k" in bundled_names()
    dictionary = Dictionary.load("bsds-16k")
    manifest = dictionary.manifest
    assert dictionary.words.shape == (16_384, 128)
    assert dictionary.words.dtype == np.uint8
    assert dictionary.extractor == "sift"
    assert fingerprint_of(dictionary.words, "sift") == manifest["fingerprint"]
    assert manifest["provenance"] == "BSDS500 (Berkeley), 500 photographs"
    assert manifest["num_images"] == 500
    assert manifest["index"] == {"kind": "exact", "recall_at_1": 1.0}
    assert "/" not in str(manifest)
    assert [len(part) for part in dictionary.sub_databases()] == [1024] * 16


def test_an_unknown_name_names_the_bundled_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="bsds-16k"):
        Dictionary.load(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput, match="not a stored dictionary"):
        Dictionary.load(tmp_path / "file")
    shutil.copytree(tmp_path, tmp_path / "folder")
    with pytest.raises(InvalidInput, match="not a stored dictionary"):
        Dictionary.load(tmp_path / "folder")


def test_importing_is_light() -> None:
    script = (
        "import sys, sfumato.dictionary\n"
        "heavy = {'faiss', 'cv2', 'scipy', 'h5py'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
