"""`sfumato invert compare`: several networks on the same photographs, in one run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from sfumato.cli.files import check_output
from sfumato.cli.options import Threads, argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.core.errors import InvalidInput


def run(
    folder: Annotated[Path, argument("FOLDER", "Photographs that no network has learned from.")],
    output: Annotated[Path, output("The contact sheet to write (.png).")],
    network: Annotated[list[Path], option("An exported network (.onnx), several.", metavar="FILE")],
    sent: Annotated[
        str, option("release: no sizes and angles of keypoints; features: with them.")
    ] = "release",
    num_pictures: Annotated[
        int | None, option("So many photographs, spread evenly.", shown="all")
    ] = None,
    keypoints: Annotated[int, option("The strongest of a photograph that are used.")] = 1000,
    one_look: Annotated[bool, option("A quarter of the time, a little worse.")] = False,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Middle squares, 256×256. The sheet has the photographs in its first row and the paintings of
    each network below. LPIPS is given where torch and the weights of VGG16 are.

    Example: sfumato invert compare photos/ --network old.onnx --network new.onnx -o sheet.png
    """
    check_output(output, ".png")
    from sfumato.adversary.invert.compare_networks import compare_networks
    from sfumato.adversary.invert.crops import find_pictures
    from sfumato.adversary.invert.lpips import find_lpips
    from sfumato.adversary.invert.reconstruct import Inverter
    from sfumato.adversary.invert.sheet import write_sheet
    from sfumato.core.checks import check_count

    if num_pictures is not None:
        check_count("num_pictures", num_pictures, low=1)
    if len({path.resolve() for path in network}) < len(network):
        raise InvalidInput("--network names one file twice; give each network once.")
    inverters = [Inverter(path, threads=threads) for path in network]
    lpips, reason = find_lpips()
    with long_work() as progress:
        paths = find_pictures(folder, 1).paths
        step = max(len(paths) / num_pictures, 1.0) if num_pictures else 1.0
        chosen = [paths[int(i * step)] for i in range(min(num_pictures or len(paths), len(paths)))]
        made = compare_networks(
            inverters,
            chosen,
            sent=sent,
            max_keypoints=keypoints,
            one_look=one_look,
            lpips=lpips,
            progress=progress,
        )
    real, *painted = (list(row) for row in zip(*made.shown, strict=True))
    write_sheet(output, real, *painted)
    scores = [
        {"network": str(path), **asdict(score)}
        for path, score in zip(network, made.scores, strict=True)
    ]
    shown = {
        str(path): ", ".join(
            f"{name} {value:.4f}" for name, value in asdict(score).items() if value is not None
        )
        for path, score in zip(network, made.scores, strict=True)
    }
    facts = {"photographs": made.num_pictures, "sent": sent}
    told = {**facts, "scores": scores, "lpips_missing": reason or None, "output": str(output)}
    remark = {"no LPIPS": reason} if reason else {}
    emit(as_json, told, f"wrote {output!s}", {**facts, **shown, **remark})
