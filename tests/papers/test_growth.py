"""A map that grows by photographs, and what the same queries find in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data

from server.mapping.worlds import write_scene
from sfumato.core.types import Features
from sfumato_papers.ldp_feat.poses import Within
from sfumato_papers.ours.growth import JOURNAL, Outcome, Settings, report, rows, run_growth
from sfumato_papers.ours.growth_map import grown_map
from synthetic import MAPPING_POSES, make_map, make_room

WORLD = make_map(make_room(), MAPPING_POSES)


def photograph(count: int = 40) -> Features:
    generator = np.random.default_rng(0)
    return Features(
        keypoints=(generator.random((count, 2)) * (300, 200)).astype(np.float32),
        descriptors=generator.integers(0, 256, WORLD.descriptors[:count].shape).astype(
            WORLD.descriptors.dtype
        ),
        scores=np.ones(count, dtype=np.float32),
        scales=np.ones(count, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=(300, 200),
        extractor=WORLD.extractor,
    )


def test_photographs_stand_beside_the_map_until_it_is_large_enough() -> None:
    grown = grown_map(WORLD, [photograph()], 2)
    assert grown.num_observations == 2 * WORLD.num_observations
    assert np.array_equal(grown.points[: len(WORLD.points)], WORLD.points)
    first = WORLD.num_images
    for image in (first, first + 1):  # every point is seen where its keypoint lies
        features = grown.features_of(image)
        seen = grown.pose(image).apply(grown.points[grown.point_of_feature[features]])
        fx, fy, cx, cy = grown.camera(image).params
        pixels = seen[:, :2] / seen[:, 2:] * (fx, fy) + (cx - 0.5, cy - 0.5)
        assert pixels == pytest.approx(grown.keypoints[features], abs=1e-3)
        assert (seen[:, 2] > 0).all()
    mirrored = 299 - grown.keypoints[grown.features_of(first + 1)][:, 0]
    assert mirrored == pytest.approx(grown.keypoints[grown.features_of(first)][:, 0], abs=1e-3)
    assert grown_map(WORLD, [photograph()], 1) is WORLD


def test_the_same_queries_are_asked_in_every_map(tmp_path: Path) -> None:
    scene = write_scene(tmp_path / "scene", num_images=7)
    photos = tmp_path / "photos"
    photos.mkdir()
    picture = data.camera()  # type: ignore[no-untyped-call]
    Image.fromarray(picture[:200, :300]).save(photos / "a.png")
    settings = Settings(data=(scene,), photos=photos, epsilons=(12.0,), times=(1, 2), words=1024)
    path = tmp_path / "out" / "outcomes.jsonl"
    run_growth(settings, path)
    _, outcomes = JOURNAL.read(path)
    assert {one.times for one in outcomes} == {1, 2}
    before = path.read_bytes()
    run_growth(settings, path)
    assert path.read_bytes() == before
    told = report(path, settings, None)
    small, large = told.facts["rows"]
    assert large["observations"] == 2 * small["observations"]
    assert large["bytes"] < 100
    assert small["share"] > 0
    assert "not protected" in str(told.lines)


def test_a_pose_that_is_far_off_is_wrong_and_one_that_is_near_is_found() -> None:
    outcomes = [
        Outcome(1, 8.0, 0, "near", 0.1, 0.01, 1.0),
        Outcome(1, 8.0, 0, "inaccurate", 0.1, 0.2, 1.0),
        Outcome(1, 8.0, 0, "wrong", 0.3, 9.0, 1.0),
        Outcome(1, 8.0, 0, "none", 0.1),
    ]
    maps = [{"times": 1, "images": 2, "observations": 10, "bytes": {"points": 240, "words": 40}}]
    [row] = rows(outcomes, maps, Within(0.05, 5.0))
    assert (row["share"], row["wrong"], row["bytes"]) == (0.25, 1, 28)
    assert row["median_seconds"] == 0.1
