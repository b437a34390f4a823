"""Is a browser fast enough? One picture of 640 × 480, from pixels to the bytes that leave.

    bash scripts/web build
    python benchmarks/browser.py [--pictures 10] [--repeats 5]

Chromium with the built files of web/device against OpenCV and our Python, both on the same one
core, in turns: extract all keypoints, find their words among 8,192 of open-64k, draw one word each
at ε = 8 per descriptor (positions and their number are not protected), encode. The ratio is that of
each turn; the median is told with the middle half. What the two find is compared by
`benchmarks/browser_sift.py`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import parser_of, timed, use_threads

use_threads(1)

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from sfumato.core.randomness import SecureRandom  # noqa: E402
from sfumato.datasets import load_gallery  # noqa: E402
from sfumato.device.mechanisms import SubsetMechanism  # noqa: E402
from sfumato.dictionary import Dictionary  # noqa: E402
from sfumato.dictionary.bundled import resolve  # noqa: E402
from sfumato.features import extract  # noqa: E402
from sfumato.service.dictionaries import Served  # noqa: E402

EPSILON = 8.0


class Chromium:
    """The device in a page; asked by lines of JSON."""

    def __init__(self, words: Path) -> None:
        script = Path(__file__).with_suffix(".mjs")
        self._node = subprocess.Popen(
            ["node", str(script), str(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        print(json.dumps(line), file=self._node.stdin, flush=True)
        answer = self._node.stdout.readline()
        if not answer:
            raise SystemExit("Chromium did not start; run `bash scripts/web build` first.")
        told: dict[str, Any] = json.loads(answer)
        return told

    def close(self) -> None:
        assert self._node.stdin is not None
        self._node.stdin.close()
        self._node.wait(30)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--pictures", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # Node and Chromium inherit it
    cv2.setNumThreads(1)
    whole = Dictionary.load("open-64k")
    mechanism = SubsetMechanism(EPSILON, 1, whole.at_epsilon(EPSILON))
    views = load_gallery().queries[: options.pictures]
    rng = SecureRandom()

    def native(image: NDArray[np.uint8]) -> tuple[int, int]:
        features = extract(image)
        release = mechanism.release(features, rng=rng, camera=views[0].camera)
        return len(features), len(release.to_bytes())

    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.tar"
        words.write_bytes(b"".join(Served(whole, resolve("open-64k"), None).tar()))
        browser = Chromium(words)
        browser.ask({"pin": whole.fingerprint, "epsilon": EPSILON})
        rows = []
        for view in views:
            height, width = view.image.shape[:2]
            opaque = np.full((height, width, 1), 255, np.uint8)
            pixels = Path(folder) / "pixels"
            pixels.write_bytes(np.concatenate([view.image, opaque], axis=2).tobytes())
            given = {"pixels": str(pixels), "width": width, "height": height}
            native(view.image)
            browser.ask(given)
            for _ in range(options.repeats):
                (count, size), spent = timed(partial(native, view.image))
                told = browser.ask(given)
                rows.append((spent.wall * 1000, told["ms"], count, told["count"], size))
        browser.close()
    ratios = [there / here for here, there, *_ in rows]
    low, middle, high = np.percentile(ratios, (25, 50, 75))
    print(
        f"640 × 480, {len(views)} pictures of the gallery × {options.repeats}, one core: median of "
        f"{statistics.median(row[2] for row in rows):,.0f} keypoints natively, "
        f"{statistics.median(row[3] for row in rows):,.0f} in Chromium, "
        f"{statistics.median(row[4] for row in rows):,.0f} bytes"
    )
    print(f"OpenCV and Python {statistics.median(row[0] for row in rows):9.1f} ms")
    print(f"Chromium          {statistics.median(row[1] for row in rows):9.1f} ms")
    print(f"ratio             {middle:9.2f}  (middle half {low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
