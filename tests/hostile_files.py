"""Files that ask for what lies outside them, or announce what they do not hold.

Each table is name → maker. Makers of files that refer to another one are given its path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from onnx_models import _tensor, _varint, message, node

PICTURE = "db/1.jpg"
COUNT, DIMENSION = 4, 128


def write_hloc(path: Path, change: Callable[[h5py.Group], None] | None = None) -> Path:
    """A features file as hloc writes it, of one picture; `change` may spoil it."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        group = file.create_group(PICTURE)
        group["keypoints"] = rng.uniform(0, 60, (COUNT, 2)).astype(np.float32)
        group["descriptors"] = rng.normal(size=(DIMENSION, COUNT)).astype(np.float32)
        group["scores"] = rng.uniform(size=COUNT).astype(np.float32)
        group["image_size"] = np.array([64, 64])
        if change is not None:
            change(group)
    return path


def _external_storage(group: h5py.Group, target: Path) -> None:
    del group["descriptors"]
    parts = [(str(target), 0, COUNT * DIMENSION)]
    group.create_dataset("descriptors", (DIMENSION, COUNT), np.uint8, external=parts)


def _virtual(group: h5py.Group, target: Path) -> None:
    del group["descriptors"]
    layout = h5py.VirtualLayout((DIMENSION, COUNT), np.float32)
    layout[:] = h5py.VirtualSource(str(target), "secret", (DIMENSION, COUNT))
    group.create_virtual_dataset("descriptors", layout)


def _growing_virtual(group: h5py.Group, target: Path) -> None:
    """Asked for its shape already, HDF5 opens the other file."""
    del group["descriptors"]
    every = slice(0, h5py.h5s.UNLIMITED, 1)
    layout = h5py.VirtualLayout((DIMENSION, COUNT), np.float32, maxshape=(DIMENSION, None))
    source = h5py.VirtualSource(
        str(target), "secret", (DIMENSION, COUNT), maxshape=(DIMENSION, None)
    )
    layout[:, every] = source[:, every]
    group.create_virtual_dataset("descriptors", layout)


def _external_link(group: h5py.Group, target: Path) -> None:
    del group["descriptors"]
    group["descriptors"] = h5py.ExternalLink(str(target), "secret")


def _soft_link(group: h5py.Group, _: Path) -> None:
    group.file["elsewhere"] = group["descriptors"][()]
    del group["descriptors"]
    group["descriptors"] = h5py.SoftLink("/elsewhere")


def _linked_picture(group: h5py.Group, target: Path) -> None:
    file = group.file
    del file[PICTURE]
    file[PICTURE] = h5py.ExternalLink(str(target), "picture")


def _linked_folder(group: h5py.Group, target: Path) -> None:
    file = group.file
    del file["db"]
    file["db"] = h5py.ExternalLink(str(target), "db")


#: HDF5 files that refer to another one.
H5_OUTSIDE: dict[str, Callable[[h5py.Group, Path], None]] = {
    "external storage": _external_storage,
    "virtual dataset": _virtual,
    "growing virtual dataset": _growing_virtual,
    "external link": _external_link,
    "soft link": _soft_link,
    "linked picture": _linked_picture,
    "linked folder": _linked_folder,
}


def write_h5_target(path: Path) -> Path:
    """What those files refer to: bytes for external storage, and a whole HDF5 file."""
    with h5py.File(path, "w") as file:
        file["secret"] = np.full((DIMENSION, COUNT), 7.25, np.float32)
        for name in ("picture", PICTURE):
            group = file.create_group(name)
            group["keypoints"] = np.zeros((COUNT, 2), np.float32)
            group["descriptors"] = np.full((DIMENSION, COUNT), 7.25, np.float32)
            group["image_size"] = np.array([64, 64])
    return path


def sign_manifest(folder: Path, content: dict[str, Any]) -> Path:
    """Write the manifest of a stored folder as its maker would, with its own checksum."""
    text = json.dumps(content, sort_keys=True).encode()
    content = {**content, "checksum": hashlib.sha256(text).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(content))
    return folder


def tensor_elsewhere(name: str, file: str) -> bytes:
    """A tensor of four floats that lie in another file."""
    entries = {"location": file, "offset": "0", "length": "16"}
    told = [(13, message((1, key), (2, value))) for key, value in entries.items()]
    return message((1, 4), (2, 1), (8, name), *told, (14, 1))


def network(
    *, tensors: tuple[bytes, ...] = (), nodes: tuple[bytes, ...] = (), more: bytes = b""
) -> bytes:
    """A model whose output is the tensor "w", from an initializer or a node."""
    port = message((1, 1), (2, message((1, message((1, 4))))))
    graph = message(
        *((1, item) for item in (*nodes, node("Identity", ["w"], "out"))),
        (2, "test"),
        *((5, item) for item in tensors),
        (12, message((1, "out"), (2, message((1, port))))),
    )
    opsets = [(8, message((1, ""), (2, 13))), (8, message((1, "own"), (2, 1)))]
    return message((1, 8), (7, graph), *opsets) + more


def plain_network() -> bytes:
    return network(tensors=(_tensor("w", np.arange(4)),))


def _constant(file: str) -> bytes:
    """The node w = Constant(…) with its value in another file."""
    return node(
        "Constant", [], "w", message((1, "value"), (5, tensor_elsewhere("", file)), (20, 4))
    )


