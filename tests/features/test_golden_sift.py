"""The golden files of SIFT are what the Python device finds today, so that another device can be
compared with them. Processors round differently: a keypoint or two may change, not more."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden_sift import FOLDER, LEVELS, pictures, rows_of, words_of
from sfumato.features import extract


@pytest.mark.parametrize("name", sorted(pictures()))
def test_golden_files_hold_what_python_finds(name: str) -> None:
    picture = pictures()[name]
    sizes = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    data = np.frombuffer((FOLDER / f"{name}.bin").read_bytes(), dtype=np.uint8)
    count, pixels = sizes["keypoints"], picture.size
    assert data[:pixels].tobytes() == picture.tobytes()
    assert len(data) == pixels + count * (5 * 4 + 128 + 4 * len(LEVELS))
    rows = data[pixels : pixels + 20 * count].view("<f4").reshape(-1, 5)
    descriptors = data[pixels + 20 * count : pixels + 148 * count].reshape(-1, 128)
    words = data[pixels + 148 * count :].view("<u4").reshape(len(LEVELS), count)
    found = extract(picture)
    apart = np.abs(rows_of(found)[:, None, :2] - rows[None, :, :2]).max(axis=2).min(axis=1)
    assert abs(len(found) - count) <= 2
    assert np.mean(apart < 0.01) > 0.98
    assert (words_of(descriptors) == words).all()
