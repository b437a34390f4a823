"""`sfumato extract`: pictures in, a features file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.command import refuse_given
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work, note
from sfumato.cli.own_code import find_extractor
from sfumato.core.errors import InvalidInput
from sfumato.features.extractors import check_request, extract, extractor_name, weights_file
from sfumato.features.folder import extract_folder
from sfumato.features.writer import FeatureWriter


def run(
    source: Annotated[Path, argument("SOURCE", "A picture, or a folder of them.")],
    *,
    output: Annotated[Path | None, output("Features (HDF5, hloc's layout).", shown="none")] = None,
    extractor: Annotated[
        str,
        option("What describes the pictures; a network (.onnx) or module:name.", metavar="NAME"),
    ] = "sift",
    max_keypoints: opt.MaxKeypoints = None,
    weights: Annotated[Path | None, option("Weights, for hardnet and sosnet.")] = None,
    strict: opt.Strict = False,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """A folder needs -o; run again after a stop, it goes on where it stopped. One picture
    without -o is only summarised. Extractors: sift, rootsift, sift-harris, freak, vgg, beblid,
    hardnet and sosnet; or a network of `sfumato extractor export`.

    Example: sfumato extract photos/ -o features.h5 --max-keypoints 2000
    """
    own = find_extractor(extractor)
    if isinstance(own, str):
        check_request(own, max_keypoints=max_keypoints, weights=weights)
    options: dict[str, Any] = {"max_keypoints": max_keypoints, "weights": weights}
    if source.is_dir():
        if output is None:
            raise InvalidInput("a folder of pictures needs a features file: add -o features.h5.")
        with running.started():
            _folder(source, output, own, options, strict=strict, as_json=as_json)
    else:
        refuse_given("is for folders, and this is one picture", "strict", "on", "workers")
        _picture(source, output, own, options, as_json=as_json)


def _picture(
    source: Path, output: Path | None, extractor: Any, options: dict[str, Any], *, as_json: bool
) -> None:
    features = extract(source, extractor, **options)
    if output is not None:
        known = {**options, "weights": weights_file(extractor, options["weights"])}
        with FeatureWriter(output, extractor=features.extractor, **known) as writer:
            if source.name in writer:
                raise InvalidInput(
                    f"{output} holds {source.name} already; choose another output or remove it."
                )
            writer.add(source.name, features)
    width, height = features.image_size
    facts = {
        "extractor": features.extractor,
        "keypoints": len(features),
        "dimension": features.descriptors.shape[1],
        "dtype": str(features.descriptors.dtype),
    }
    written = {} if output is None else {"output": str(output)}
    told = {**facts, "image_size": [width, height], **written}
    emit(as_json, told, "Features", {"image size": f"{width}×{height}", **facts, **written})


def _folder(
    source: Path,
    output: Path,
    extractor: Any,
    options: dict[str, Any],
    *,
    strict: bool,
    as_json: bool,
) -> None:
    with long_work() as progress:
        report = extract_folder(
            source, output, extractor=extractor, strict=strict, progress=progress, **options
        )
    name = extractor_name(extractor)
    told = {
        "extractor": name,
        "output": str(output),
        "done": report.done,
        "skipped_existing": report.skipped_existing,
        "unreadable": [{"name": name, "reason": reason} for name, reason in report.unreadable],
        "keypoints": report.keypoints,
    }
    shown = {
        "extractor": name,
        "extracted": report.done,
        "keypoints": report.keypoints,
        "already there": report.skipped_existing,
        "unreadable": len(report.unreadable),
        "output": str(output),
    }
    emit(as_json, told, "Features", shown)
    if not as_json:
        for name, reason in report.unreadable:
            note(f"left out {name}: {reason}")
