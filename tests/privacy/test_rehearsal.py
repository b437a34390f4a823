"""What a rehearsal sends is what a device would, and it never asks an image about itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.datasets import GallerySettings, Scene, load_gallery, map_scene
from sfumato.device.objects import most_in_window
from sfumato.dictionary import Dictionary
from sfumato.privacy.photos import MapPhotos
from sfumato.privacy.plan import plan
from sfumato.privacy.rehearsal import Question, Rehearsal, Setting, image_features, without_box
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room

WORLD = make_map(make_room(1500), MAPPING_POSES[:8])
ALL = Setting(0, DICTIONARY.num_words, 1, 10_000)


def rehearsal_of(question: Question | None = None) -> Rehearsal:
    return Rehearsal(WORLD, [DICTIONARY], question or Question(), 8, SeededRandom(6))


def test_an_image_is_found_in_the_rest_of_the_map_at_a_large_epsilon_only() -> None:
    rehearsal = rehearsal_of()
    assert rehearsal.run(ALL, 12.0, rehearsal.images[0]).is_localized
    assert not rehearsal.run(ALL, 0.5, rehearsal.images[0]).is_localized


def test_an_image_is_never_asked_about_itself() -> None:
    # With all other views left out nothing of the map remains, so nothing can be found.
    rehearsal = rehearsal_of(Question(degrees=180.0))
    trials = [rehearsal.run(ALL, 14.0, image) for image in rehearsal.images]
    alone = [len(rehearsal._left_out(image)) for image in rehearsal.images]
    assert min(alone) == WORLD.num_images - 1
    assert not any(trial.is_localized for trial in trials)


def test_the_true_words_are_those_of_the_keypoints_that_are_sent() -> None:
    rehearsal = rehearsal_of(Question(hidden=0.3))
    for keep_by in ("strength", "spread"):
        setting = Setting(0, DICTIONARY.num_words, 1, 100, keep_by)
        sent = rehearsal._sent(setting, 0, rehearsal.rng)
        every = rehearsal.features(0)
        rows = (len(every) - sent.scores).astype(int)
        assert len(sent) == 100
        assert (every.descriptors[rows] == sent.descriptors).all()


def test_what_is_hidden_lies_together_and_is_the_share_asked_for() -> None:
    features = image_features(WORLD, 0)
    left = without_box(features, 0.3, rng=SeededRandom(4))
    gone = {tuple(point) for point in features.keypoints} - {tuple(p) for p in left.keypoints}
    assert len(features) - len(left) == int(0.3 * len(features))
    low, high = np.min([*gone], axis=0), np.max([*gone], axis=0)
    inside = ((left.keypoints > low) & (left.keypoints < high)).all(axis=1)
    assert inside.mean() < 0.1
    assert without_box(features, 0.0, rng=SeededRandom(4)) == features
    assert len(without_box(features.take(np.arange(0)), 0.9, rng=SeededRandom(4))) == 0


@pytest.fixture(scope="module")
def room() -> Scene:
    return load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=1))


def pictures(room: Scene) -> dict[str, NDArray[np.uint8]]:
    return {view.name: view.image for view in room.mapping}


def test_with_photographs_objects_are_counted_and_a_limit_is_a_promise(room: Scene) -> None:
    words = Dictionary.load("bsds-16k")
    question = Question(object_size=(30.0, 30.0))
    rehearsal = Rehearsal(
        map_scene(room), [words], question, 4, SeededRandom(1), photos=pictures(room)
    )
    free = Setting(0, 16_384, 1, 1000)
    seen = rehearsal.price(free, 6.0).seen_by
    counted = [most_in_window(rehearsal.features(i), (30.0, 30.0)) for i in rehearsal.images]
    assert seen == max(counted)
    limited = Setting(0, 16_384, 1, 1000, object_limit=5)
    assert rehearsal.price(limited, 6.0).seen_by == 5
    for image in rehearsal.images:
        sent = rehearsal._sent(limited, image, rehearsal.rng)
        assert 0 < most_in_window(sent, (30.0, 30.0)) <= 5
    with pytest.raises(Mismatch, match="the extractor of its photographs 'rootsift'"):
        plan(map_scene(room), words, photos=pictures(room), extractor="rootsift")
    kept = Setting(0, 16_384, 1, 50, "stable")
    stable = rehearsal._sent(kept, rehearsal.images[0], rehearsal.rng)
    assert len(stable) == 50


def test_other_photographs_than_the_maps_are_refused(room: Scene, tmp_path: Path) -> None:
    world = map_scene(room)
    names = list(pictures(room))
    wrong = dict(zip(names, reversed(list(pictures(room).values())), strict=True))
    words = Dictionary.load("bsds-16k")
    rehearsal = Rehearsal(world, [words], Question(), 2, SeededRandom(1), photos=wrong)
    with pytest.raises(Mismatch, match="other keypoints than the map"):
        rehearsal.features(0)
    (tmp_path / names[0]).parent.mkdir()
    Image.fromarray(room.mapping[0].image).save(tmp_path / names[0], format="PNG")
    found = MapPhotos(tmp_path, tuple(names))
    assert (found[names[0]] == room.mapping[0].image).all()
    assert list(found) == names
    assert len(found) == 8
    with pytest.raises(InvalidInput, match="no photograph of that name"):
        found[names[1]]
