"""`sfumato extract`: pictures in, a features file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, note, progress_bar
from sfumato.core.errors import InvalidInput


def run(
    source: Annotated[
        Path, typer.Argument(metavar="IMAGE_OR_FOLDER", help="A picture, or a folder of them.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Features file (HDF5, hloc's layout)."),
    ] = None,
    extractor: Annotated[
        str,
        typer.Option(help="sift, rootsift, sift-harris, freak, vgg, beblid, hardnet or sosnet."),
    ] = "sift",
    max_keypoints: Annotated[
        int | None, typer.Option(help="Keep only the strongest of each picture.")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="File of weights, for hardnet and sosnet.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first picture that cannot be read.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find and describe the keypoints of one picture or of a folder.

    A folder needs -o; run again after a stop, it goes on where it stopped. One picture
    without -o is only summarised.

    Example: sfumato extract photos/ -o features.h5 --max-keypoints 2000
    """
    from sfumato.features.extractors import check_request

    check_request(extractor, max_keypoints=max_keypoints, weights=weights)
    options: dict[str, Any] = {"max_keypoints": max_keypoints, "weights": weights}
    if source.is_dir():
        if output is None:
            raise InvalidInput("a folder of pictures needs a features file: add -o features.h5.")
        _folder(source, output, extractor, options, strict=strict, as_json=as_json)
    else:
        _picture(source, output, extractor, options, as_json=as_json)


def _picture(
    source: Path, output: Path | None, extractor: str, options: dict[str, Any], *, as_json: bool
) -> None:
    from sfumato.features.extractors import extract

    features = extract(source, extractor, **options)
    if output is not None:
        from sfumato.features.writer import FeatureWriter

        with FeatureWriter(output, extractor=extractor, **options) as writer:
            if source.name in writer:
                raise InvalidInput(
                    f"{output} holds {source.name} already; choose another output or remove it."
                )
            writer.add(source.name, features)
    width, height = features.image_size
    facts = {
        "extractor": extractor,
        "keypoints": len(features),
        "dimension": features.descriptors.shape[1],
        "dtype": str(features.descriptors.dtype),
    }
    written = {} if output is None else {"output": str(output)}
    if as_json:
        emit_json({**facts, "image_size": [width, height], **written})
        return
    shown = {"image size": f"{width}×{height}", **facts}
    emit_facts("Features", {**shown, **written})


def _folder(
    source: Path,
    output: Path,
    extractor: str,
    options: dict[str, Any],
    *,
    strict: bool,
    as_json: bool,
) -> None:
    from sfumato.features.folder import extract_folder

    with progress_bar(quiet=as_json) as progress:
        report = extract_folder(
            source, output, extractor=extractor, strict=strict, progress=progress, **options
        )
    facts = {
        "extractor": extractor,
        "extracted": report.done,
        "keypoints": report.keypoints,
        "already there": report.skipped_existing,
        "unreadable": len(report.unreadable),
        "output": str(output),
    }
    if as_json:
        emit_json(
            {
                "extractor": extractor,
                "output": str(output),
                "done": report.done,
                "skipped_existing": report.skipped_existing,
                "unreadable": [
                    {"name": name, "reason": reason} for name, reason in report.unreadable
                ],
                "keypoints": report.keypoints,
            }
        )
    else:
        emit_facts("Features", facts)
        for name, reason in report.unreadable:
            note(f"left out {name}: {reason}")
