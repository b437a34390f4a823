"""Every release has exactly one encoding, and nothing else decodes."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.bits import pack_bits, unpack_bits
from sfumato.core.errors import InvalidInput, MalformedRelease
from sfumato.core.releases import PlainRelease, Release, WordRelease
from sfumato.core.wire import HEADER, read_header
from support import one_of_each_release

KINDS = sorted(one_of_each_release())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 2, 23])
def test_every_kind_comes_back_equal(kind: str, count: int) -> None:
    release = one_of_each_release(count)[kind]
    data = release.to_bytes()
    assert Release.from_bytes(data) == release
    assert Release.from_bytes(data).to_bytes() == data
    assert read_header(data).length == len(data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mark_of_a_seeded_release_travels(kind: str) -> None:
    release = replace(one_of_each_release()[kind], reproducible=True)
    assert Release.from_bytes(release.to_bytes()).reproducible


def resealed(data: bytearray) -> bytes:
    """The same message with a checksum that matches again, as a hostile sender would."""
    return bytes(data[:-4]) + struct.pack("<I", zlib.crc32(data[:-4]))


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"codes"}))
@pytest.mark.parametrize("size", [(0, 9), (9, 0), (65_537, 9), (9, 65_537), (2**32 - 1, 2**32 - 1)])
def test_a_picture_that_cannot_be_is_refused(kind: str, size: tuple[int, int]) -> None:
    data = bytearray(one_of_each_release()[kind].to_bytes())
    struct.pack_into("<II", data, 12, *size)
    with pytest.raises(MalformedRelease):
        Release.from_bytes(resealed(data))


def mutate(data: bytes, generator: np.random.Generator) -> bytes:
    """One random edit: bits, bytes, integers of the header, length, or a splice."""
    edit = generator.integers(6)
    out = bytearray(data)
    if edit == 0:
        out[generator.integers(len(out))] ^= 1 << generator.integers(8)
    elif edit == 1:
        for _ in range(generator.integers(1, 8)):
            out[generator.integers(len(out))] = generator.integers(256)
    elif edit == 2:
        place = int(generator.integers(4, HEADER.size - 4))
        values = (0, 1, 2**31, 2**32 - 1, int(generator.integers(2**32)))
        value = values[generator.integers(5)]
        out[place : place + 4] = struct.pack("<I", value)
    elif edit == 3:
        del out[int(generator.integers(len(out))) :]
    elif edit == 4:
        out += bytes(generator.integers(0, 256, int(generator.integers(1, 50)), dtype=np.uint8))
    else:
        a, b = sorted(generator.integers(0, len(out), 2).tolist())
        out[a:b] = out[b : 2 * b - a]
    if generator.random() < 0.7 and len(out) >= HEADER.size + 4:
        # A sender who lies consistently: right length, right checksum.
        if generator.random() < 0.7:
            out[92:100] = struct.pack("<Q", len(out))
        return resealed(out)
    return bytes(out)


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_mutations_decode_to_an_equal_release_or_are_refused(kind: str) -> None:
    release = one_of_each_release()[kind]
    data = release.to_bytes()
    generator = np.random.default_rng(KINDS.index(kind))
    accepted = 0
    tracemalloc.start()
    try:
        for _ in range(10_000 // len(KINDS) + 1):
            mutant = mutate(data, generator)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                decoded = Release.from_bytes(mutant)
            except MalformedRelease:
                decoded = None
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < 200_000 + 100 * len(mutant)
            if decoded is not None:
                accepted += 1
                assert decoded.to_bytes() == mutant
                if mutant == data:
                    assert decoded == release
    finally:
        tracemalloc.stop()
    assert accepted > 0  # edits of positions and ε make other valid releases


def test_a_lying_count_is_refused_before_anything_is_allocated() -> None:
    data = bytearray(one_of_each_release()["words"].to_bytes())
    data[8:12] = struct.pack("<I", 2**32 - 1)
    tracemalloc.start()
    with pytest.raises(MalformedRelease, match="announces"):
        Release.from_bytes(resealed(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_flipped_byte_is_named_as_damage() -> None:
    data = bytearray(one_of_each_release()["words"].to_bytes())
    data[-10] ^= 4
    with pytest.raises(MalformedRelease, match="checksum"):
        Release.from_bytes(bytes(data))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "at least 104 bytes, got 0"),
        (b"SFU", "at least"),
        (b"PK\x03\x04" + bytes(200), "wrong magic"),
        (b"SFUM\x09" + bytes(200), "wire version 9"),
    ],
)
def test_what_is_no_release_is_told_so(data: bytes, sentence: str) -> None:
    with pytest.raises(MalformedRelease, match=sentence):
        Release.from_bytes(data)


def test_words_out_of_order_twice_or_beyond_the_dictionary_are_refused() -> None:
    good = one_of_each_release()["words"]
    assert isinstance(good, WordRelease)
    cases: list[tuple[Any, str]] = [
        (good.words[:, ::-1], "strictly increasing"),
        (np.repeat(good.words[:, :1], 2, axis=1), "strictly increasing"),
        (good.words + 300, "between 0 and 299"),
        (good.words.astype(np.float32), "whole numbers"),
        (good.words[:5], "shape"),
    ]
    for words, sentence in cases:
        with pytest.raises(InvalidInput, match=sentence):
            replace(good, words=words)


def test_spare_bits_cannot_carry_a_message() -> None:
    release = one_of_each_release(1)["words"]
    data = bytearray(release.to_bytes())
    data[-5] ^= 1  # 2 words of 9 bits leave 6 spare bits in the last byte of the payload
    with pytest.raises(MalformedRelease, match="canonical"):
        Release.from_bytes(resealed(data))


def test_rows_in_another_order_make_the_same_release() -> None:
    generator = np.random.default_rng(1)
    for release in one_of_each_release().values():
        if isinstance(release, PlainRelease):
            order = generator.permutation(len(release))
            shuffled = replace(
                release,
                keypoints=release.keypoints[order],
                descriptors=release.descriptors[order],
            )
            assert shuffled.to_bytes() == release.to_bytes()


def test_about_eight_and_a_half_bytes_per_keypoint() -> None:
    generator = np.random.default_rng(0)
    words = np.sort(generator.integers(0, 128_000, (1000, 2)) + np.array([0, 128_000]), axis=1)
    release = WordRelease(
        keypoints=(generator.random((1000, 2)) * 400).astype(np.float32),
        image_size=(640, 480),
        extractor="sift",
        words=words,
        num_words=256_000,
        dictionary="0" * 64,
        epsilon=10.0,
    )
    assert len(release.to_bytes()) <= 9 * 1000


@given(st.integers(1, 24), st.lists(st.integers(0, 2**24 - 1), max_size=60))
def test_packed_bits_come_back(width: int, values: list[int]) -> None:
    array = np.array(values, dtype=np.uint32) & ((1 << width) - 1)
    packed = pack_bits(array, width)
    assert len(packed) == (len(values) * width + 7) // 8
    assert (unpack_bits(memoryview(packed), len(values), width) == array).all()


def test_packing_more_than_one_chunk_comes_back() -> None:
    values = np.random.default_rng(0).integers(0, 2**18, 200_003).astype(np.uint32)
    packed = pack_bits(values, 18)
    assert (unpack_bits(memoryview(packed), len(values), 18) == values).all()


@pytest.mark.parametrize(
    ("side", "step"), [(8192, 0.125), (8193, 0.25), (16384, 0.25), (16385, 0.5), (65536, 1.0)]
)
def test_wide_pictures_keep_their_positions_on_a_coarser_grid(side: int, step: float) -> None:
    keypoints = np.array([[0.3, 0.7], [side - 1.1, 5.2]], dtype=np.float32)
    release = PlainRelease(
        keypoints=keypoints,
        image_size=(side, 10),
        extractor="sift",
        descriptors=np.zeros((2, 4), dtype=np.uint8),
    )
    assert np.abs(release.keypoints - keypoints).max() <= step / 2 + 1e-3
    assert Release.from_bytes(release.to_bytes()) == release
