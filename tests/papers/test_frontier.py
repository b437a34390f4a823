"""Utility against leak: what is tried, what it costs, which ways are on a front, the advice."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from commands import sfumato
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.datasets import GallerySettings, load_gallery, map_scene
from sfumato.datasets.scenes import Problem, Query
from sfumato_papers.harness.command import Report
from sfumato_papers.ldp_feat.poses import Within
from sfumato_papers.ours.frontier import JOURNAL, Outcome, run_frontier
from sfumato_papers.ours.frontier_advice import on_front, recommend, rows_of
from sfumato_papers.ours.frontier_attack import middle_of
from sfumato_papers.ours.frontier_plot import draw_plot
from sfumato_papers.ours.frontier_table import report_lines, said
from sfumato_papers.ours.frontier_ways import (
    Settings,
    Way,
    affordable,
    levels_of,
    person_box,
    rule_way,
    ways_of,
)

WORDS = sf.Dictionary.load("bsds-16k")
SMALL = Settings(
    within=Within(0.1, 3.0),
    words=(16_384,),
    subset_sizes=(1,),
    pictures=(2000.0,),
    objects=(),
    keep=(200,),
    caps=(40,),
    dimensions=(2,),
    mechanisms=("mine:OwnQuantize", "mine:own_words"),
    num_seeds=1,
    num_attacked=1,
    side=96,
)


class OwnQuantize(sf.Quantize):
    """Somebody's own mechanism: the nearest word, without noise."""


def own_words(dictionary: sf.Dictionary) -> sf.SubsetMechanism:
    """Somebody's own mechanism with an ε."""
    return sf.SubsetMechanism(7.0, 1, dictionary)


@pytest.fixture(autouse=True)
def own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])


class Gallery:
    """The built-in room, small, with two queries."""

    def __init__(self) -> None:
        room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
        self.images = {view.name: view.image for view in room.queries}
        queries = tuple(
            Query(view.name, "room", sf.extract(view.image), view.camera, view.pose)
            for view in room.queries
        )
        self.problem = Problem("gallery", map_scene(room), queries, ("room",))

    def run(self, path: Path, settings: Settings = SMALL) -> None:
        run_frontier(self.problem, WORDS, settings, path, lambda query: self.images[query.name])


@pytest.fixture(scope="module")
def gallery() -> Gallery:
    return Gallery()


@pytest.fixture(scope="module")
def kept(gallery: Gallery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frontier") / "outcomes.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mine", sys.modules[__name__])
        gallery.run(path)
    return path


def test_every_mechanism_is_a_row_with_its_price_and_its_attack(kept: Path) -> None:
    head, outcomes = JOURNAL.read(kept)
    rows = {said(row["way"]): row for row in rows_of(outcomes, head["queries"])}
    words = next(row for row in rows.values() if row["way"].kind == "words" and not row["way"].keep)
    raw, own = rows["raw"], rows["mine:OwnQuantize"]
    lifted, dithered = rows["lifting, m = 2"], rows["lifting, m = 2, dither 0.2"]
    assert {"raw, 200 strongest", "raw, ≤ 40 a window", "raw, person hidden"} <= set(rows)
    assert (raw["share"], raw["recall"], raw["right"]) == (1, 1, 1)
    # What the vertex attack reads of a lift is the descriptor itself, dithered it is not.
    assert (lifted["attack"], lifted["ssim"]) == ("vertex", pytest.approx(raw["ssim"], abs=1e-6))
    assert lifted["right"] == 1 > dithered["right"]
    assert raw["ssim"] > dithered["ssim"] > words["ssim"]
    assert words["right"] < 0.5 < own["right"] == 1
    # A promise for words, none for the others; own code says no ε, so it has none.
    for row in (raw, own, lifted, dithered, rows["quantised, 1 of 16,384"]):
        assert row["picture"] is row["object"] is None
    most = head["most_keypoints"]
    exact = sf.compose(sf.SubsetMechanism(words["way"].epsilon, 1, WORDS), most).epsilon()
    assert words["picture"] == exact <= 2000
    assert rows["raw, 200 strongest"]["keypoints"] == 200
    own_exact = sf.compose(sf.SubsetMechanism(7.0, 1, WORDS), most).epsilon()
    assert rows["mine:own_words"]["picture"] == own_exact


def test_what_is_printed_names_units_and_limits_and_no_epsilon_for_lifting(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("experiment", "frontier", "--evaluate", kept, "--picture", "2000") == 0
    shown = capsys.readouterr().out
    for text in (
        "E ≤ 2,000",
        "a ≤ 0.1",
        "ε is per descriptor",
        "are not protected",
        "Releases are",
    ):
        assert text in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("lifting, m = 2  ")]
    assert "ε" not in line
    assert (kept.parent / "frontier.png").read_bytes()[:4] == b"\x89PNG"
    assert sfumato("experiment", "frontier", "--evaluate", kept, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert {row["way"]["kind"] for row in facts["rows"]} == {
        "raw", "quantised", "lifting", "own", "words"
    }  # fmt: skip
    assert sfumato("experiment", "frontier") == 2
    assert "give --data" in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_behind_its_last_whole_line(
    gallery: Gallery, kept: Path, tmp_path: Path
) -> None:
    path = tmp_path / "outcomes.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:3]), encoding="utf-8")  # nothing private yet: no front
    assert sfumato("experiment", "frontier", "--evaluate", path) == 0
    path.write_text("".join(lines[:-2]) + lines[-2][:50], encoding="utf-8")
    gallery.run(path)
    before, after = JOURNAL.read(kept)[1], JOURNAL.read(path)[1]
    assert [replace(one, seconds=0) for one in after] == [replace(o, seconds=0) for o in before]
    with pytest.raises(Mismatch, match="other settings"):
        gallery.run(path, replace(SMALL, window=20))


POINTS = st.lists(
    st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float)), min_size=1, max_size=30
)


