"""Image sequences in the layouts of HPatches and of Oxford's set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sequences import write_sequence
from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.hpatches import read_sequences, transfer


def test_both_layouts_are_read_and_the_kind_of_change_is_known(tmp_path: Path) -> None:
    write_sequence(tmp_path / "v_wall", layout="hpatches")
    write_sequence(tmp_path / "i_lamp", layout="hpatches")
    write_sequence(tmp_path / "leuven", layout="oxford")
    write_sequence(tmp_path / "mine", layout="oxford")
    found = {sequence.name: sequence for sequence in read_sequences(tmp_path)}
    assert {name: sequence.change for name, sequence in found.items()} == {
        "i_lamp": "illumination",
        "v_wall": "viewpoint",
        "leuven": "illumination",
        "mine": "other",
    }
    assert found["leuven"].first.name == "img1.png"
    assert [path.name for path, _ in found["v_wall"].others] == ["2.ppm", "3.ppm"]
    assert read_sequences(tmp_path / "mine")[0].name == "mine"


def test_points_are_moved_by_the_homography() -> None:
    homography = np.array([[2.0, 0, 1], [0, 2, 0], [0, 0.5, 1]])
    assert transfer(homography, np.array([[3.0, 2.0]])).tolist() == [[3.5, 2.0]]


@pytest.mark.parametrize("content", ["", "1 2 3", "a b c\nd e f\ng h i", "0 0 0\n0 0 0\n0 0 0"])
def test_a_damaged_homography_is_refused_by_name(tmp_path: Path, content: str) -> None:
    write_sequence(tmp_path / "mine", layout="oxford")
    (tmp_path / "mine" / "H1to2p").write_text(content)
    with pytest.raises(InvalidInput, match="H1to2p"):
        read_sequences(tmp_path)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no folder of image sequences"):
        read_sequences(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="holds no image sequence"):
        read_sequences(tmp_path)
    write_sequence(tmp_path / "mine", layout="oxford")
    (tmp_path / "mine" / "img3.png").unlink()
    with pytest.raises(InvalidInput, match="mine lacks picture 3"):
        read_sequences(tmp_path)
