"""Extractors side by side: true pairs, projections, and a small run of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import sfumato
from sequences import write_sequence
from server.mapping.worlds import write_scene
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato_papers.ours.extractor_words import (
    clustered,
    intrinsic_dimension,
    nearest,
    pair_record,
    projected_rates,
    projection,
    true_pairs,
    warped,
    words_in_use,
)
from small_networks import edgepoint2_weights, save_weights
from support import photograph


def features(keypoints: Any, descriptors: Any) -> Features:
    count = len(keypoints)
    return Features(
        keypoints=np.asarray(keypoints, dtype=np.float32).reshape(count, 2),
        descriptors=np.asarray(descriptors, dtype=np.float32),
        scores=np.ones(count, dtype=np.float32),
        scales=np.ones(count, dtype=np.float32),
        angles=np.full(count, -1, dtype=np.float32),
        image_size=(100, 100),
        extractor="mine",
    )


SHIFT = np.array([[1.0, 0, 10], [0, 1, 0], [0, 0, 1]])


def test_true_pairs_are_told_by_places_alone() -> None:
    first = features([[5, 5], [20, 20], [50, 50]], np.eye(3))
    second = features([[60.5, 50], [15, 6], [33, 20], [30, 20]], np.zeros((4, 3)))
    here, there = true_pairs(first, second, SHIFT)
    assert here.tolist() == [0, 1, 2]
    assert there.tolist() == [1, 3, 0]
    assert len(true_pairs(features(np.zeros((0, 2)), np.zeros((0, 3))), second, SHIFT)[0]) == 0


def test_a_pair_is_measured_against_words_and_others() -> None:
    words = Dictionary.from_words(
        np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32), extractor="mine"
    )
    first = features([[5, 5], [20, 20]], [[0.1, 0], [0.6, 0.9]])
    second = features([[15, 5], [30, 20]], [[0.3, 0], [0.4, 0.9]])
    record = pair_record(first, second, SHIFT, words)
    assert record["pairs"] == 2
    assert record["raw"] == 2
    assert record["same"]["4"] == 1  # the second way crosses a border
    assert record["way"] == pytest.approx([0.2, 0.2], abs=1e-4)
    assert record["border"] == pytest.approx([0.4, 0.1], abs=1e-4)
    assert record["error"] == pytest.approx([0.1, np.hypot(0.4, 0.1)], abs=1e-4)


def test_whitening_makes_all_directions_equal_and_the_discriminant_those_of_matches() -> None:
    random = np.random.default_rng(0)
    rows = (random.normal(size=(5000, 3)) * [5, 1, 0.2]).astype(np.float32)
    flat = rows @ projection("whitening", rows, (rows, rows))
    np.testing.assert_allclose(np.cov(flat.T), np.eye(3), atol=0.2)
    moved = (rows + random.normal(size=rows.shape) * [4, 0.1, 0.1]).astype(np.float32)
    kept = projection("discriminant", rows, (rows, moved))
    np.testing.assert_allclose(np.cov((rows @ kept - moved @ kept).T), np.eye(3), atol=0.4)
    best = np.abs(kept[:, 0])
    assert best.argmax() == 1  # wide, and matches hardly differ there


def test_a_projection_mends_words_that_noise_had_torn_apart() -> None:
    random = np.random.default_rng(1)

    def pairs(count: int) -> tuple[Any, Any]:
        kind = random.normal(size=(count, 4)).astype(np.float32)
        parts = [
            np.concatenate([kind, random.normal(size=(count, 4)) * 2], axis=1) for _ in range(2)
        ]
        return parts[0].astype(np.float32), parts[1].astype(np.float32)

    learned, asked = pairs(3000), pairs(400)
    rates = {
        (one["projection"], one["columns"]): one["same"] / one["pairs"]
        for one in projected_rates(learned[0], learned, [asked])
    }
    assert rates["discriminant", 8] > rates["none", 8] + 0.05
    assert rates["discriminant", 4] >= rates["discriminant", 8]


def test_a_plane_in_ten_dimensions_has_two() -> None:
    random = np.random.default_rng(2)
    plane = random.normal(size=(3000, 2)) @ random.normal(size=(2, 10))
    assert 1.6 < intrinsic_dimension(plane.astype(np.float32)) < 2.5


def test_words_in_use_count_by_entropy() -> None:
    words = Dictionary.from_words(np.eye(4, dtype=np.float32), extractor="mine")
    rows = np.eye(4, dtype=np.float32)
    assert words_in_use(words, rows) == pytest.approx(1.0)
    assert words_in_use(words, rows[[0, 0, 0]]) == pytest.approx(0.25)


def test_k_means_moves_words_to_their_rows() -> None:
    random = np.random.default_rng(3)
    rows = np.concatenate([random.normal(i * 10, 0.1, (50, 2)) for i in range(3)])
    words = clustered(rows.astype(np.float32), 3, seed=4)
    assert len(set(nearest(rows.astype(np.float32), words).tolist())) <= 3
    assert np.isfinite(words).all()


def test_a_warped_picture_says_where_everything_went() -> None:
    picture = photograph()[:200, :200]
    first, matrix = warped(picture, 7)
    again, _ = warped(picture, 7)
    assert np.array_equal(first, again)
    assert matrix.shape == (3, 3)
    assert first.shape == picture.shape


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small random network, and words of its features."""
    folder = tmp_path_factory.mktemp("network")
    weights = save_weights(folder / "w.safetensors", edgepoint2_weights(0))
    assert sfumato("extractor", "export", weights, "-o", folder / "net.onnx") == 0
    words = np.random.default_rng(0).normal(size=(1024, 32)).astype(np.float32)
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    Dictionary.from_words(words, extractor="edgepoint2-t32").save(folder / "words")
    return folder / "net.onnx", folder / "words"


def test_a_small_run_prints_every_table_and_goes_on_where_it_stopped(
    network: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = network
    write_sequence(tmp_path / "sequences" / "v_one", layout="hpatches")
    (tmp_path / "public").mkdir()
    for number in range(3):
        part = photograph()[60 * number :][:240, :320]
        Image.fromarray(part).save(tmp_path / "public" / f"{number}.png")
    given = [
        "experiment", "extractors", "--data", write_scene(tmp_path / "wall"), "--extractor",
        f"sift,{path}", "--dictionary", f"bsds-16k,{words}", "--epsilon", "12", "--seeds", 1,
        "--max-keypoints", 300, "--sequences", tmp_path / "sequences", "--public",
        tmp_path / "public", "--public-pictures", 3, "-o", tmp_path / "out",
    ]  # fmt: skip
    assert sfumato(*given) == 0
    shown = capsys.readouterr().out
    for said in ("localized within", "words", "projections", "lifts", "edgepoint2-t32", "raw"):
        assert said in shown
    assert "vertex attack needs whole numbers" in " ".join(shown.split())
    before = (tmp_path / "out" / "outcomes.jsonl").read_bytes()
    assert sfumato(*given) == 0
    assert capsys.readouterr().out == shown
    assert (tmp_path / "out" / "outcomes.jsonl").read_bytes() == before
    assert sfumato("experiment", "extractors", "--evaluate", tmp_path / "out", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert {row["extractor"] for row in facts["localization"]} == {"sift", "edgepoint2-t32"}
    assert [row["extractor"] for row in facts["words"]] == ["sift", "edgepoint2-t32"]


def test_every_extractor_needs_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato("experiment", "extractors", "--extractor", "sift,vgg") == 2
    assert "every extractor has words of its own" in capsys.readouterr().err
