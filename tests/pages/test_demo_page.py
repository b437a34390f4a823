"""The page: whole, self-contained, accessible, and true to the figures it was given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera, Localization, Pose
from sfumato.datasets import View
from sfumato.dictionary import Dictionary
from sfumato.pages.demo_drawings import FloorPlan, share_chart
from sfumato.pages.demo_page import demo_page
from sfumato.pages.demo_result import (
    OURS,
    PAPER,
    RAW,
    Answer,
    DemoResult,
    DemoSettings,
    Example,
    Row,
)
from sfumato.pages.demo_text import as_dict, cells, centimetres, headings, notes
from sfumato.pages.demo_words import roomy_rows, star_path
from sfumato.pages.pictures import clear_keypoint, patch_at
from sfumato.server.mapping.map import Map
from support import features_of

SIZE = (160, 120)
CAMERA = Camera("PINHOLE", *SIZE, (115.0, 115.0, 80.0, 60.0))
RIGHT = (0.4, 0.1)
WRONG = (123_456.0, 90.0)
LOST = None


def pose_at(x: float, y: float) -> Pose:
    """Upright, looking along the world's y, which is up on the plan."""
    rotation = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    return Pose(rotation, -rotation @ np.array([x, y, 1.5]))


def answer(error: tuple[float, float] | None, keypoints: int = 40) -> Answer:
    pose = None if error is None else pose_at(1 + error[0] / 100, 1)
    reason = "9 <inliers> & 12 needed" if error is None else None
    found = Localization(pose, 20, 100, -9.0, reason)
    cm, deg = (None, None) if error is None else error
    return Answer(keypoints, 400, 0.25, found, cm, deg, error == RIGHT)


def a_row(
    method: str, epsilon: float | None, chance: float | None, *errors: tuple[float, float] | None
) -> Row:
    return Row(method, epsilon, chance, tuple(map(answer, errors)), None if epsilon is None else 64)


@cache
def a_result() -> DemoResult:
    """Two queries with known outcomes, a map of two images, words without meaning."""
    generator = np.random.default_rng(3)
    words = Dictionary.from_words(
        generator.integers(0, 256, (64, 128), dtype=np.uint8), extractor="sift"
    )
    points = np.column_stack([generator.uniform(0, (6, 5), (200, 2)), np.ones(200)])
    poses = [pose_at(1, 1), pose_at(2, 1)]
    world = Map(
        points=points,
        rotations=np.stack([pose.rotation for pose in poses]),
        translations=np.stack([pose.translation for pose in poses]),
        camera_of_image=np.zeros(2, dtype=np.int32),
        feature_start=np.array([0, 2, 4]),
        keypoints=np.zeros((4, 2), dtype=np.float32),
        descriptors=np.zeros((4, 128), dtype=np.uint8),
        point_of_feature=np.array([0, 1, 0, 1], dtype=np.int32),
        image_names=("a", "b"),
        cameras=(CAMERA,),
        extractor="sift",
    )
    rows = (
        a_row(RAW, None, None, RIGHT, RIGHT),
        a_row(OURS, 8.0, 0.27, RIGHT, LOST),
        a_row(PAPER, 8.0, 0.27, WRONG, WRONG),
    )
    features = features_of(
        generator.integers(0, 256, (40, 128), dtype=np.uint8), extractor="sift", image_size=SIZE
    )
    release = WordRelease(
        words=np.sort(generator.permuted(np.tile(np.arange(64), (40, 1)), axis=1)[:, :2], axis=1),
        num_words=64,
        dictionary=words.fingerprint,
        epsilon=8.0,
        keypoints=features.keypoints,
        image_size=SIZE,
        extractor="sift",
        camera=CAMERA,
    )
    image = generator.integers(0, 256, (120, 160, 3), dtype=np.uint8)
    views = [View("q", image, CAMERA, pose_at(1, 1), box) for box in ((10, 10, 150, 120), None)]
    examples = tuple(
        Example(view, features, release, *pair)
        for view, *pair in zip(views, rows[1].answers, rows[2].answers, strict=True)
    )
    return DemoResult(DemoSettings(epsilons=(8.0,)), world, words, rows, rows[1], examples)


@cache
def a_page() -> str:
    return demo_page(a_result(), "sfumato demo --queries 2 <&>")


