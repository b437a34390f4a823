"""What a device would send of a photograph, and what of it stays: the release, and a preview."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.defaults import DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.detectors.regions import touches
from sfumato.device.explain import Observed, explain, explanation_text, objects_text
from sfumato.device.filters import Suppress
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import Pipeline, select
from sfumato.dictionary import Dictionary
from sfumato.pages.photo_result import Send, Sent
from sfumato.privacy.known_truth import draw_words

_KEPT, _DROPPED, _DECOY = (64, 224, 208), (255, 92, 60), (255, 214, 64)


def by_default(dictionary: Dictionary) -> Send:
    """What a device does that is told nothing but ε: all keypoints, words as ε has it."""

    def send(epsilon: float) -> tuple[Pipeline, Observed]:
        level = dictionary.at_epsilon(epsilon, DEFAULT_SUBSET_SIZE)
        mechanism = SubsetMechanism(epsilon, DEFAULT_SUBSET_SIZE, level)
        return Pipeline(mechanism, extractor=dictionary.extractor), Observed()

    return send


def send_photo(
    picture: NDArray[np.uint8], features: Features, send: Send, epsilon: float, seed: int
) -> Sent | None:
    """The release at one ε, drawn with a seed; None where no keypoint is left to send.

    features  all of the picture: what the pipeline's extractor finds, found once for every ε
    """
    pipeline, observed = send(epsilon)
    mechanism = pipeline.mechanism
    if not isinstance(mechanism, SubsetMechanism) or pipeline.extractor_name != features.extractor:
        raise InvalidInput(
            f"a photograph is sent as words of {features.extractor}, got {mechanism!r} with "
            f"{pipeline.extractor_name}."
        )
    known = replace(pipeline, extractor=_Extracted(features))
    chosen = select(picture, known, rng=SeededRandom(seed))
    if not len(chosen):
        return None
    release, truth, _ = draw_words(chosen, mechanism, seed)
    event = mechanism.event(chosen)
    facts = explain(
        release, event, mechanism.keep_probability, observed.most_seen_by, observed.found
    )
    margins = [one.margin for one in pipeline.filters if isinstance(one, Suppress)]
    hidden = (observed.hidden[0], margins[0]) if observed.hidden else None
    text = explanation_text(facts) if observed.most_seen_by is not None else objects_text(facts)
    objects = tuple(f"{name}: {text[name]}" for name in text if "object" in name)
    return Sent(mechanism, chosen, release, truth, event, facts, hidden, objects)


@dataclass(frozen=True, eq=False)
class _Extracted:
    """Features of one picture as its extractor."""

    features: Features

    @property
    def name(self) -> str:
        return self.features.extractor

    def __call__(self, picture: NDArray[np.uint8]) -> Features:
        return self.features


def own_keypoints(every: Features, sent: Features) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of all keypoints are sent, and which of those sent are the photograph's own.

    The others are decoys: they are on no list of what was found.
    """
    found, chosen = _names(every), _names(sent)
    all_found, all_chosen = set(found), set(chosen)
    kept = [name in all_chosen for name in found]
    own = [name in all_found for name in chosen]
    return np.array(kept, dtype=np.bool_), np.array(own, dtype=np.bool_)


def _names(features: Features) -> list[bytes]:
    columns = (features.keypoints, features.scales[:, None], features.angles[:, None])
    return [row.tobytes() for row in np.hstack(columns)]


def preview(small: NDArray[np.uint8], every: Features, sent: Sent) -> NDArray[np.uint8]:
    """The photograph with what is hidden shaded, and with every keypoint: sent, dropped, decoy."""
    import cv2

    if sent.hidden is None:
        raise InvalidInput("a preview shows what suppression hides, and nothing is suppressed.")
    hidden, margin = sent.hidden
    height, width = small.shape[:2]
    scale = np.array([width, height]) / every.image_size
    y, x = np.indices((height, width)).reshape(2, -1)
    places = (np.column_stack([x, y]) + 0.5) / scale - 0.5
    shade = np.zeros(height * width, dtype=np.bool_)
    for boxes in hidden.regions:
        shade |= touches(boxes, places, margin=margin)
    canvas = small.astype(np.float32)
    canvas[shade.reshape(height, width)] *= 0.3
    drawn = np.ascontiguousarray(canvas.astype(np.uint8))
    kept, own = own_keypoints(every, sent.features)
    for points, colour in (
        (every.keypoints[~kept], _DROPPED),
        (every.keypoints[kept], _KEPT),
        (sent.features.keypoints[~own], _DECOY),
    ):
        for place in ((points + 0.5) * scale - 0.5) * 16:
            centre = tuple(int(v) for v in np.rint(place))
            cv2.circle(drawn, centre, 28, colour, -1, cv2.LINE_AA, 4)
    return drawn
