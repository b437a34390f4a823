"""What leaves the device, in bytes and in words a person understands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.core.accounting import DELTA, Composition, PrivateAnswer
from sfumato.core.releases import KeypointRelease, Release, SubspaceRelease, WordRelease
from sfumato.core.types import PrivacyEvent
from sfumato.device.objects import SeenObject

if TYPE_CHECKING:
    from sfumato.device.filters import Suppression

#: An object for which a guarantee is shown where nobody names one: about a small face.
SMALL_OBJECT = 10


@dataclass(frozen=True)
class Observed:
    """What filters saw in a picture, for the device's own eyes."""

    hidden: list[Suppression] = field(default_factory=list)
    seen_by: list[int] = field(default_factory=list)
    objects: list[Sequence[SeenObject]] = field(default_factory=list)

    @property
    def found(self) -> Sequence[SeenObject] | None:
        """The objects that were found; None where nobody asked for any."""
        return self.objects[0] if self.objects else None

    @property
    def most_seen_by(self) -> int | None:
        """How many descriptors see the object that one asked about."""
        return self.seen_by[0] if self.seen_by else None


def explain(
    release: Release,
    event: PrivacyEvent,
    keep_probability: float | None,
    seen_by: int | None = None,
    objects: Sequence[SeenObject] | None = None,
) -> dict[str, Any]:
    """Facts about one release, for people and for machines; never its content.

    seen_by  how many descriptors see the object that one asks about
    objects  that detectors found; where they are is told here, on the device, and nowhere else.
             None: nobody asked
    """
    size = len(release.to_bytes())
    facts: dict[str, Any] = {"mechanism": event.mechanism, "bytes": size}
    if isinstance(release, KeypointRelease):
        facts["keypoints"] = len(release)
        facts["bytes_per_keypoint"] = round(size / len(release), 2) if len(release) else None
    if isinstance(release, WordRelease):
        facts["words_per_keypoint"] = release.subset_size
        facts["dictionary_words"] = release.num_words
        facts["dictionary"] = release.dictionary
        facts["true_word_sent_probability"] = keep_probability
    if isinstance(release, SubspaceRelease):
        facts["subspace_dimension"] = release.dimension
        facts["ambient_dimension"] = int(release.offsets.shape[1])
    facts["unit"] = event.unit
    facts["epsilon_per_unit"] = event.epsilon
    facts["epsilon_per_picture"] = event.picture_epsilon
    facts["private"] = event.is_private
    if event.is_private:
        facts |= promise(event, seen_by)
    elif seen_by is not None:
        facts |= _object_promise(event, seen_by)
    if objects is not None:
        facts["objects"] = [_object_facts(event, one) for one in objects]
    facts["not_protected"] = list(event.not_protected)
    return facts


def promise(event: PrivacyEvent, seen_by: int | None = None) -> dict[str, Any]:
    """What a picture costs by exact composition, and what an object in it may give away."""
    composition = event.composition
    if composition is None:
        return {}
    picture = {"delta": DELTA, "exact_epsilon_per_picture": composition.epsilon()}
    return picture | _object_promise(event, SMALL_OBJECT if seen_by is None else seen_by)


def _object_promise(event: PrivacyEvent, count: int) -> dict[str, Any]:
    promised = _seen_by(event, count)
    return {
        "object_seen_by": promised.num_answers,
        "exact_epsilon_per_object": promised.epsilon(),
        "advantage_per_object": promised.advantage,
    }


def _seen_by(event: PrivacyEvent, count: int) -> Composition:
    """What so many descriptors of a release promise together; without a guarantee E is ∞."""
    answers = [PrivateAnswer(math.inf)] if event.composition is None else event.composition.answers
    return Composition({answer: min(count, event.num_units) for answer in answers})


def _object_facts(event: PrivacyEvent, one: SeenObject) -> dict[str, Any]:
    promised = _seen_by(event, one.seen_by)
    return {
        "what": one.what,
        "box": list(one.box),
        "seen_by": promised.num_answers,
        "exact_epsilon": promised.epsilon(),
        "advantage": promised.advantage,
        "told_to_the_server": False,
    }