def visible_text(page: str) -> str:
    """All that is read or spoken: text, and the labels of drawings."""
    root = ElementTree.fromstring(page)
    body = root.find("body")
    assert body is not None
    parts = list(body.itertext())
    parts += [node.get("aria-label") or node.get("alt") or "" for node in body.iter()]
    parts += [node.get("data-name") or "" for node in body.iter()]
    return " ".join(" ".join(parts).split())


def test_the_page_is_well_formed_and_has_one_headline() -> None:
    root = ElementTree.fromstring(a_page())
    assert a_page().startswith("<!DOCTYPE html>")
    assert root.get("lang") == "en"
    assert len(list(root.iter("h1"))) == 1
    assert len(list(root.iter("main"))) == 1
    names = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(names) == len(set(names))
    known = {node.get("aria-labelledby") for node in root.iter()} - {None}
    assert known <= set(names)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = a_page()
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<iframe", page)
    root = ElementTree.fromstring(page)
    for node in root.iter():
        assert not any(name.startswith("on") for name in node.attrib)
        if "src" in node.attrib:
            assert node.attrib["src"].startswith("data:image/jpeg;base64,")
        if "href" in node.attrib:
            assert node.attrib["href"].startswith("#")
    policies = [node.get("content") for node in root.iter("meta") if node.get("http-equiv")]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_every_picture_and_drawing_says_what_it_shows() -> None:
    root = ElementTree.fromstring(a_page())
    pictures = list(root.iter("img"))
    assert len(pictures) == 1 + 2 * len(a_result().examples)
    assert all(picture.get("alt") for picture in pictures)
    for drawing in root.iter("svg"):
        assert drawing.get("aria-label") or drawing.get("aria-hidden") == "true"


def test_epsilon_never_stands_without_its_unit() -> None:
    texts = [visible_text(a_page()), " ".join(headings(a_result())), *notes(a_result())]
    for text in texts:
        for found in re.finditer("ε", text):
            around = text[max(found.start() - 60, 0) : found.end() + 60]
            assert re.search("per (descriptor|picture)", around), around
    assert "8 per descriptor" in texts[0]
    assert "320 per picture" in texts[0]


def test_the_table_shows_the_computed_figures() -> None:
    root = ElementTree.fromstring(a_page())
    lines = [
        tuple("".join(cell.itertext()).strip() for cell in line.iter("td"))
        for line in root.iter("tr")
    ][1:]
    assert lines == [cells(row, a_result()) for row in a_result().rows]
    head = [cell.text for cell in root.iter("th")]
    assert head == list(headings(a_result()))
    raw, ours, paper = (dict(zip(head, line, strict=True)) for line in lines)
    unprotected = ("ε per descriptor", "N·ε per picture", "E per picture", "advantage per object")
    assert {raw[name] for name in unprotected} == {"none"}
    assert (ours["ε per descriptor"], ours["N·ε per picture"]) == ("8", "320")
    picture, thing = (Composition({PrivateAnswer(8.0, 64, 2): count}) for count in (40, 10))
    assert ours["E per picture"] == f"{picture.epsilon():,.0f}"
    assert ours["advantage per object"] == f"{thing.advantage:.3f}"
    assert (ours["within 5 cm, 2°"], ours["wrong pose"], ours["no answer"]) == ("1/2", "0", "1")
    assert (paper["within 5 cm, 2°"], paper["wrong pose"], paper["no answer"]) == ("0/2", "2", "0")
    assert (ours["median error"], paper["median error"]) == ("0.4 cm", "> 10 m")
    assert (ours["bytes per picture"], ours["server time"]) == ("400", "0.25 s")


def test_the_page_says_what_is_not_protected_and_how_it_was_made() -> None:
    text = visible_text(a_page())
    for item in a_result().not_protected:
        assert text.count(item) >= 2  # beside the table and in the explanation
    assert "sfumato demo --queries 2 <&>" in text
    assert "secure and without a seed" in text
    assert "no formal protection of the picture as a whole" in text
    assert "where guessing is right 50 times" in text
    assert "no answer (9 <inliers> & 12 needed)" in text


def test_machines_read_the_same_figures() -> None:
    told = as_dict(a_result())
    assert [line["right"] for line in told["rows"]] == [2, 1, 0]
    assert [line["epsilon_per_picture"] for line in told["rows"]] == [None, 320.0, 320.0]
    assert told["rows"][1]["errors_cm"] == [0.4, None]
    assert 0 < told["rows"][1]["exact_epsilon_per_picture"] <= 320
    assert told["rows"][1]["delta"] == 1e-6
    assert 0 < told["rows"][1]["advantage_per_object"] <= 1
    assert "advantage_per_object" not in told["rows"][0]
    assert told["right_within"] == {"cm": 5.0, "degrees": 2.0}


