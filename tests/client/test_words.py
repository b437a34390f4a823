"""Public words from a server: only those that were pinned, kept whole or not at all."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import sfumato as sf
from golden_device import FOLDER as GOLDEN
from pretend_server import CAMERA, KEY, PHOTO, URL, WORDS, Pretend, sift_words, tar_of
from sfumato.client import Client
from sfumato.client.errors import BadAnswer, Refused
from sfumato.client.pins import cached_words, keep_words
from sfumato.core.errors import InvalidInput, Mismatch, SfumatoError
from sfumato.core.releases import Release, WordRelease

NESTED = sift_words(2048).with_levels((1024,))
PIN = NESTED.fingerprint


def serving(data: bytes, pin: str = PIN, dictionary: sf.Dictionary = NESTED) -> Pretend:
    server = Pretend(dictionary=dictionary)
    server.extra[f"/v1/dictionaries/{pin}"] = lambda request: httpx.Response(200, content=data)
    return server


def make(server: Pretend, cache: Path, pin: str = PIN, **settings: Any) -> Client:
    return Client(
        URL, KEY, epsilon=8, dictionary=pin, cache=cache, map="gallery", max_keypoints=30,
        transport=server.transport, **({"ledger": None} | settings),
    )  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("words") / "words"
    NESTED.save(folder)
    return tar_of(folder)


def test_pinned_words_are_fetched_once_and_kept(tmp_path: Path, archive: bytes) -> None:
    server = serving(archive)
    with make(server, tmp_path / "cache") as client:
        assert client.localize(PHOTO, CAMERA).localized
        client.localize(PHOTO, CAMERA)
    with make(server, tmp_path / "cache") as client:
        client.localize(PHOTO, CAMERA)
    assert [path for _, path, _ in server.requests].count(f"/v1/dictionaries/{PIN}") == 1
    sent = [Release.from_bytes(body) for body in server.asked]
    assert all(isinstance(one, WordRelease) and one.dictionary == PIN for one in sent)
    kept = sf.Dictionary.load(tmp_path / "cache" / PIN)
    assert kept.fingerprint == PIN
    assert sorted(kept.levels) == [1024]


def test_a_level_can_be_pinned_too(tmp_path: Path, archive: bytes) -> None:
    pin = NESTED.fingerprint_at(1024)
    server = serving(archive, pin)
    for _ in range(2):
        with make(server, tmp_path, pin) as client:
            client.localize(PHOTO, CAMERA)
    sent = Release.from_bytes(server.asked[1])
    assert isinstance(sent, WordRelease)
    assert (sent.dictionary, sent.num_words) == (pin, 1024)


def test_other_words_under_the_pinned_name_are_refused(tmp_path: Path) -> None:
    sift_words(2048, seed=5).save(tmp_path / "other")
    ledger = sf.Ledger(tmp_path / "ledger")
    server = serving(tar_of(tmp_path / "other"))
    with (
        make(server, tmp_path / "cache", ledger=ledger) as client,
        pytest.raises(Mismatch, match="is pinned"),
    ):
        client.localize(PHOTO, CAMERA)
    assert not (tmp_path / "cache" / PIN).exists()
    assert ledger.spent().pictures == 0
    assert not server.asked


def test_a_tiny_dictionary_is_refused(tmp_path: Path) -> None:
    tiny = sift_words(16)
    tiny.save(tmp_path / "tiny")
    server = serving(tar_of(tmp_path / "tiny"), tiny.fingerprint, tiny)
    with (
        make(server, tmp_path / "cache", tiny.fingerprint) as client,
        pytest.raises(SfumatoError, match="at least 1,024 words"),
    ):
        client.localize(PHOTO, CAMERA)
    assert not server.asked


def test_the_index_of_a_server_is_never_opened(tmp_path: Path) -> None:
    NESTED.save(tmp_path / "words")
    (tmp_path / "words" / "index.faiss").write_bytes(b"not what faiss should be fed with")
    server = serving(tar_of(tmp_path / "words"))
    with make(server, tmp_path / "cache") as client:
        assert client.localize(PHOTO, CAMERA).localized
    rows = WORDS.words[:50].astype(np.uint8)
    kept = sf.Dictionary.load(tmp_path / "cache" / PIN)
    assert np.array_equal(kept.nearest(rows), np.arange(50))


def odd_member(name: str, **fields: Any) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        info = tarfile.TarInfo(name)
        for key, value in fields.items():
            setattr(info, key, value)
        tar.addfile(info)
    return data.getvalue()


def files(**content: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, body in content.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return data.getvalue()


def npy(array: Any) -> bytes:
    data = io.BytesIO()
    np.save(data, array, allow_pickle=True)
    return data.getvalue()


MANIFEST = json.dumps({"extractor": "sift", "metric": "l2"}).encode()
HUGE = npy(np.zeros((2, 128), np.uint8)).replace(b"(2, 128)", b"(2**9,1)")
GROUPS = np.arange(2048) % 1024
LEVELS = {
    "floats": GROUPS.astype(np.float64),
    "signed": GROUPS.astype(np.int64) - 1,
    "short": GROUPS[:9].astype(np.uint16),
    "gaps": (GROUPS // 2).astype(np.uint16),
}
LIE = npy(np.zeros((1000, 128), np.uint8)).replace(b"(1000, 128)", b"(9999999,128)")[:256]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive at all",
        files(),
        odd_member("words.npy", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        odd_member("words.npy", type=tarfile.GNUTYPE_SPARSE),
        odd_member("words.npy", type=tarfile.FIFOTYPE),
        files(manifest_json=MANIFEST),
        files(manifest_json=b"[" * 100_000, words_npy=npy(WORDS.words)),
        files(manifest_json=b"[]", words_npy=npy(WORDS.words)),
        files(manifest_json=b"{}", words_npy=npy(WORDS.words)),
        files(manifest_json=b'{"extractor": 3, "metric": []}', words_npy=npy(WORDS.words)),
        files(manifest_json=MANIFEST, words_npy=b"\x93NUMPY"),
        files(manifest_json=MANIFEST, words_npy=npy(np.array([{}], dtype=object))),
        files(manifest_json=MANIFEST, words_npy=npy(np.array(["text"]))),
        files(manifest_json=MANIFEST, words_npy=HUGE),
        files(manifest_json=MANIFEST, words_npy=LIE),
        *(
            files(
                **{
                    "manifest_json": MANIFEST,
                    "words_npy": npy(WORDS.words),
                    "level-1024_npy": npy(level),
                }
            )
            for level in LEVELS.values()
        ),
        files(manifest_json=MANIFEST, words_npy=npy(np.full((2048, 128), np.nan, np.float32))),
    ],
)
def test_archives_that_are_no_dictionary_are_refused(tmp_path: Path, data: bytes) -> None:
    server = serving(data)
    with make(server, tmp_path / "cache") as client, pytest.raises(BadAnswer) as told:
        client.localize(PHOTO, CAMERA)
    assert "\n" not in str(told.value)
    assert not list((tmp_path / "cache").glob("*"))
    assert not server.asked


def test_names_with_paths_are_not_written(tmp_path: Path, archive: bytes) -> None:
    folder = tmp_path / "words"
    NESTED.save(folder)
    server = serving(tar_of(folder, **{"..__..__evil": b"x", "__tmp__evil": b"x"}))
    with make(server, tmp_path / "cache") as client:
        client.localize(PHOTO, CAMERA)
    assert not list(tmp_path.rglob("evil"))


def test_a_cut_archive_and_one_too_long_are_refused(tmp_path: Path, archive: bytes) -> None:
    with make(serving(archive[: len(archive) // 2]), tmp_path) as client, pytest.raises(BadAnswer):
        client.localize(PHOTO, CAMERA)
    with (
        make(serving(archive), tmp_path, max_dictionary_bytes=4096) as client,
        pytest.raises(BadAnswer, match="longer than 4,096 bytes"),
    ):
        client.localize(PHOTO, CAMERA)
    assert not list(tmp_path.iterdir())


def test_a_damaged_cache_is_told_and_an_unknown_pin_too(tmp_path: Path, archive: bytes) -> None:
    with make(serving(archive), tmp_path) as client:
        client.localize(PHOTO, CAMERA)
    words = tmp_path / PIN / "words.npy"
    words.write_bytes(words.read_bytes()[:-1] + b"?")
    with (
        make(serving(archive), tmp_path) as client,
        pytest.raises(Mismatch, match="remove that folder"),
    ):
        client.localize(PHOTO, CAMERA)
    with (
        make(Pretend(dictionary=NESTED), tmp_path / "new") as client,
        pytest.raises(Refused, match="not here"),
    ):
        client.localize(PHOTO, CAMERA)
    (tmp_path / "file").write_text("")
    with (
        make(serving(archive), tmp_path / "file") as client,
        pytest.raises(InvalidInput, match="cannot be kept"),
    ):
        client.localize(PHOTO, CAMERA)


@pytest.mark.parametrize("name", ["dictionary", "dictionary-cells"])
def test_fetched_words_are_searched_as_the_stored_ones_are(name: str, tmp_path: Path) -> None:
    told = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    archive = io.BytesIO((GOLDEN / f"{name}.tar").read_bytes())
    words = keep_words(archive, told["fingerprint"], tmp_path)
    kind = "cells" if name.endswith("cells") else "exact"
    kept = cached_words(tmp_path, told["fingerprint"])
    assert kept is not None
    for found in (words, kept):
        assert found.index.kind == kind
        asked = np.array(told["asked"], dtype=np.uint8)
        assert found.nearest(asked).tolist() == told[str(found.num_words)]["nearest"]
