"""Golden files of the wire format: `NAME.sfr` holds bytes, `NAME.json` what they say.

    python tests/golden_wire.py              write the files that are missing
    python tests/golden_wire.py --overwrite  replace files whose bytes changed, after a change of
                                             the wire format that was meant

Other implementations test against these files; docs/wire-format.md describes both.
"""

from __future__ import annotations

import json
import math
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from golden_wire_cases import FINGERPRINT, cases
from sfumato.core.cube import corner_length
from sfumato.core.releases import (
    CandidateRelease,
    CodeRelease,
    KeypointRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    VectorRelease,
    WordRelease,
)
from sfumato.core.types import Camera

FOLDER = Path(__file__).parent / "golden" / "wire"
REFUSED = FOLDER / "refused"


def content(release: Release) -> dict[str, Any]:
    """What a release says, in JSON: every field of its kind, numbers exact, ∞ as "inf"."""
    out: dict[str, Any] = {"kind": release.kind, "reproducible": release.reproducible}
    if isinstance(release, KeypointRelease):
        camera = release.camera
        out |= {
            "image_size": list(release.image_size),
            "extractor": release.extractor,
            "camera": camera and {"model": camera.model, "params": list(camera.params)},
            "keypoints": release.keypoints.tolist(),
        }
    if isinstance(release, PlainRelease):
        out |= {"type": release.descriptors.dtype.name, "dimension": release.descriptors.shape[1]}
        out["descriptors"] = release.descriptors.tolist()
    elif isinstance(release, WordRelease):
        out |= {"num_words": release.num_words, "subset_size": release.subset_size}
        out |= {"epsilon": _number(release.epsilon), "dictionary": release.dictionary}
        out["words"] = release.words.tolist()
    elif isinstance(release, CandidateRelease):
        out |= {"subset_size": release.subset_size, "dimension": release.candidates.shape[2]}
        out |= {"epsilon": release.epsilon, "candidates": release.candidates.tolist()}
    elif isinstance(release, SubspaceRelease):
        out |= {"type": release.offsets.dtype.name, "ambient": release.offsets.shape[1]}
        out |= {"dimension": release.dimension}
        out |= {"offsets": release.offsets.tolist(), "bases": release.bases.tolist()}
    elif isinstance(release, VectorRelease):
        out |= {"dimension": release.dimension, "cap_bits": release.cap_bits}
        out |= {"epsilon": release.epsilon, "space": release.space}
        out["signs"] = release.signs.tolist()
    elif isinstance(release, CodeRelease):
        out |= {"encoder": release.encoder, "epsilon": _number(release.epsilon)}
        out |= {"num_values": release.num_values, "num_positions": release.num_positions}
        out |= {"label": release.label, "positions": release.positions.tolist()}
        out["codes"] = release.codes.tolist()
    return out