@pytest.mark.parametrize(
    ("error", "text"),
    [(None, "–"), (0.04, "0.0 cm"), (9.94, "9.9 cm"), (86.2, "86 cm"), (1e9, "> 10 m")],
)
def test_errors_have_as_many_digits_as_they_deserve(error: float | None, text: str) -> None:
    assert centimetres(error) == text


def test_a_star_points_where_the_gradient_does() -> None:
    word = np.zeros((4, 4, 8))
    word[0, 0, 0] = 100  # to the right, in the first cell
    word[3, 2, 2] = 100  # upwards, in the last row; y points down
    path = re.findall(r"M([\d.]+) ([\d.]+)l([-\d.]+) ([-\d.]+)", star_path(word, 0, 0, 80))
    assert [tuple(map(float, stroke)) for stroke in path] == [(10, 10, 11.2, 0), (50, 70, 0, -11.2)]
    assert star_path(np.zeros(128), 0, 0, 80) == ""


def test_drawn_words_do_not_overlap_and_stay_inside() -> None:
    keypoints = np.random.default_rng(0).uniform(0, SIZE, (300, 2)).astype(np.float32)
    rows = roomy_rows(keypoints, SIZE, 20)
    assert 5 < len(rows) <= 48
    apart = np.abs(keypoints[rows][:, None] - keypoints[rows][None]).max(axis=2)
    assert apart[~np.eye(len(rows), dtype=bool)].min() >= 20
    assert (keypoints[rows] >= 10).all()
    assert roomy_rows(keypoints[:0], SIZE, 20).shape == (0,)


def test_the_chart_places_shares_on_its_axis() -> None:
    chart = share_chart(a_result())
    nothing, _, half, _, everything = (y for y, _ in chart.levels)
    assert [y for _, y in chart.series[PAPER]] == [nothing]
    assert [y for _, y in chart.series[OURS]] == [half]
    assert chart.raw == everything
    (drawn,) = (node for node in ElementTree.fromstring(a_page()).iter("svg") if is_chart(node))
    assert [float(dot.get("cy", "nan")) for dot in drawn.iter("circle")] == [nothing, half]


def is_chart(node: ElementTree.Element) -> bool:
    return node.get("class") == "chart"


def test_the_plan_is_seen_from_above() -> None:
    plan = FloorPlan.of(a_result().world)
    corners = np.array([plan.position(pose_at(*corner)) for corner in ((0, 0), (1, 0), (0, 1))])
    assert corners[1] - corners[0] == pytest.approx([plan.scale, 0], abs=0.11)
    assert corners[2] - corners[0] == pytest.approx([0, -plan.scale], abs=0.11)
    wedge = re.findall(r"([\d.]+) ([\d.]+)", plan.wedge(pose_at(3, 2), CAMERA, 1.0))
    stand, *ends = [np.array(corner, dtype=float) for corner in wedge]
    assert stand == pytest.approx(plan.position(pose_at(3, 2)), abs=0.11)
    assert all(end[1] < stand[1] for end in ends), "it looks along y, up on the page"


def test_the_patch_of_a_keypoint_is_turned_upright() -> None:
    image = np.zeros((120, 160, 3), dtype=np.uint8)
    image[61:, :, :] = 255  # bright below
    features = features_of(np.zeros((1, 128), dtype=np.uint8), image_size=SIZE)
    looking_down = type(features)(
        keypoints=np.array([[80.0, 60.0]]),
        descriptors=features.descriptors,
        scores=features.scores,
        scales=np.array([5.0]),
        angles=np.array([90.0]),
        image_size=SIZE,
        extractor="tiny",
    )
    patch = patch_at(image, looking_down, 0)
    assert patch[:, -40:].min() == 255, "the direction of the keypoint points to the right"
    assert patch[:, :40].max() == 0


def test_the_close_up_finds_the_same_keypoint_on_both_sides() -> None:
    example = a_result().examples[0]
    found = clear_keypoint(example.view, example.features, example.release)
    assert found is not None
    row, sent = found
    assert example.release.keypoints[sent] == pytest.approx(
        example.features.keypoints[row], abs=1 / 16
    )