@given(POINTS)
def test_a_point_is_on_the_front_unless_another_beats_it(points: list[tuple[float, float]]) -> None:
    front = on_front(points)
    chosen = [point for point, is_on in zip(points, front, strict=True) if is_on]
    assert chosen
    for leak, use in chosen:  # along the front more leak always buys more use
        assert not any(o <= leak and u >= use and (o, u) != (leak, use) for o, u in points)
    for (leak, use), is_on in zip(points, front, strict=True):
        beaten = any(o <= leak and u >= use and (o, u) != (leak, use) for o, u in chosen)
        assert is_on != beaten
    assert on_front([*reversed(points)]) == [*reversed(front)]


QUERIES = [f"q{i}" for i in range(8)]
HEAD = {"queries": QUERIES, "levels": [1024, 16_384], "most_keypoints": 1000}


def outcomes_of(way: Way, localized: Sequence[int], **changes: Any) -> list[Outcome]:
    base: dict[str, Any] = {
        "num_keypoints": 1000, "picture": 400.0, "object": 0.2, "is_wrong": False,
        "recall": 0.5, "seconds": 0.1, "attack": None,
    }  # fmt: skip
    return [
        Outcome(way, 0, name, is_localized=i in localized, **{**base, **changes})
        for i, name in enumerate(QUERIES)
    ]


def test_a_setting_is_measured_on_queries_that_did_not_choose_it() -> None:
    # One way localizes the even queries, the other the odd ones: each half chooses the way that
    # fails on the other half. Whoever measures on what chose would report one half of them.
    even, odd = Way("words", 6.0, 16_384, 1), Way("words", 6.1, 16_384, 1)
    found = [*outcomes_of(even, (0, 2, 4, 6)), *outcomes_of(odd, (1, 3, 5, 7))]
    (row,) = recommend(found, HEAD, [("picture", 500.0)])
    assert row["chosen_by_halves"] == [even, odd]
    assert row["measured"]["share"] == 0
    low, high = row["measured"]["share_interval_95"]
    assert low == 0 < high < 0.5


def test_advice_stays_within_the_limit_and_says_where_none_fits() -> None:
    cheap = outcomes_of(Way("words", 5.0, 16_384, 1), (0, 1, 2), picture=400.0, object=0.08)
    dear = outcomes_of(Way("words", 7.0, 16_384, 1), range(8), picture=900.0, object=0.5)
    dearest = [*dear[:-1], replace(dear[-1], picture=1100.0)]  # one query costs more
    free = outcomes_of(Way("raw"), range(8), picture=None, object=None)
    limits = [("picture", 500.0), ("picture", 1000.0), ("object", 0.1), ("picture", 300.0)]
    rows = recommend([*cheap, *dear, *free], HEAD, limits)
    assert [row.get("advised") and row["advised"].epsilon for row in rows] == [5.0, 7.0, 5.0, None]
    assert [row["tried"] for row in rows] == [1, 2, 1, 0]
    assert recommend([*cheap, *dearest], HEAD, limits)[1]["advised"].epsilon == 5.0
    about = {"data": "x", "images": 1, "points": 1, "within": "", "window": 48, "dictionary": "d"}
    shown = Report(report_lines({**HEAD, **about}, [], rows)).text()
    assert "none fits" in shown
    half = [one for one in dear if one.query != "q7"]  # stopped half-way: no candidate yet
    assert recommend([*cheap, *half], HEAD, limits)[1]["tried"] == 1
    assert len(rows_of([*cheap, *half], QUERIES)) == 1