def release_of(told: dict[str, Any]) -> Release:
    """The release that a JSON file describes; `content` of it is the same JSON."""
    kind = told["kind"]
    if kind == "codes":
        return CodeRelease(
            codes=np.array(told["codes"], dtype=np.uint32),
            positions=np.array(told["positions"], dtype=np.uint32),
            num_values=told["num_values"],
            num_positions=told["num_positions"],
            epsilon=float(told["epsilon"]),
            encoder=told["encoder"],
            label=told["label"],
            reproducible=told["reproducible"],
        )
    (width, height), count = told["image_size"], len(told["keypoints"])
    camera = told["camera"]
    common: dict[str, Any] = {
        "keypoints": np.array(told["keypoints"], dtype=np.float32).reshape(count, 2),
        "image_size": (width, height),
        "extractor": told["extractor"],
        "camera": camera and Camera(camera["model"], width, height, tuple(camera["params"])),
        "reproducible": told["reproducible"],
    }
    if kind == "plain":
        rows = np.array(told["descriptors"], dtype=told["type"])
        return PlainRelease(descriptors=rows.reshape(count, told["dimension"]), **common)
    if kind == "words":
        chosen = np.array(told["words"], dtype=np.uint32).reshape(count, told["subset_size"])
        return WordRelease(
            words=chosen,
            num_words=told["num_words"],
            dictionary=told["dictionary"],
            epsilon=float(told["epsilon"]),
            **common,
        )
    if kind == "vectors":
        length = corner_length(told["dimension"])
        return VectorRelease(
            signs=np.array(told["signs"], dtype=np.uint8).reshape(count, length),
            **{name: told[name] for name in ("dimension", "cap_bits", "epsilon", "space")},
            **common,
        )
    if kind == "candidates":
        rows = np.array(told["candidates"], dtype=np.uint8)
        return CandidateRelease(candidates=rows, epsilon=told["epsilon"], **common)
    return SubspaceRelease(
        offsets=np.array(told["offsets"], dtype=told["type"]),
        bases=np.array(told["bases"], dtype=told["type"]),
        **common,
    )


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def as_text(told: dict[str, Any]) -> str:
    """JSON with one field to a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in told.items()]
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def sealed(message: bytes | bytearray) -> bytes:
    """The message with the length and the checksum that its bytes call for."""
    out = bytearray(message)
    out[92:100] = struct.pack("<Q", len(out))
    return bytes(out[:-4]) + struct.pack("<I", zlib.crc32(out[:-4]))


def refused() -> dict[str, tuple[bytes, str]]:
    """Messages no reader may accept, with the reason; all but the damaged are sealed again."""
    made = {name: release.to_bytes() for name, release in cases().items()}

    def edit(name: str, place: int, new: bytes) -> bytes:
        data = bytearray(made[name])
        start = place % len(data)
        data[start : start + len(new)] = new
        return sealed(data)

    base = made["words-257-2"]
    two_rows = bytearray(made["plain-uint8"])  # rows 1 and 2 exchanged, positions and content
    two_rows[100:108] = two_rows[104:108] + two_rows[100:104]
    two_rows[120:126] = two_rows[123:126] + two_rows[120:123]
    tied = bytearray(made["plain-uint8"])
    positions = np.frombuffer(bytes(tied[100:120]), dtype="<u2").reshape(5, 2)
    first = next(i for i in range(4) if (positions[i] == positions[i + 1]).all())
    at = 120 + 3 * first
    tied[at : at + 6] = tied[at + 3 : at + 6] + tied[at : at + 3]
    return {
        "magic": (edit("words-257-2", 0, b"SFUN"), "the magic is not SFUM"),
        "version": (edit("words-257-2", 4, b"\x02"), "the version is not 1"),
        "kind": (edit("words-257-2", 5, b"\x06"), "there is no kind 6"),
        "flags-unknown": (edit("words-257-2", 6, b"\x10"), "flag 16 is not defined"),
        "flags-both-floats": (edit("plain-float32", 6, b"\x06"), "float32 and float16 at once"),
        "flags-words-float32": (edit("words-257-2", 6, b"\x02"), "words carry no floats"),
        "flags-words-labelled": (edit("words-257-2", 6, b"\x08"), "only codes carry a label"),
        "plain-float16": (
            sealed(edit("plain-float32", 6, b"\x04")[:112] + bytes(18 + 4)),
            "plain descriptors are uint8 or float32",
        ),
        "camera-unknown": (edit("words-257-2", 7, b"\x08"), "there is no camera model 8"),
        "camera-nan": (
            edit("camera-pinhole", 124, struct.pack("<d", math.nan)),
            "a camera parameter is not finite",
        ),
        "count": (base[:8] + struct.pack("<I", 2**32 - 1) + base[12:], "the length does not fit N"),
        "picture-0": (edit("plain-empty", 12, bytes(4)), "the picture has no width"),
        "position-outside": (edit("plain-uint8", 100, b"\xff\xff"), "x lies beyond the picture"),
        "position-behind-the-last-centre": (
            edit("plain-uint8", 100, struct.pack("<H", 639 * 8 + 1)),
            "x lies behind the centre of the last pixel",
        ),
        "epsilon-negative": (edit("words-257-2", 28, struct.pack("<d", -1.0)), "ε is below 0"),
        "epsilon-nan": (edit("words-257-2", 28, struct.pack("<d", math.nan)), "ε is NaN"),
        "epsilon-65": (edit("words-257-2", 28, struct.pack("<d", 65.0)), "ε is above 64"),
        "epsilon-of-plain": (
            edit("plain-uint8", 28, struct.pack("<d", 1.0)),
            "a plain release has no ε",
        ),
        "extractor-padding": (edit("words-257-2", 59, b"a"), "a byte behind the name's zeros"),
        "extractor-upper-case": (edit("words-257-2", 36, b"SIFT"), "the name has capitals"),
        "fingerprint-of-plain": (
            edit("plain-uint8", 60, bytes.fromhex(FINGERPRINT)),
            "a plain release has no dictionary",
        ),
        "spare-bits": (edit("words-257-2", -5, b"\xff"), "bits behind the last index are set"),
        "word-beyond": (edit("words-255-1", 120, b"\xff"), "word 255 of 255"),
        "words-twice": (edit("words-256-2", 120, b"\x07\x07"), "a row holds one word twice"),
        "rows-out-of-order": (sealed(two_rows), "rows are ordered by y, then x"),
        "ties-out-of-order": (sealed(tied), "rows of one position are ordered by their bytes"),
        "basis-not-orthonormal": (
            edit("subspaces-float32-1-2", -8, struct.pack("<f", 0.5)),
            "a basis must have orthonormal rows",
        ),
        "positions-of-complete-codes": (
            sealed(made["codes-2"][:100] + b"\x05\x39\x70" + made["codes-2"][100:]),
            "a picture that sends all codes lists no positions",
        ),
        "codes-picture": (edit("codes-2", 12, b"\x01"), "codes have no picture size"),
        "label-too-large": (
            edit("codes-label-0", 100, b"\xff\xff\xff\xff"),
            "a label lies below 2^31",
        ),
        "damaged": (base[:-6] + bytes([base[-6] ^ 1]) + base[-5:], "the checksum does not match"),
        "truncated": (base[:-1], "the last byte is missing"),
        "longer": (base + b"\0", "one byte too many"),
    }


def files() -> dict[Path, bytes]:
    """Every golden file as the code of today makes it."""
    out: dict[Path, bytes] = {}
    for name, release in cases().items():
        out[FOLDER / f"{name}.sfr"] = release.to_bytes()
        out[FOLDER / f"{name}.json"] = as_text(content(release)).encode()
    bad = refused()
    for name, (data, _) in bad.items():
        out[REFUSED / f"{name}.sfr"] = data
    out[REFUSED / "reasons.json"] = as_text({name: why for name, (_, why) in bad.items()}).encode()
    return out


def main() -> int:
    """Write what is missing; without --overwrite a file that differs is left and named."""
    overwrite = "--overwrite" in sys.argv[1:]
    wanted = files()
    REFUSED.mkdir(parents=True, exist_ok=True)
    changed = [path for path, data in wanted.items() if path.exists() and path.read_bytes() != data]
    stale = [path for path in FOLDER.rglob("*.*") if path.is_file() and path not in wanted]
    for path in sorted([*changed, *stale]):
        print(f"{path.relative_to(FOLDER)} {'changes' if path in wanted else 'has no case'}")
    if (changed or stale) and not overwrite:
        print("Nothing was written. If the wire format was meant to change, use --overwrite.")
        return 1
    for path, data in wanted.items():
        path.write_bytes(data)
    for path in stale:
        path.unlink()
    print(f"{len(wanted)} files in {FOLDER.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
