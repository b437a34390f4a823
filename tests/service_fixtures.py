"""One small stored map for all tests of the service, and services around it."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import QUERY, ROOM, Serve, Served, World
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import PlainRelease
from sfumato.device.mechanisms import SubsetMechanism
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    path = tmp_path_factory.mktemp("service")
    make_map(ROOM, MAPPING_POSES[:6]).save(path / "map")
    DICTIONARY.with_levels((64,)).save(path / "words")
    features, _ = ROOM.look(QUERY, seed=0)
    release = SubsetMechanism(7.0, 1, DICTIONARY).release(
        features, rng=SecureRandom(), camera=CAMERA
    )
    plain = PlainRelease(
        keypoints=features.keypoints,
        descriptors=features.descriptors,
        image_size=features.image_size,
        extractor="tiny",
        camera=CAMERA,
    )
    return World(path / "map", path / "words", release.to_bytes(), plain.to_bytes())


@pytest.fixture
def serve(world: World, tmp_path: Path) -> Iterator[Serve]:
    made = Serve(world, tmp_path / "store")
    yield made
    made.close()


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


@pytest.fixture
def undisturbed() -> Iterator[None]:
    """`serve` takes over signals and loggers of its process; give them back."""
    names = ("sfumato.service", "uvicorn", "uvicorn.error")
    before = signal.getsignal(signal.SIGTERM)
    loggers = [(logging.getLogger(name), logging.getLogger(name).handlers) for name in names]
    yield
    signal.signal(signal.SIGTERM, before)
    for logger, handlers in loggers:
        logger.handlers = handlers
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
