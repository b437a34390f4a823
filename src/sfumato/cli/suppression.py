"""The options of `sfumato protect` that hide parts of a picture, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.values import names
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.detectors import Detector
    from sfumato.device.filters import Suppress, Suppression
    from sfumato.dictionary import Dictionary

SuppressOption = Annotated[
    str | None,
    typer.Option(help="Send nothing around these, found on this device: person, face, text."),
]
BoxesOption = Annotated[
    Path | None,
    typer.Option(help="Send nothing in these boxes: JSON, [[left, top, right, bottom], …]."),
]
MaskOption = Annotated[
    Path | None,
    typer.Option(help="Send nothing where this picture of the same size is not black."),
]
DetectorOption = Annotated[
    Path | None,
    typer.Option(help="Send nothing around what this YOLO file (v5, v8, v11 as ONNX) finds."),
]
ClassesOption = Annotated[
    str | None, typer.Option(help="Only these classes of --detector; all by default.")
]
MarginOption = Annotated[
    float, typer.Option(help="Added around what is hidden, as a share of its shorter side.")
]
ReachOption = Annotated[
    float,
    typer.Option(help="Also drop keypoints that see inside from this many diameters; SIFT: 3."),
]
DecoysOption = Annotated[
    bool, typer.Option("--decoys", help="Fill the holes with decoys, so that they do not show.")
]
TimeoutOption = Annotated[
    float, typer.Option(help="Seconds a detector may take; then nothing is sent.")
]


def make_suppress(
    public: Dictionary,
    report: Callable[[Suppression], None],
    *,
    suppress: str | None,
    boxes: Path | None,
    mask: Path | None,
    detector: Path | None,
    classes: str | None,
    margin: float,
    reach: float,
    decoys: bool,
    timeout: float,
) -> Suppress | None:
    """The filter these options ask for, or None where they ask for none."""
    from sfumato.detectors import GivenBoxes, GivenMask, YoloFile, find_detectors
    from sfumato.device.filters import Decoys, Suppress

    if classes is not None and detector is None:
        raise InvalidInput("--classes needs --detector FILE, whose classes they are.")
    detectors: list[Detector] = [] if suppress is None else [*find_detectors(names(suppress))]
    if boxes is not None:
        detectors.append(GivenBoxes.read(boxes))
    if mask is not None:
        detectors.append(GivenMask.read(mask))
    if detector is not None:
        chosen = None if classes is None else names(classes)
        detectors.append(YoloFile(detector, classes=chosen))
    if not detectors:
        if decoys:
            raise InvalidInput(
                "--decoys fills what was hidden; say what to hide with --suppress, --boxes, "
                "--mask or --detector."
            )
        return None
    return Suppress(
        detectors,
        margin=margin,
        reach=reach,
        decoys=Decoys(public) if decoys else None,
        timeout=timeout,
        report=report,
    )


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
    regions = ", ".join(f"{count} {name}" for name, count in facts["regions"].items())
    decoys = f", {facts['decoys']:,} decoys in their place" if facts["decoys"] else ""
    return (
        f"{facts['keypoints_removed']:,} keypoints around {regions or 'nothing'}{decoys}; the "
        "server is not told. What a detector misses is not hidden"
    )
