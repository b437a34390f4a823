"""Which keypoints of a picture are sent: how many, and nothing of what is to be hidden."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.cli.options import option
from sfumato.cli.own_code import load_ready
from sfumato.cli.values import names
from sfumato.core.errors import InvalidInput
from sfumato.detectors.find import counted
from sfumato.device.explain import Observed

if TYPE_CHECKING:
    from sfumato.detectors import Detector
    from sfumato.device.filters import Suppression
    from sfumato.device.mechanisms.base import Mechanism
    from sfumato.device.protect import Filter, PictureFilter, Pipeline
    from sfumato.dictionary import Dictionary
    from sfumato.features import Extractor


def parse_object(text: str) -> tuple[float, float]:
    """Width and height from "80x60"."""
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        raise InvalidInput(
            f"--object must be WIDTHxHEIGHT in pixels, such as 80x60, got {text!r}."
        ) from None
    return width, height


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The options of every command that protects a photograph."""

    rules: ClassVar = {
        "--keep-by": "--keep",
        "--object-limit": "--object",
        "--classes": "--detector",
        "--margin --reach --decoys": "--suppress --boxes --mask --detector",
        "--timeout": "--suppress --detector --object-detector",
    }

    keep: Annotated[int | None, option("Send N keypoints.", shown="all")] = None
    keep_by: Annotated[
        str,
        option(
            "Which N: by strength, spread (strongest of every part) or stable (seen again from "
            "elsewhere)."
        ),
    ] = "strength"
    constant_count: Annotated[
        int | None, option("Send exactly N keypoints, with decoys where too few.")
    ] = None
    object: Annotated[
        str | None,
        option("An object to say what it gives away: its size in pixels.", metavar="WIDTHxHEIGHT"),
    ] = None
    object_detector: Annotated[
        str | None,
        option(
            "Objects to say what each gives away: person, face, text, boxes as JSON, a YOLO file, "
            "or module:name of your own detector.",
            metavar="NAME",
        ),
    ] = None
    object_limit: Annotated[
        int | None,
        option("Let at most N descriptors see any such object.", metavar="N", shown="no limit"),
    ] = None
    suppress: Annotated[
        str | None, option("Send nothing around these: person, face, text.", metavar="NAME,…")
    ] = None
    boxes: Annotated[
        Path | None,
        option(
            "Send nothing in these boxes: JSON, [[left, top, right, bottom], …].", metavar="FILE"
        ),
    ] = None
    mask: Annotated[
        Path | None,
        option("Send nothing where this picture of the same size is not black.", metavar="IMAGE"),
    ] = None
    detector: Annotated[
        str | None,
        option(
            "Send nothing around what this finds: a YOLO file (v5, v8, v11 as ONNX), or "
            "module:name of your own detector.",
            metavar="FILE",
        ),
    ] = None
    classes: Annotated[
        str | None, option("Only these classes of a YOLO file.", metavar="NAME,…", shown="all")
    ] = None
    margin: Annotated[
        float, option("Added around what is hidden, as a share of its shorter side.")
    ] = 0.1
    reach: Annotated[
        float, option("Also drop keypoints that see inside from this many diameters; SIFT: 8.")
    ] = 0.0
    decoys: Annotated[bool, option("Fill the holes with decoys, so that they do not show.")] = False
    timeout: Annotated[float, option("Seconds a detector may take; then nothing is sent.")] = 60.0

    @property
    def needs_words(self) -> bool:
        """Decoys are drawn from public words."""
        return self.decoys or self.constant_count is not None

    @property
    def object_size(self) -> tuple[float, float] | None:
        """Width and height of the object one asks about."""
        return None if self.object is None else parse_object(self.object)

    def pipeline(
        self,
        mechanism: Mechanism,
        public: Dictionary,
        observed: Observed,
        extractor: str | Extractor | None = None,
    ) -> Pipeline:
        """What a device does with a picture by these options, before anything leaves."""
        from sfumato.device.protect import Pipeline

        filters = self.filters(public, observed, extractor)
        return Pipeline(mechanism, extractor=extractor or public.extractor, filters=filters)

    def filters(
        self,
        public: Dictionary | None,
        observed: Observed,
        extractor: str | Extractor | None = None,
    ) -> tuple[Filter | PictureFilter, ...]:
        """What these options ask for; what they see is told to `observed`."""
        return tuple(self._filters(public, observed, extractor))

    def _filters(
        self, public: Dictionary | None, observed: Observed, extractor: str | Extractor | None
    ) -> Iterator[Filter | PictureFilter]:
        from sfumato.device.filters import ConstantCount, Decoys, Suppress
        from sfumato.device.filters.keep import keep_filter
        from sfumato.device.objects import CapDensity, CountObjects, CountSeen

        if self.needs_words and public is None:
            raise InvalidInput("decoys are public words: --dictionary must be one that is here.")
        detectors = list(self._detectors())
        if detectors:
            yield Suppress(
                detectors,
                margin=self.margin,
                reach=self.reach,
                decoys=Decoys(public) if self.decoys and public else None,
                timeout=self.timeout,
                report=observed.hidden.append,
            )
        if self.keep is not None:
            yield keep_filter(self.keep, self.keep_by, extractor)
        if (size := self.object_size) is not None:
            if self.object_limit is not None:
                yield CapDensity(self.object_limit, size)
            yield CountSeen(size, observed.seen_by.append)
        if self.object_detector is not None:
            found = observed.objects.append
            yield CountObjects(_any_detector(self.object_detector), found, timeout=self.timeout)
        if self.constant_count is not None and public:
            yield ConstantCount(self.constant_count, public)

    def _detectors(self) -> Iterator[Detector]:
        from sfumato.detectors import GivenBoxes, GivenMask, YoloFile, find_detectors

        if self.suppress is not None:
            yield from find_detectors(names(self.suppress))
        if self.boxes is not None:
            yield GivenBoxes.read(self.boxes)
        if self.mask is not None:
            yield GivenMask.read(self.mask)
        if self.detector is None:
            return
        if _is_own(self.detector):
            if self.classes is not None:
                raise InvalidInput("--classes applies only to a YOLO file; leave it out.")
            yield load_ready(self.detector, "a detector")
        else:
            chosen = None if self.classes is None else names(self.classes)
            yield YoloFile(Path(self.detector), classes=chosen)


