"""Codes of many pictures: checked when made, and back to releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato.core.bits import bit_width
from sfumato.core.codes import Codes, code_type, group_releases
from sfumato.core.errors import InvalidInput, MalformedRelease, Mismatch
from sfumato.core.releases import CodeRelease, Release
from sfumato.core.streams import join_releases, split_releases

VALUES = np.random.default_rng(1).integers(0, 5, (6, 8))


def release(codes: int = 3, epsilon: float = 1.0, **changes: Any) -> CodeRelease:
    fields: dict[str, Any] = {
        "codes": np.arange(codes) % 5,
        "positions": np.arange(codes),
        "num_values": 5,
        "num_positions": 8,
        "epsilon": epsilon,
        "encoder": "pixels",
    }
    return CodeRelease(**(fields | changes))


def test_codes_know_their_shape_and_cost() -> None:
    codes = Codes(values=VALUES, num_values=5, num_positions=8, map_shape=(2, 2, 2), epsilon=0.5)
    assert (len(codes), codes.num_sent, codes.picture_epsilon) == (6, 8, 4.0)
    assert "0.5 per code" in repr(codes)
    assert codes.take(slice(2, 4)).values.tolist() == VALUES[2:4].tolist()
    assert [len(block) for block in codes.blocks(4)] == [4, 2]
    assert codes.values.dtype == np.uint8
    assert [code_type(d) for d in (256, 257, 65537)] == [np.uint8, np.uint16, np.uint32]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values": VALUES + 1}, "between 0 and 4"),
        ({"values": VALUES.astype(float)}, "whole numbers"),
        ({"values": VALUES[0]}, "shape"),
        ({"values": VALUES[:, :3]}, "all 8 codes"),
        ({"num_values": 1}, "num_values must be"),
        ({"positions": VALUES[:, :2]}, "shape"),
        ({"positions": np.zeros((6, 8), dtype=int)}, "strictly increasing"),
        ({"map_shape": (2, 2, 3)}, "product of 8"),
        ({"map_shape": "abc"}, "product of 8"),
        ({"epsilon": math.nan}, "NaN"),
        ({"encoder": "../x"}, "name"),
    ],
)
def test_bad_codes_are_refused(change: dict[str, Any], sentence: str) -> None:
    fields: dict[str, Any] = {"values": VALUES, "num_values": 5, "num_positions": 8}
    with pytest.raises(InvalidInput, match=sentence):
        Codes(**(fields | change))


def test_releases_of_several_kinds_are_grouped_by_cost() -> None:
    sent = [release(3), release(8), release(3, 2.0), release(3)]
    groups = group_releases(sent, map_shape=(1, 2, 4))
    assert [(len(codes), codes.epsilon, rows.tolist()) for codes, rows in groups] == [
        (2, 1.0, [0, 3]),
        (1, 1.0, [1]),
        (1, 2.0, [2]),
    ]
    assert groups[1][0].positions is None
    assert group_releases([]) == []
    for change in ({"encoder": "other"}, {"num_values": 6}, {"num_positions": 9}):
        with pytest.raises(Mismatch, match="one encoder"):
            group_releases([release(), release(**change)])


def test_places_travel_only_where_some_are_missing() -> None:
    whole = release(8).to_bytes()
    assert len(whole) == 104 + math.ceil(8 * bit_width(5) / 8)
    part = release(7).to_bytes()
    assert len(part) == 104 + math.ceil(7 * bit_width(8) / 8) + math.ceil(7 * bit_width(5) / 8)
    assert Release.from_bytes(whole) == release(8)
    assert Release.from_bytes(part) == release(7)


def test_a_file_of_releases_is_read_one_by_one() -> None:
    sent = [release(3), release(8, label=4), release(1, 2.0)]
    data = join_releases(sent)
    assert list(split_releases(data)) == sent
    assert list(split_releases(b"")) == []


def test_damage_in_a_file_of_releases_is_named_by_its_place() -> None:
    data = join_releases([release(3), release(8)])
    first = len(release(3).to_bytes())
    for broken in (data[:-1], data[: first + 50], data + b"x", data[:first] + data[first + 1 :]):
        with pytest.raises(MalformedRelease, match=r"release [12] of the file"):
            list(split_releases(broken))


def test_no_mutation_of_a_release_decodes_to_another_length() -> None:
    data = release(8).to_bytes()
    generator = np.random.default_rng(0)
    for _ in range(2000):
        mutant = bytearray(data)
        for place in generator.integers(0, len(data), generator.integers(1, 4)):
            mutant[place] = generator.integers(0, 256)
        if bytes(mutant) == data:
            continue
        with pytest.raises(MalformedRelease):
            Release.from_bytes(bytes(mutant))


def test_a_header_that_lies_about_its_rows_is_refused_before_anything_is_made() -> None:
    data = bytearray(release(8).to_bytes())
    data[8:12] = (0xFFFFFFFF).to_bytes(4, "little")
    data[20:24] = (0xFFFFFFFF).to_bytes(4, "little")
    with pytest.raises(MalformedRelease, match="announces"):
        Release.from_bytes(bytes(data))
