"""Valid files of every kind that sfumato reads from others: what the mutations begin with."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from PIL import Image

from hostile_files import plain_network, write_hloc
from onnx_models import brightness_model
from sfumato.dictionary import Dictionary
from sfumato.features import FeatureWriter
from support import features_of
from synthetic import MAPPING_POSES, make_map, make_room

#: Pillow's name of each format → how the sample is saved.
_PICTURES: dict[str, dict[str, Any]] = {
    "JPEG": {}, "PNG": {}, "TIFF": {"compression": "tiff_lzw"}, "WEBP": {}, "BMP": {},
    "GIF": {}, "PPM": {}, "JPEG2000": {}, "AVIF": {},
}  # fmt: skip


def make_seeds(folder: Path) -> dict[str, list[Path]]:
    """Kind → files or folders, each of which is read without complaint."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    seeds: dict[str, list[Path]] = {
        "h5": [
            write_hloc(folder / "hloc.h5"),
            write_hloc(folder / "packed.h5", _pack),
            _own_features(folder / "own.h5"),
        ],
        "onnx": [folder / "plain.onnx", brightness_model(folder / "bright.onnx")],
        "npy": [folder / "a.npy", folder / "b.npy"],
        "npz": [folder / "a.npz", folder / "b.npz"],
        "idx": [folder / "a.idx", folder / "b.idx"],
        "image": [],
        "map": [folder / "map"],
        "dictionary": [folder / "graph", folder / "bits"],
        "colmap-bin": [_write_binary_model(folder / "bin")],
        "colmap-txt": [_write_text_model(folder / "txt")],
        "cameras": [folder / "cameras.json"],
    }
    seeds["onnx"][0].write_bytes(plain_network())
    np.save(seeds["npy"][0], rng.normal(size=(7, 5)).astype(np.float32))
    np.save(seeds["npy"][1], np.asfortranarray(rng.integers(0, 9, (4, 6))))
    arrays: dict[str, Any] = {"names": np.array(["a", "b"]), "embeddings": rng.normal(size=(2, 9))}
    np.savez(seeds["npz"][0], **arrays)
    np.savez_compressed(seeds["npz"][1], **arrays)
    raw = bytes([0, 0, 8, 3]) + struct.pack(">3I", 4, 5, 6) + rng.bytes(120)
    seeds["idx"][0].write_bytes(raw)
    seeds["idx"][1].write_bytes(gzip.compress(raw))
    pixels = rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)
    for kind, options in _PICTURES.items():
        path = folder / f"picture.{kind}"
        Image.fromarray(pixels).save(path, format=kind, **options)
        seeds["image"].append(path)
    Image.fromarray(pixels[..., 0].astype(np.uint16) * 257).save(folder / "gray.png")
    seeds["image"].append(folder / "gray.png")
    make_map(make_room(60), MAPPING_POSES[:2]).save(seeds["map"][0])
    words = rng.integers(0, 256, (120, 8), dtype=np.uint8)
    graph = Dictionary.from_words(words, extractor="tiny", index="graph")
    graph.with_levels((16,)).save(seeds["dictionary"][0])
    bits = Dictionary.from_words(words, extractor="tiny", metric="hamming", index="graph")
    bits.save(seeds["dictionary"][1])
    pose = {"R_cam_from_world": np.eye(3).tolist(), "t_cam_from_world": [0, 0, 1.5]}
    entry = {"width": 64, "height": 48, "K": [[50, 0, 31.5], [0, 50, 23.5], [0, 0, 1]], **pose}
    seeds["cameras"][0].write_text(json.dumps({"1.jpg": entry, "2.jpg": entry}))
    return seeds


def _pack(group: h5py.Group) -> None:
    """Its arrays compressed in all ways that are read, in chunks."""
    ways: dict[str, dict[str, Any]] = {
        "keypoints": {"compression": "lzf"},
        "descriptors": {"compression": "gzip", "shuffle": True, "chunks": (16, 2)},
        "scores": {"fletcher32": True, "chunks": (2,), "maxshape": (None,)},
    }
    for name, how in ways.items():
        values = group[name][()]
        del group[name]
        group.create_dataset(name, data=values, **how)


def _own_features(path: Path) -> Path:
    with FeatureWriter(path, extractor="tiny") as writer:
        for number in range(3):
            values = np.random.default_rng(number).integers(0, 256, (5, 8), dtype=np.uint8)
            writer.add(f"db/{number}.jpg", features_of(values))
    return path


_POINTS = ((1, (0.0, 0.5, 4.0)), (2, (1.0, -0.5, 5.0)), (5, (0.25, 0.25, 6.0)))
_IMAGES = ((3, "db/1.jpg", (0.0, 0.0, 0.0)), (4, "db/2.jpg", (-0.5, 0.0, 0.0)))


def _write_binary_model(folder: Path) -> Path:
    folder.mkdir()
    camera = struct.pack("<IiQQ3d", 7, 0, 64, 48, 50.0, 32.0, 24.0)
    (folder / "cameras.bin").write_bytes(struct.pack("<Q", 1) + camera)
    images = io.BytesIO()
    images.write(struct.pack("<Q", len(_IMAGES)))
    for number, name, shift in _IMAGES:
        images.write(struct.pack("<I7dI", number, 1, 0, 0, 0, *shift, 7))
        images.write(name.encode() + b"\0" + struct.pack("<Q", len(_POINTS)))
        for point, _ in _POINTS:
            images.write(struct.pack("<ddq", 10.0 * point, 3.5, point))
    (folder / "images.bin").write_bytes(images.getvalue())
    points = struct.pack("<Q", len(_POINTS))
    for point, xyz in _POINTS:
        points += struct.pack("<Q3d3BdQ", point, *xyz, 1, 2, 3, 0.5, 1) + struct.pack("<II", 3, 0)
    (folder / "points3D.bin").write_bytes(points)
    return folder


def _write_text_model(folder: Path) -> Path:
    folder.mkdir()
    (folder / "cameras.txt").write_text("# cameras\n7 SIMPLE_PINHOLE 64 48 50.0 32.0 24.0\n")
    lines = ["# images"]
    for number, name, shift in _IMAGES:
        lines.append(f"{number} 1 0 0 0 {' '.join(str(value) for value in shift)} 7 {name}")
        lines.append(" ".join(f"{10.0 * point} 3.5 {point}" for point, _ in _POINTS))
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    rows = [f"{point} {x} {y} {z} 1 2 3 0.5 3 0" for point, (x, y, z) in _POINTS]
    (folder / "points3D.txt").write_text("\n".join(rows) + "\n")
    return folder


def sign_folder(folder: Path, change: dict[str, Any] | None = None) -> None:
    """Make the manifest of a stored folder agree with its files again, as a hostile maker would."""
    file = folder / "manifest.json"
    try:
        content = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return  # nothing to sign: a model of COLMAP, or no manifest any more
    if not isinstance(content, dict) or not isinstance(content.get("files"), dict):
        return
    content.pop("checksum", None)
    for name in content["files"]:
        if (folder / name).is_file():
            content["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    content.update(change or {})
    text = json.dumps(content, sort_keys=True).encode()
    content["checksum"] = hashlib.sha256(text).hexdigest()
    file.write_text(json.dumps(content))