def words_to_send(
    public: Dictionary, words: int | None, epsilon: float | None, subset_size: int
) -> Dictionary:
    """The level of a dictionary that is asked for; by default as many words as suit ε."""
    if words is not None:
        return public.at(words)
    return public if epsilon is None else public.at_epsilon(epsilon, subset_size)


def _is_own(text: str) -> bool:
    return ":" in text and not Path(text).exists()


def _any_detector(text: str) -> tuple[Detector, ...]:
    """Detectors by name, from a file, or your own."""
    from sfumato.detectors import GivenBoxes, YoloFile, find_detectors

    if _is_own(text):
        return (load_ready(text, "a detector"),)
    if not Path(text).exists():
        return find_detectors(names(text))
    if Path(text).suffix == ".json":
        return (GivenBoxes.read(Path(text)),)
    return (YoloFile(Path(text)),)


def suppression_facts(hidden: Suppression) -> dict[str, Any]:
    """What was hidden, for the device's own eyes."""
    return {
        "regions": hidden.boxes,
        "keypoints_removed": hidden.removed,
        "keypoints_kept": hidden.kept,
        "decoys": hidden.decoys,
        "told_to_the_server": False,
    }


def suppression_text(facts: dict[str, Any]) -> str:
    """The same as one sentence."""
    regions = ", ".join(counted(count, name) for name, count in facts["regions"].items())
    decoys = f", {facts['decoys']:,} decoys in their place" if facts["decoys"] else ""
    return (
        f"{facts['keypoints_removed']:,} keypoints around {regions or 'nothing'}{decoys}; the "
        "server is not told. What a detector misses is not hidden"
    )