def test_fronts_leave_out_what_finds_nothing_and_a_figure_needs_no_attack(tmp_path: Path) -> None:
    nothing = outcomes_of(Way("words", 1.0, 16_384, 1), (), picture=5.0, object=0.01)
    some = outcomes_of(Way("words", 5.0, 16_384, 1), (0, 1), picture=400.0, object=0.08)
    rows = rows_of([*nothing, *some], QUERIES)
    assert [row["fronts"] for row in rows] == [[], ["picture", "object"]]
    assert draw_plot(rows, {"within": "5 cm"}, tmp_path / "plot.png").exists()
    assert len(ways_of(Settings(subset_sizes=(), objects=(), pictures=()), WORDS, 3000)) == 12


def test_today_s_rule_stands_beside_the_advice_at_the_same_limit() -> None:
    rule = rule_way(("picture", 500.0), [1024, 16_384], 1000)
    assert rule is not None
    assert (rule.num_words, rule.subset_size, rule.keep) == (1024, 1, None)
    found = [*outcomes_of(rule, (0,)), *outcomes_of(Way("words", 6.5, 16_384, 1), range(8))]
    (row,) = recommend(found, HEAD, [("picture", 500.0)])
    assert row["rule"] == rule
    assert (row["rule_measured"]["share"], row["measured"]["share"]) == (1 / 8, 1)
    assert rule_way(("picture", 1e-9), [1024], 1000) is None


@pytest.mark.parametrize("limit", [("picture", 500.0), ("object", 0.1)])
def test_words_use_a_limit_up_and_stay_within_it(limit: tuple[str, float]) -> None:
    for size in (1, 2):
        epsilon = affordable(limit, 16_384, size, 1000)
        assert epsilon is not None
        prices = []
        for tried in (epsilon, epsilon + 0.1):
            together = sf.compose(sf.SubsetMechanism(tried, size, WORDS), 1000)
            small = sf.compose(sf.SubsetMechanism(tried, size, WORDS), 10)
            prices.append(together.epsilon() if limit[0] == "picture" else small.advantage)
        assert prices[0] <= limit[1] < prices[1]


def test_levels_come_from_the_dictionary_unless_they_are_given() -> None:
    assert levels_of(WORDS, ()) == (16_384, 4096, 1024)
    assert levels_of(WORDS, (1024,)) == (1024,)
    small = sf.Dictionary.from_words(np.eye(16, dtype=np.float32), extractor="tiny")
    assert levels_of(small, ()) == (16,)


def test_ways_are_tried_once_and_those_without_a_promise_have_no_finite_epsilon() -> None:
    ways = ways_of(Settings(), WORDS, 3000)
    assert len(set(ways)) == len(ways)
    for way in ways:
        assert (way.kind == "words") == (way.epsilon is not None and math.isfinite(way.epsilon))
    families = {way.family for way in ways}
    assert {"raw, fewer", "lifting", "lifting, dithered", "words, capped", "words, suppressed",
            "words, fewer", "quantised"} <= families  # fmt: skip
    # A picture has no more keypoints than the strongest to be kept: nothing new to try.
    few = ways_of(Settings(keep=(1000,)), WORDS, 900)
    assert not any(way.keep and way.kind == "words" for way in few)
    for objects, pictures in (((1.5,), ()), ((), (0.0,)), ((), (math.nan,))):
        with pytest.raises(InvalidInput, match="limit on the price"):
            Settings(objects=objects, pictures=pictures)


def test_a_hidden_person_stands_beside_the_middle_and_what_is_cut_out_keeps_its_pixels() -> None:
    (left, top, right, bottom), *_ = person_box(640, 480).corners
    assert (left, right - left) == (319.5, pytest.approx(144))
    assert (bottom, bottom - top) == (479, 360)
    assert person_box(20, 480).corners[0, 2] == 19  # a narrow picture ends before the person
    picture = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    features = sf.extract(picture)
    cut, (rows, columns) = middle_of(features, 64)
    assert picture[rows, columns].shape == (64, 64, 3)
    assert cut.image_size == (64, 64)
    assert 0 < len(cut) < len(features)
    moved = cut.keypoints + np.array([columns.start, rows.start])
    assert {*map(tuple, moved.tolist())} <= {*map(tuple, features.keypoints.tolist())}
    assert middle_of(features, 1000)[0].image_size == (160, 120)