def objects_text(facts: dict[str, Any]) -> dict[str, str]:
    """What each object gives away, in words; empty where nobody asked."""
    if facts.get("objects") == []:
        return {"objects": "none found; what a detector misses is not counted"}
    text = {}
    for number, one in enumerate(facts.get("objects", ()), start=1):
        left, top, right, bottom = one["box"]
        text[f"object {number}"] = (
            f"{one['what']}, {right - left:.0f} × {bottom - top:.0f} pixels at {left:.0f}, "
            f"{top:.0f} (the server is not told): seen by {one['seen_by']:,} descriptors; who "
            f"tells two contents of it apart {guess_sentence(one['advantage'])} "
            f"(E = {short(one['exact_epsilon'])})"
        )
    return text


def advantage_sentence(advantage: float) -> str:
    """What an advantage means for an object, in a sentence that a person understands."""
    return (
        "who tries to tell two contents of it apart, and knows everything else, "
        f"{guess_sentence(advantage)}"
    )


def guess_sentence(advantage: float) -> str:
    """How often a guess between two may be right."""
    right = math.ceil(50 + 50 * advantage - 1e-9)
    often = "every time" if right >= 100 else f"at most {right} times in 100"
    return f"may be right {often}, where guessing is right 50 times"


def promise_sentences(event: PrivacyEvent) -> str:
    """What a private release costs as a whole, and what an object in it may give away."""
    facts = promise(event)
    guess = advantage_sentence(facts["advantage_per_object"])
    return (
        f"Counted exactly, its {event.num_units:,} descriptors together cost "
        f"E = {short(facts['exact_epsilon_per_picture'])} per picture, an ε for all of them, "
        f"except with probability {facts['delta']:g}. About an object that "
        f"{facts['object_seen_by']} descriptors see, {guess}. Compared are contents with the same "
        "number of keypoints at the same positions."
    )


def short(value: float) -> str:
    """A number for people: three digits, or all digits before the point."""
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def explanation_text(facts: dict[str, Any]) -> dict[str, str]:
    """The same facts as sentences, keyed by what they answer."""
    text: dict[str, str] = {}
    per_keypoint = facts.get("bytes_per_keypoint")
    text["leaves the device"] = f"{facts['bytes']:,} bytes" + (
        f" for {facts['keypoints']:,} keypoints, {per_keypoint:g} each" if per_keypoint else ""
    )
    if "words_per_keypoint" in facts:
        many = facts["words_per_keypoint"] != 1
        text["each keypoint sends"] = (
            f"its position and {facts['words_per_keypoint']} word{'s' if many else ''} out of "
            f"{facts['dictionary_words']:,} public ones"
        )
        chance = facts["true_word_sent_probability"]
        if chance is not None and chance < 1:
            text["the true word is sent"] = f"with probability {chance:.3f}, never marked as such"
    if "subspace_dimension" in facts:
        text["each keypoint sends"] = (
            f"its position and a {facts['subspace_dimension']}-dimensional subspace of "
            f"{facts['ambient_dimension']} dimensions that its descriptor lies in"
        )
    if facts["mechanism"] == "plain":
        text["each keypoint sends"] = "its position and its descriptor, as it is"
    if facts["epsilon_per_unit"] is not None:
        text |= _guarantee_text(facts)
    else:
        bare = facts["mechanism"] in ("plain", "quantize")
        text["guarantee"] = "none: no noise is added, nothing is hidden" if bare else "none"
    text |= _object_text(facts) | objects_text(facts)
    text["not protected"] = ", ".join(facts["not_protected"])
    return text


def _guarantee_text(facts: dict[str, Any]) -> dict[str, str]:
    epsilon, total = facts["epsilon_per_unit"], facts["epsilon_per_picture"]
    odds = f"{math.exp(epsilon):,.0f}" if epsilon >= 2 else f"{math.exp(epsilon):.2f}"
    return {
        "guarantee": f"ε = {epsilon:g} for {facts['unit']}: whatever it was, any answer is at "
        f"most {odds} times as likely as for another one",
        "whole picture": f"E = {short(facts['exact_epsilon_per_picture'])}, the ε of all "
        f"descriptors together, except with probability {facts['delta']:g}; never more than "
        f"N·ε = {short(total)}",
    }


def _object_text(facts: dict[str, Any]) -> dict[str, str]:
    """What an object of which so much is known gives away; empty where nobody asked."""
    if "object_seen_by" not in facts:
        return {}
    return {
        "one object": f"seen by {facts['object_seen_by']:,} descriptors: "
        f"{advantage_sentence(facts['advantage_per_object'])} "
        f"(E = {short(facts['exact_epsilon_per_object'])})",
        "what is compared": "contents with the same number of keypoints at the same positions",
    }
