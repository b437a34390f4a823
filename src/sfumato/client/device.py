"""The device's half of a question: what it lets out, and the one drawing of a release."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.client.answers import Advice
from sfumato.client.pins import family_of, fingerprints_of
from sfumato.client.release_cost import release_cost
from sfumato.core.accounting import DELTA
from sfumato.core.checks import as_number, check_count, check_epsilon
from sfumato.core.defaults import DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput, Mismatch, NotPrivate
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import KeypointRelease, Release, WordRelease
from sfumato.core.storage import NewFile
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.device.explain import short
from sfumato.device.ledger import Ledger
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import (
    Filter,
    PictureFilter,
    Pipeline,
    keep_release,
    release_size,
    select,
    select_features,
    send,
)
from sfumato.dictionary import Dictionary
from sfumato.features import Extractor

#: A picture, or what was found in it before.
Image = NDArray[Any] | str | os.PathLike[str] | Features


@dataclass(frozen=True)
class Limits:
    """What a client lets out, whatever a server recommends.

    max_epsilon  the most ε per descriptor; with a limit nothing leaves without a guarantee.
                 None: no limit
    min_words    the smallest |K|
    max_exact    the most a picture may cost by exact composition: E at δ = 10⁻⁶. None: no limit
    """

    max_epsilon: float | None = None
    min_words: int = 1024
    max_exact: float | None = None

    def __post_init__(self) -> None:
        if self.max_epsilon is not None:
            check_epsilon(self.max_epsilon)
        if self.max_exact is not None and not as_number("max_exact", self.max_exact) > 0:
            raise InvalidInput(f"max_exact must be above 0, got {self.max_exact!r}.")
        check_count("min_words", self.min_words, low=2)

    def check(self, epsilon: float | None, num_words: int | None) -> None:
        """Refuse a release with this ε per descriptor (None: it has no guarantee) and |K|."""
        if self.max_epsilon is not None and (epsilon is None or epsilon > self.max_epsilon):
            bare = epsilon is None or epsilon == float("inf")
            what = "no guarantee" if bare else f"ε = {epsilon:g} per descriptor"
            raise NotPrivate(
                f"this client lets out at most ε = {self.max_epsilon:g} per descriptor, the "
                f"release has {what}; nothing was sent."
            )
        if num_words is not None and num_words < self.min_words:
            raise NotPrivate(
                f"this client uses dictionaries of at least {self.min_words:,} words, this one "
                f"has {num_words:,}; nothing was sent."
            )

    def check_picture(self, event: PrivacyEvent) -> None:
        """Refuse a picture that would cost more than E, or has no guarantee."""
        if self.max_exact is None:
            return
        composition = event.composition if event.is_private else None
        cost = math.inf if composition is None else composition.epsilon()
        if cost > self.max_exact:
            what = "no guarantee" if math.isinf(cost) else f"E = {short(cost)}"
            raise NotPrivate(
                f"this client lets out at most E = {self.max_exact:g} per picture at δ = "
                f"{DELTA:g}, this one has {what}; nothing was sent. Send fewer keypoints, or a "
                "smaller ε per descriptor."
            )


@dataclass(frozen=True)
class Recipe:
    """How pictures are protected; what is None was left open and may follow a plan."""

    epsilon: float
    subset_size: int | None = None
    num_words: int | None = None
    max_keypoints: int | None = None
    filters: tuple[Filter | PictureFilter, ...] = ()
    extractor: str | Extractor | None = None

    def words_of(self, dictionary: Dictionary) -> Dictionary:
        """The level that is sent: the one chosen, else by ε."""
        size = DEFAULT_SUBSET_SIZE if self.subset_size is None else self.subset_size
        if self.num_words is None:
            return dictionary.at_epsilon(self.epsilon, size)
        return dictionary.at(self.num_words)

    def pipeline(self, dictionary: Dictionary) -> Pipeline:
        size = DEFAULT_SUBSET_SIZE if self.subset_size is None else self.subset_size
        words = self.words_of(dictionary)
        return Pipeline(
            SubsetMechanism(self.epsilon, size, words),
            extractor=self.extractor or words.extractor,
            filters=self.filters,
            max_keypoints=self.max_keypoints,
        )


def follow(
    recipe: Recipe, advice: Advice, limits: Limits, dictionary: Dictionary
) -> tuple[Recipe, list[str]]:
    """The recipe with a server's advice taken, and what changed, in words.

    Advice beyond a limit is refused as a whole. What the client chose itself stays.
    """
    if advice.epsilon > recipe.epsilon:
        raise NotPrivate(
            f"the server recommends ε = {advice.epsilon:g} per descriptor, this client was given "
            f"{recipe.epsilon:g}; its plan is not taken."
        )
    limits.check(advice.epsilon, advice.num_words)
    if advice.dictionary not in family_of(dictionary):
        raise Mismatch(
            f"the server's plan is for the words {advice.dictionary[:16]}…, this client's are "
            f"{dictionary.fingerprint[:16]}…; it is not taken."
        )
    said: list[str] = []
    taken = recipe
    if advice.epsilon < recipe.epsilon:
        taken = replace(taken, epsilon=advice.epsilon)
        said.append(f"ε = {advice.epsilon:g} per descriptor instead of {recipe.epsilon:g}")
    own = recipe.words_of(dictionary).num_words
    if recipe.num_words is None and advice.num_words != own:
        dictionary.at(advice.num_words)  # says which levels there are, if not this one
        said.append(f"{advice.num_words:,} words instead of {own:,}")
    if recipe.num_words is None:
        taken = replace(taken, num_words=advice.num_words)
    if recipe.subset_size is None and advice.subset_size != DEFAULT_SUBSET_SIZE:
        taken = replace(taken, subset_size=advice.subset_size)
        said.append(f"ω = {advice.subset_size} words per keypoint instead of {DEFAULT_SUBSET_SIZE}")
    most = recipe.max_keypoints
    if advice.max_keypoints is not None and (most is None or advice.max_keypoints < most):
        taken = replace(taken, max_keypoints=advice.max_keypoints)
        said.append(f"the {advice.max_keypoints:,} strongest keypoints")
    return taken, said


@dataclass(frozen=True)
class Prepared:
    """A release that was drawn and charged. Send it as often as needed; it costs nothing more.

    path  the file that keeps it until it is answered; None where it is in memory only
    """

    release: KeypointRelease
    data: bytes = field(repr=False)
    path: Path | None = None

    @property
    def cost(self) -> dict[str, Any]:
        """What it cost, as `explain` says it: N·ε and E of the picture, the advantage for a small
        object in it, and what is not protected."""
        return release_cost(self.release)[1]


def draw(
    image: Image,
    camera: Camera,
    pipeline: Pipeline,
    *,
    limits: Limits,
    ledger: Ledger | None,
    file: NewFile | None,
    name: Callable[[bytes], str | None],
) -> Prepared | None:
    """Extract, check, charge, draw once, keep. None where a picture has nothing to send.

    file  where the release will be kept, under the name that `name` gives to its bytes
    """
    rng = SecureRandom()
    if isinstance(image, Features):
        features = select_features(image, pipeline, rng=rng)
    else:
        features = select(image, pipeline, rng=rng)
    if not len(features):
        return None
    # All that could be refused later is refused here, before it costs anything.
    if (camera.width, camera.height) != features.image_size:
        raise InvalidInput(
            f"the camera is {camera.width}×{camera.height} but the picture is "
            f"{features.image_size[0]}×{features.image_size[1]}; scale the intrinsics with it."
        )
    event = pipeline.mechanism.event(features)
    dictionary = getattr(pipeline.mechanism, "dictionary", None)
    limits.check(event.epsilon, None if dictionary is None else dictionary.num_words)
    limits.check_picture(event)
    if file is not None:
        file.reserve(release_size(features, pipeline.mechanism))
    release = send(features, pipeline.mechanism, rng=rng, ledger=ledger, camera=camera)
    leaving = check_leaving(release, limits, dictionary)
    data = leaving.to_bytes()
    path = None if file is None else keep_release(file, data, name=name(data))
    return Prepared(leaving, data, path)


def check_leaving(
    release: Release, limits: Limits, dictionary: Dictionary | None
) -> KeypointRelease:
    """The last look at a release before it leaves, wherever it came from."""
    if release.reproducible:
        raise NotPrivate(
            "this release was made with a known seed, which undoes its noise; it is not sent. "
            "Make one without a seed."
        )
    if not isinstance(release, KeypointRelease):
        raise InvalidInput(f"a release of {release.kind} cannot be localized; it was not sent.")
    if release.camera is None:
        raise InvalidInput(
            "a pose needs the camera's intrinsics and the release carries none; protect with a "
            "camera. Nothing was sent."
        )
    if not len(release):
        raise InvalidInput("the release has no keypoints; there is nothing to ask with it.")
    limits.check_picture(release_cost(release)[0])
    if not isinstance(release, WordRelease):
        limits.check(getattr(release, "epsilon", None), None)
        return release
    limits.check(release.epsilon, release.num_words)
    if dictionary is not None and release.dictionary not in fingerprints_of(dictionary):
        raise Mismatch(
            f"the release has words of {release.dictionary[:16]}…, this client pinned "
            f"{dictionary.fingerprint[:16]}…; it was not sent."
        )
    return release
