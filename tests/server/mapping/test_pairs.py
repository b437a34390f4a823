"""Which images are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from server.mapping.worlds import PINHOLE, features_at
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.server.mapping.pairs import MAX_EXHAUSTIVE, choose_pairs, named_pairs, read_pairs

NAMES = ("a.jpg", "b.jpg", "c.jpg")


def picture(descriptors: NDArray[np.int64]) -> Features:
    return features_at(np.full((len(descriptors), 2), 9.0), descriptors, PINHOLE)


def test_few_images_are_all_compared() -> None:
    rng = np.random.default_rng(0)
    pictures = [picture(rng.integers(0, 99, (3, 128))) for _ in range(5)]
    assert len(choose_pairs(pictures)) == 10


def test_of_many_images_neighbours_and_look_alikes_are_compared() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 200, (40, 30, 128))
    count = 120
    assert count > MAX_EXHAUSTIVE
    # Image i shows place i mod 40: its twins are 40 and 80 images away.
    pictures = [
        picture(np.clip(places[i % 40] + rng.integers(-5, 6, (30, 128)), 0, 255))
        for i in range(count)
    ]
    pairs = set(choose_pairs(pictures))
    assert len(pairs) < count * 30
    assert all((i, i + 1) in pairs for i in range(count - 1))
    assert all((i, i + 40) in pairs for i in range(count - 40))
    assert choose_pairs(pictures) == choose_pairs(pictures)
    blank = picture(np.empty((0, 128), dtype=np.int64))
    assert len(choose_pairs([*pictures, blank])) > len(pairs)
    assert len(choose_pairs([blank] * 70)) > 0


def test_a_list_of_pairs_is_read_as_hloc_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("a.jpg b.jpg\n\nc.jpg a.jpg\nb.jpg a.jpg\nc.jpg c.jpg\n")
    assert named_pairs(read_pairs(path), NAMES) == [(0, 1), (0, 2)]
    path.write_text("a.jpg b.jpg c.jpg\n")
    with pytest.raises(InvalidInput, match="line 1 has 3"):
        read_pairs(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_pairs(tmp_path / "absent.txt")


def test_unknown_names_are_told_and_absent_ones_skipped() -> None:
    with pytest.raises(InvalidInput, match=r"'d\.jpg'"):
        named_pairs([("a.jpg", "d.jpg")], NAMES)
    assert named_pairs([("a.jpg", "d.jpg"), ("a.jpg", "b.jpg")], NAMES, ["d.jpg"]) == [(0, 1)]
    with pytest.raises(InvalidInput, match="no two different"):
        named_pairs([("a.jpg", "a.jpg")], NAMES)
