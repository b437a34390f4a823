"""`sfumato frames`: some frames of a video as pictures, for a map or for queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.files import refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.core.checks import check_count


def run(
    video: Annotated[Path, argument("FILE", "A video. It stays on this machine.")],
    *,
    output: Annotated[Path, output("The folder of pictures to make.", "FOLDER")],
    step: Annotated[int, option("Take every N-th frame.", "--step")] = 15,
    most: Annotated[int | None, option("Stop after so many pictures.", shown="no limit")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Every fifteenth frame of a walk at 30 frames a second is two pictures a second. Sound, time
    and place of the recording are left behind.

    Example: sfumato frames walk.mp4 -o photos/ --step 15
    """
    from sfumato.features.video import save_frames

    check_count("step", step, low=1)
    if most is not None:
        check_count("most", most, low=1)
    refuse_existing(output)
    with long_work() as progress:
        made = save_frames(video, output, step=step, most=most, progress=progress)
    facts = {
        "pictures": made.pictures,
        "frames_seen": made.seen,
        "image_size": list(made.size),
        "output": str(output),
    }
    shown = {
        "pictures": f"{made.pictures:,} of {made.seen:,} frames, {made.size[0]}×{made.size[1]}",
        "next": f"sfumato map build {output} -o MAP",
    }
    emit(as_json, facts, f"wrote {output}", shown)
