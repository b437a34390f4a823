"""One photograph as a device would send it, and what a curious server paints from that.

Device and adversary meet here; only a release, and the public knowledge that a row names, pass
between them. Every draw comes from a known seed: for showing, not for sending.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import ENCODERS
from sfumato.adversary.invert.model_card import read_card
from sfumato.adversary.invert.networks import SHIPPED, find_network, has_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.features.extractors import find_extractor
from sfumato.features.image import MAX_SIFT_PIXELS, check_image, load_image
from sfumato.pages.photo_people import Lookout
from sfumato.pages.photo_result import (
    SMALLEST,
    NetworkFacts,
    PhotoResult,
    PhotoSettings,
    Send,
    Sent,
    Words,
)
from sfumato.pages.photo_rows import Attacker
from sfumato.pages.photo_sending import by_default, own_keypoints, preview, send_photo
from sfumato.privacy.known_truth import NUM_SUB_DATABASES

_LIFTING_WORDS = 16_384  # subspaces pass through words; more of them only take time


def run_photo(
    photo: str | os.PathLike[str] | NDArray[Any],
    settings: PhotoSettings | None = None,
    *,
    send: Send | None = None,
    networks: str | Path | None = None,
    dictionary: Dictionary | None = None,
    public: Dictionary | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> PhotoResult:
    """Send a photograph raw, as words and lifted; attack each, paint it, and measure.

    send        what a device does at each ε; None: all keypoints, as many words as suit ε
    networks    folder of further networks, see `networks.py`; the shipped ones are used where it
                has none
    dictionary  public words, of the LDP releases and for lifting; without `public` the lifting is
                given one half of them and the attacker, as other public descriptors, the other
    public      what the attacker has of descriptors, instead of that half
    threads     of onnxruntime; None leaves its choice

    A mechanism that the extractor has no words for is left out, and the result says so.
    """
    settings = settings or PhotoSettings()
    spec = find_extractor(settings.extractor)
    for dimension in settings.dimensions:
        check_count("dimension", dimension, low=2, high=spec.dimension - 1)
    if isinstance(photo, np.ndarray):
        given = check_image(photo)
    else:
        given = load_image(photo, max_pixels=MAX_SIFT_PIXELS)
    small = shrink(given, settings.max_side)
    painters = _open_networks(settings.extractor, networks, threads)
    features = extract(given, settings.extractor)
    words, left_out = _words(settings, dictionary, public)
    sent: list[Sent] = []
    if words is not None and not len(features):
        left_out.append("lifting and words: the photograph has no keypoints to send")
    elif words is not None:
        device = send or by_default(words.dictionary)
        made = [
            send_photo(given, features, device, epsilon, settings.seed)
            for epsilon in settings.epsilons
        ]
        sent = [one for one in made if one is not None]
        if len(sent) < len(made):
            left_out.append("words: of what was selected nothing is left to send")
    lookout = Lookout(given, small)
    attacker = Attacker(small, features, settings, painters, lookout, progress)
    rows = attacker.run(words, sent)
    return PhotoResult(
        settings=settings,
        photo=small,
        original_size=(given.shape[1], given.shape[0]),
        features=features,
        sent=tuple(sent),
        preview=preview(small, features, sent[0]) if sent and sent[0].hidden else None,
        people=lookout.people(_own_positions(features, sent)),
        rows=rows,
        baselines=attacker.baselines(),
        networks=tuple(_facts(painter) for painter in dict.fromkeys(painters.values())),
        words=words,
        left_out=(*left_out, *attacker.left_out),
    )


def _own_positions(every: Features, sent: list[Sent]) -> NDArray[Any]:
    """Where the photograph's own keypoints are that leave the device: no decoys."""
    if not sent:
        return every.keypoints
    return every.keypoints[own_keypoints(every, sent[0].features)[0]]


def shrink(image: NDArray[np.uint8], max_side: int) -> NDArray[np.uint8]:
    """The picture with its longer side at most `max_side`; smaller ones stay as they are."""
    if min(image.shape[:2]) < SMALLEST:
        raise InvalidInput(
            f"a photograph must be at least {SMALLEST}×{SMALLEST} pixels, got "
            f"{image.shape[1]}×{image.shape[0]}; give a larger one."
        )
    factor = max_side / max(image.shape[:2])
    if factor >= 1:
        return image
    height, width = (max(SMALLEST, round(side * factor)) for side in image.shape[:2])
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8)


def _open_networks(
    extractor: str, folder: str | Path | None, threads: int | None
) -> dict[str, Inverter]:
    """The network for raw descriptors, which must be there, and those of other kinds that are."""
    inverters = {
        kind: Inverter(find_network(extractor, kind, folder), threads=threads)
        for kind in ENCODERS
        if kind == "raw" or has_network(extractor, kind, folder)
    }
    for kind, inverter in inverters.items():
        trained_for = (inverter.architecture.extractor, inverter.architecture.kind)
        if trained_for != (extractor, kind):
            raise InvalidInput(
                f"{inverter.path} must be a network for {extractor} {kind}, it is one for "
                f"{' '.join(trained_for)}; name it after what it is."
            )
    if inverters["raw"].reads_words:
        inverters.setdefault("words", inverters["raw"])  # one network learned to read both
    return inverters


def _words(
    settings: PhotoSettings, dictionary: Dictionary | None, public: Dictionary | None
) -> tuple[Words | None, list[str]]:
    """Who knows which descriptors, or why lifting and words are left out."""
    if dictionary is None or dictionary.extractor != settings.extractor:
        has = (
            "none is given" if dictionary is None else f"the one given holds {dictionary.extractor}"
        )
        return None, [
            f"lifting and words: they need a dictionary of {settings.extractor} words, {has}"
        ]
    if public is not None and public.extractor != settings.extractor:
        raise InvalidInput(
            f"public descriptors must be of {settings.extractor}, these are of {public.extractor}; "
            "give others."
        )
    level = dictionary.at(_LIFTING_WORDS) if _LIFTING_WORDS in dictionary.levels else dictionary
    own = level.words if public is not None else level.words[::2]
    others = public.words if public is not None else level.words[1::2]
    count = len(own) // NUM_SUB_DATABASES * NUM_SUB_DATABASES
    needed = NUM_SUB_DATABASES * max((m // 2 for m in settings.dimensions), default=0)
    lifting, left_out = None, []
    if dictionary.metric != "l2":
        left_out = [f"lifting: it needs real-valued descriptors, {settings.extractor} gives bits"]
    elif count < max(needed, NUM_SUB_DATABASES):
        left_out = [f"lifting: it needs {needed} words of its own, there are {len(own)}"]
    else:
        lifting = Dictionary.from_words(
            np.ascontiguousarray(own[:count]), extractor=settings.extractor, provenance="a part"
        )
    return Words(dictionary, lifting, np.ascontiguousarray(others), public is None), left_out


def _facts(inverter: Inverter) -> NetworkFacts:
    architecture = inverter.architecture
    return NetworkFacts(
        name=inverter.path.name,
        fingerprint=hashlib.sha256(inverter.path.read_bytes()).hexdigest(),
        kind=architecture.kind,
        reads_words=inverter.reads_words,
        extractor=architecture.extractor,
        width=architecture.width,
        frames=architecture.frames,
        step=inverter.step,
        shipped=inverter.path.parent == SHIPPED,
        card=read_card(inverter.path),
    )
