"""The demonstration on a corner of the gallery: what is counted, and what the command says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.app import main
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import PlainRelease
from sfumato.core.types import Localization
from sfumato.datasets import GallerySettings, Scene, load_gallery
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.pages import demo
from sfumato.pages.demo import run_demo
from sfumato.pages.demo_result import (
    OURS,
    PAPER,
    RAW,
    Answer,
    DemoResult,
    DemoSettings,
    Row,
)

SETTINGS = DemoSettings(epsilons=(12.0, 8.0), num_examples=1)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    settings = GallerySettings(width=320, height=240, num_mapping=12, num_queries=2)
    return load_gallery(tmp_path_factory.mktemp("gallery"), settings)


@pytest.fixture(scope="module")
def result(scene: Scene) -> DemoResult:
    return run_demo(scene, SETTINGS)


def test_every_query_is_sent_in_the_clear_and_at_every_epsilon_to_two_servers(
    result: DemoResult,
) -> None:
    kinds = [(row.method, row.epsilon) for row in result.rows]
    assert kinds == [(RAW, None), (OURS, 12), (PAPER, 12), (OURS, 8), (PAPER, 8)]
    for row in result.rows:
        assert len(row.answers) == result.num_queries == 2
        assert row.num_right + row.num_wrong + row.num_unanswered == 2


def test_both_servers_are_given_the_same_bytes(result: DemoResult) -> None:
    for ours, paper in zip(result.of(OURS), result.of(PAPER), strict=True):
        assert [answer.num_bytes for answer in ours.answers] == [
            answer.num_bytes for answer in paper.answers
        ]


def test_figures_follow_from_the_answers(result: DemoResult, scene: Scene) -> None:
    for row in result.rows:
        for answer, view in zip(row.answers, scene.queries, strict=True):
            pose = answer.localization.pose
            assert (pose is None) == (answer.error_cm is None)
            if pose is None:
                assert not answer.is_right
                continue
            metres, degrees = pose.error_to(view.pose)
            assert answer.error_cm == pytest.approx(100 * metres)
            assert answer.is_right == (metres <= 0.05 and degrees <= 2)
    first = result.of(OURS)[0]
    keypoints = [answer.num_keypoints for answer in first.answers]
    assert first.picture_epsilon == pytest.approx(12 * np.median(keypoints))
    assert first.num_words is not None  # of this ε, whichever the page shows
    words = Dictionary.load(SETTINGS.dictionary).at(first.num_words)
    mechanism = SubsetMechanism(12.0, SETTINGS.subset_size, words)
    assert first.keep_probability == mechanism.keep_probability


def test_raw_descriptors_are_found_where_the_map_reaches(result: DemoResult) -> None:
    raw = result.of(RAW)[0]
    assert raw.num_right >= 1
    assert raw.num_wrong == 0
    assert raw.median_bytes > 10 * result.of(OURS)[0].median_bytes


def test_the_example_is_a_real_release_of_the_visitor(result: DemoResult) -> None:
    (example,) = result.examples
    assert example.view.person_box is not None
    assert example.release.epsilon == result.shown.epsilon
    assert not example.release.reproducible
    assert len(example.release) == len(example.features) == example.ours.num_keypoints


def row_with(epsilon: float, right: int, of: int = 10) -> Row:
    lost = Localization(None, 0, 0, 0.0, "9 inliers, 12 needed")
    answers = [Answer(5, 50, 0.1, lost, None, None, number < right) for number in range(of)]
    return Row(OURS, epsilon, 0.5, tuple(answers))


def test_examples_are_shown_at_the_most_private_setting_that_works() -> None:
    working = [row_with(12, 10), row_with(8, 9), row_with(6, 2)]
    assert demo._most_private_that_works(working).epsilon == 8
    failing = [row_with(12, 3), row_with(8, 5), row_with(6, 0)]
    assert demo._most_private_that_works(failing).epsilon == 8


@pytest.mark.parametrize("epsilons", [(), (8.0, 12.0), (8.0, 8.0), (0.0,), (float("inf"),)])
def test_settings_need_falling_finite_epsilons(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput):
        DemoSettings(epsilons=epsilons)


def test_a_scene_without_queries_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="at least one query"):
        run_demo(Scene(scene.name, scene.mapping, ()), SETTINGS)


def test_the_papers_recipe_matches_words_only(result: DemoResult) -> None:
    release = PlainRelease(
        descriptors=np.zeros((1, 128), dtype=np.uint8),
        keypoints=np.zeros((1, 2), dtype=np.float32),
        image_size=(320, 240),
        extractor="sift",
    )
    with pytest.raises(InvalidInput, match="matches words"):
        demo.by_the_paper(release, result.world)


@pytest.fixture
def prepared(scene: Scene, result: DemoResult, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The command with a scene and figures that are there already; counts the queries asked."""
    asked: list[int] = []

    def run(wanted: Scene, **_: Any) -> DemoResult:
        asked.append(len(wanted.queries))
        return result

    monkeypatch.setattr("sfumato.datasets.gallery.load_gallery", lambda **_: scene)
    monkeypatch.setattr(demo, "run_demo", run)
    return asked


def sfumato(*words: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_the_command_writes_a_page_and_tells_machines_the_same_figures(
    prepared: list[int], result: DemoResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "here"
    assert sfumato("demo", "--queries", 1, "--output", out, "--json") == 0
    assert prepared == [1]
    shown = json.loads(capsys.readouterr().out)
    assert shown["page"] == str(out / "index.html")
    assert "sfumato demo --queries 1" in (out / "index.html").read_text(encoding="utf-8")
    for told, row in zip(shown["rows"], result.rows, strict=True):
        assert told["right"] == row.num_right
        assert told["epsilon_per_descriptor"] == row.epsilon
        assert told["epsilon_per_picture"] == row.picture_epsilon
    assert shown["not_protected"] == list(result.not_protected)


def test_a_person_reads_a_table_and_what_is_not_protected(
    prepared: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # a page that is there already is replaced
        assert sfumato("demo", "-o", tmp_path) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[:12])) <= 80
    assert "…" not in shown
    text = " ".join(shown.split())
    assert "ε per N·ε per E per" in text
    assert "bytes as words" in text
    assert "descriptor picture" in text
    assert "Not protected: the positions of the keypoints" in text
    assert str(tmp_path / "index.html") in shown.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--queries", "0"], "queries must be between 1 and 20"),
        (["--queries", "21"], "queries must be between 1 and 20"),
        (["--output", "{file}"], "output must be a folder"),
        (["--output", "{file}/below"], "output must be a folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_before_the_work(
    prepared: list[int],
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "file"
    file.write_text("taken")
    assert sfumato("demo", *[word.format(file=file) for word in arguments]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not shown.out
    assert not prepared
