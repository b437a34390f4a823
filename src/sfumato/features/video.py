"""Frames of a video as pictures: pixels only, in order, every N-th."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.checks import check_count
from sfumato.core.errors import UnreadableImage
from sfumato.core.files import open_plain
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import new_directory
from sfumato.features.image import MAX_SIFT_PIXELS

#: JPEG keeps what SIFT looks at at this quality, in a tenth of the room of PNG.
_QUALITY = 95
_MOST = 100_000


@dataclass(frozen=True)
class Frames:
    """How many pictures were made of how many frames, and their width and height."""

    pictures: int
    seen: int
    size: tuple[int, int]


def save_frames(
    video: str | Path,
    folder: str | Path,
    *,
    step: int = 15,
    most: int | None = None,
    progress: Progress = silent,
) -> Frames:
    """Write every step-th frame of a video into a new folder, whole or not at all.

    The recording's own turn (of a phone held upright) is applied. A video that ends in the
    middle gives the frames before that.
    """
    import cv2

    check_count("step", step, low=1)
    limit = _MOST if most is None else check_count("most", most, low=1, high=_MOST)
    path = Path(video)
    try:
        open_plain(path).close()  # OpenCV would open addresses of the network as well
    except OSError as error:
        raise UnreadableImage(f"{path} cannot be read: {error.strerror}.") from None
    opened = cv2.VideoCapture(str(path.resolve()), cv2.CAP_FFMPEG)
    try:
        total = max(int(opened.get(cv2.CAP_PROP_FRAME_COUNT)), 0) if opened.isOpened() else 0
        made = seen = 0
        size = (0, 0)
        with new_directory(Path(folder), make_parents=False) as draft:
            while made < limit and opened.isOpened() and opened.grab():
                seen += 1
                if (seen - 1) % step:
                    continue
                whole, picture = opened.retrieve()
                if not whole or picture is None:
                    continue
                size = (picture.shape[1], picture.shape[0])
                if size[0] * size[1] > MAX_SIFT_PIXELS:
                    raise UnreadableImage(
                        f"frames may have {MAX_SIFT_PIXELS:,} pixels, these are "
                        f"{size[0]}×{size[1]}; make the video smaller."
                    )
                done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
                if not done:
                    raise UnreadableImage("a frame could not be written as JPEG.")
                (draft / f"{seen - 1:06}.jpg").write_bytes(data.tobytes())
                made += 1
                progress("reading frames", min(seen, total or seen), max(total, seen))
            if not made:
                raise UnreadableImage(
                    f"{path} holds no frame that can be read; it is no video, or of a kind that "
                    "OpenCV does not know. Convert it to MP4 (H.264)."
                )
    finally:
        opened.release()
    return Frames(made, seen, size)