def _branches(file: str) -> bytes:
    """w = If(yes, body, body), whose body is a graph with a constant elsewhere."""
    port = message((1, 1), (2, message((1, message((1, 4))))))
    output = message((1, "w"), (2, message((1, port))))
    body = message((1, _constant(file)), (2, "body"), (12, output))
    yes = message((2, 9), (8, ""), (9, b"\1"))
    flag = node("Constant", [], "yes", message((1, "value"), (5, yes), (20, 4)))
    arms = [message((1, name), (6, body), (20, 5)) for name in ("then_branch", "else_branch")]
    return network(nodes=(flag, node("If", ["yes"], "w", *arms)))


def _function(file: str) -> bytes:
    opset = message((1, ""), (2, 13))
    body = message((1, "Hidden"), (5, "w"), (7, _constant(file)), (9, opset), (10, "own"))
    return network(nodes=(node("Hidden", [], "w") + message((7, "own")),), more=message((25, body)))


def _sparse(file: str) -> bytes:
    indices = message((1, 4), (2, 7), (8, ""), *((7, place) for place in range(4)))
    sparse = message((1, tensor_elsewhere("w", file)), (2, indices), (3, 4))
    value = message((1, "sparse_value"), (22, sparse), (20, 11))
    return network(nodes=(node("Constant", [], "w", value),))


def _sparse_initializer(file: str) -> bytes:
    indices = message((1, 4), (2, 7), (8, ""), *((7, place) for place in range(4)))
    sparse = message((1, tensor_elsewhere("w", file)), (2, indices), (3, 4))
    return network() + message((7, message((15, sparse))))


def _long_location(file: str) -> bytes:
    """The location as a number of 33 bits, of which readers keep the 1 at the end."""
    spoiled = tensor_elsewhere("w", file)[:-2] + _varint(14 << 3) + _varint((1 << 32) + 1)
    return network(tensors=(spoiled,))


#: Networks that keep numbers in another file.
NETWORKS_OUTSIDE: dict[str, Callable[[str], bytes]] = {
    "initializer": lambda file: network(tensors=(tensor_elsewhere("w", file),)),
    "constant": lambda file: network(nodes=(_constant(file),)),
    "branch": _branches,
    "function": _function,
    "sparse constant": _sparse,
    "sparse initializer": _sparse_initializer,
    "location of 33 bits": _long_location,
}


def npy(header: str | bytes, data: bytes = b"", *, version: int = 1) -> bytes:
    """An .npy with this header."""
    text = header.encode() if isinstance(header, str) else header
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text + data


def npy_header(shape: str, descr: str = "'<f8'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


#: .npy files with hostile headers; none of them holds an array.
NPY_HOSTILE: dict[str, bytes] = {
    "nested": npy("(" * 9000 + ")" * 9000, version=2),
    "nested shape": npy(npy_header("(" * 300 + "1" + ",)" * 300)),
    "unfinished": npy("{'descr': '<f8', 'shape': ("),
    "null byte": npy("{'descr': '<f8'\0, 'fortran_order': False, 'shape': (1,)}", bytes(8)),
    "open string": npy("{'descr': '''<f8, 'fortran_order': False, 'shape': (1,)}", bytes(8)),
    "indented": npy("   {\n 'descr'\n  :\n '<f8'", bytes(8)),
    "set of lists": npy("{[]}", bytes(8)),
    "key of a list": npy("{[]: 1}", bytes(8)),
    "shape as a number": npy(npy_header("8"), bytes(64)),
    "shape as a list": npy(npy_header("[8]"), bytes(64)),
    "shape of texts": npy(npy_header("('8',)"), bytes(64)),
    "true side": npy(npy_header("(True,)"), bytes(8)),
    "negative": npy(npy_header("(-8,)"), bytes(64)),
    "two negatives": npy(npy_header("(-8, -1)"), bytes(64)),
    "overflow": npy(npy_header(f"({1 << 32}, {1 << 32})"), bytes(64)),
    "beyond 64 bits": npy(npy_header(f"({1 << 70},)"), bytes(64)),
    "nought hides it": npy(npy_header(f"(0, {1 << 62}, {1 << 62})")),
    "number of 5,000 digits": npy(npy_header("(" + "9" * 5000 + ",)")),
    "seventy axes": npy(npy_header("(" + "1, " * 70 + ")"), bytes(8)),
    "objects": npy(npy_header("(1,)", "'|O'"), bytes(8)),
    "fields": npy(npy_header("(1,)", "[('a', '<f8')]"), bytes(8)),
    "nested fields": npy(npy_header("(1,)", "[('a'," * 80 + "'<f8'" + ")]" * 80), bytes(8)),
    "no kind": npy(npy_header("(1,)", "'<q9'"), bytes(8)),
    "times": npy(npy_header("(1,)", "'<M8[s]'"), bytes(8)),
    "texts of no length": npy(npy_header("(1000000,)", "'<U0'")),
    "texts of 2 GB": npy(npy_header("(1,)", "'<U536870911'"), bytes(8)),
    "beyond all characters": npy(npy_header("(1,)", "'<U2'"), b"\xff" * 8),
    "half a character": npy(npy_header("(1,)", "'>U1'"), b"\0\0\xd8\0"),
    "40 kB of header": npy(npy_header("(1,)").encode().ljust(40_000), bytes(8), version=2),
    "header of 4 GiB": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}",
    "version 3": npy(npy_header("(1,)"), bytes(8), version=3),
    "more than is there": npy(npy_header("(1000000000,)"), bytes(64)),
    "less than is there": npy(npy_header("(1,)"), bytes(64)),
    "nothing": b"",
}
