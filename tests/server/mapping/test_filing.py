"""Indices made for all levels at once are those that would be made one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.server.mapping import Map, filing
from support import tiny_dictionary
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room


def test_filing_gives_the_same_indices_as_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filing, "_ROWS", 100)
    dictionary = DICTIONARY.with_levels((16, 64))
    made = make_map(make_room(300), MAPPING_POSES[:3])
    made.save(tmp_path / "map")
    world = Map.load(tmp_path / "map")
    filing.file_under(world, dictionary)
    filing.store_derived(world)
    opened = Map.load(tmp_path / "map", verify=False)
    for size, fingerprint in filing.fingerprints_of(dictionary).items():
        stored = opened.known_index(fingerprint)
        expected = made.word_index(dictionary.at(size))
        assert stored is not None
        assert np.array_equal(stored.starts, expected.starts)
        assert np.array_equal(stored.rows, expected.rows)
    for image in range(3):
        assert np.array_equal(opened.covisible(image, 2), made.covisible(image, 2))
    assert np.array_equal(opened.observations_per_image, made.observations_per_image)
    rows = np.arange(len(made.keypoints))
    assert np.array_equal(opened.image_of(rows), made.image_of(rows))


def test_arrays_of_another_map_are_not_taken(tmp_path: Path) -> None:
    for name, count in (("a", 200), ("b", 300)):
        make_map(make_room(count), MAPPING_POSES[:2]).save(tmp_path / name)
    filing.store_derived(Map.load(tmp_path / "a"))
    (tmp_path / "a" / "derived").rename(tmp_path / "b" / "derived")
    assert not Map.load(tmp_path / "b")._derived


def test_what_cannot_be_filed_is_refused(tmp_path: Path) -> None:
    made = make_map(make_room(200), MAPPING_POSES[:2])
    with pytest.raises(InvalidInput, match="loaded"):
        filing.file_under(made, DICTIONARY)
    with pytest.raises(InvalidInput, match="loaded"):
        filing.store_derived(made)
    made.save(tmp_path / "map")
    world = Map.load(tmp_path / "map")
    other = tiny_dictionary(8, 16)
    object.__setattr__(other, "extractor", "sift")
    with pytest.raises(Mismatch, match="extractor"):
        filing.file_under(world, other)
