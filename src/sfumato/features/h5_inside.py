"""What lies in an HDF5 file itself, and no larger than the file can hold.

HDF5 follows what a file says: links and virtual datasets into other files, raw data kept in any
file of the disk, compression by programs it loads, and shapes that no byte stands behind. Every
reader of features comes through here; a file that asks for any of these is refused before it is
followed. The order matters: asking a virtual dataset for its shape opens other files already.
"""

from __future__ import annotations

import math
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5t, h5z
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput

#: Half a million SIFT descriptors of float32; no picture has as many.
MAX_ARRAY_BYTES = 1 << 28
_DEFLATE_RATIO = 1100  # zlib packs at most 1032 bytes into one
_MAX_TEXT = 1 << 16
_MAX_DEPTH, _MAX_PATH = 64, 4096
#: Filters that are part of HDF5 or h5py; any other number makes HDF5 look for a program to load.
_FILTERS = (h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32, h5z.FILTER_LZF)


class Refused(InvalidInput):
    """A sentence that does not name the file yet."""


def list_datasets(file: h5py.File) -> list[str]:
    """Paths of all datasets of a file, which may hold no link that leads elsewhere."""
    paths: list[str] = []
    seen: set[Any] = set()
    # HDF5's own visit calls itself for every level and ends the process in a deep file.
    groups: list[tuple[Any, bytes, int]] = [(file.id, b"", 0)]
    while groups:
        group, path, depth = groups.pop()
        for name in _link_names(group):
            whole = path + name
            info = h5o.get_info(group, name)
            if info.type == h5o.TYPE_DATASET:
                paths.append(whole.decode("utf-8"))
            elif info.type == h5o.TYPE_GROUP and info.addr not in seen:
                seen.add(info.addr)
                if depth == _MAX_DEPTH or len(whole) > _MAX_PATH:
                    raise Refused(
                        f"the groups of a features file may nest {_MAX_DEPTH} levels deep with "
                        f"names of {_MAX_PATH:,} bytes in all, this one has more; make it again."
                    )
                groups.append((h5g.open(group, name), whole + b"/", depth + 1))
    return paths


def _link_names(group: Any) -> list[bytes]:
    names: list[bytes] = []

    def visit(name: bytes, info: Any) -> Any:
        names.append(name)
        return None if info.type == h5l.TYPE_HARD else info  # which ends the visit

    leads_elsewhere, _ = group.links.iterate(visit, info=True)
    if leads_elsewhere is not None:
        raise _elsewhere()
    return names


def find_group(file: h5py.File, path: str) -> h5py.Group | None:
    """The group at a path, step by step through the file itself; None where there is none."""
    group: h5py.Group = file["/"]
    for part in path.split("/"):
        name = part.encode()
        if not group.id.links.exists(name):
            return None
        _check_link(group.id.links.get_info(name))
        if h5o.get_info(group.id, name).type != h5o.TYPE_GROUP:
            return None
        group = group[part]
    return group


def read_arrays(group: h5py.Group, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Those of the named datasets that a group has, read whole."""
    arrays = {}
    for name in names:
        if group.id.links.exists(name.encode()):
            _check_link(group.id.links.get_info(name.encode()))
            if h5o.get_info(group.id, name.encode()).type == h5o.TYPE_DATASET:
                arrays[name] = _read_array(group, name)
    return arrays


def _read_array(group: h5py.Group, name: str) -> NDArray[Any]:
    dataset = h5d.open(group.id, name.encode())
    plan = dataset.get_create_plist()
    layout = plan.get_layout()
    if layout not in (h5d.COMPACT, h5d.CONTIGUOUS, h5d.CHUNKED) or plan.get_external_count():
        raise _elsewhere()
    kind = dataset.get_type()
    if kind.get_class() not in (h5t.INTEGER, h5t.FLOAT) or kind.get_size() > 8:
        raise Refused(f"{name} of a features file must hold numbers of up to 64 bits.")
    shape = dataset.get_space().get_simple_extent_dims()
    size = math.prod(shape) * kind.get_size()
    available = _stored_bytes(dataset, plan, shape, group.file.id.get_filesize())
    if size > min(available, MAX_ARRAY_BYTES):
        raise Refused(
            f"{name} of a features file announces {size:,} bytes, the file holds {available:,} "
            f"for it and at most {MAX_ARRAY_BYTES:,} are read; make the file again."
        )
    return np.asarray(h5py.Dataset(dataset)[()])


def _stored_bytes(dataset: Any, plan: Any, shape: tuple[int, ...], file_size: int) -> int:
    """How many bytes of numbers the file can hold for a dataset, whatever it announces."""
    filters = [plan.get_filter(number)[0] for number in range(plan.get_nfilters())]
    if not set(filters) <= set(_FILTERS):
        raise Refused(
            "a features file must be uncompressed, or compressed by gzip or lzf; this one names "
            "another program; write it again without."
        )
    stored = int(min(dataset.get_storage_size(), file_size))
    if plan.get_layout() != h5d.CHUNKED or not math.prod(shape):
        return stored
    chunk = plan.get_chunk()
    needed = math.prod(-(-side // step) for side, step in zip(shape, chunk, strict=True))
    if dataset.get_num_chunks() < needed:
        return 0  # what was never written would be made up of a fill value
    if math.prod(chunk) * dataset.get_type().get_size() > MAX_ARRAY_BYTES:
        raise Refused("a features file announces chunks that are too large; write it again.")
    packed = h5z.FILTER_DEFLATE in filters or h5z.FILTER_LZF in filters
    return stored * _DEFLATE_RATIO if packed else stored


def read_number(item: h5py.HLObject, name: str) -> int | None:
    """A whole number kept as an attribute, None where there is none."""
    value = _attribute(item, name, h5t.INTEGER, 8)
    return None if value is None else int(value)


def read_text(item: h5py.HLObject, name: str) -> str | None:
    """A text of fixed length kept as an attribute, None where there is none."""
    value = _attribute(item, name, h5t.STRING, _MAX_TEXT)
    return None if value is None else bytes(value).decode("utf-8")


def _attribute(item: h5py.HLObject, name: str, kind: int, limit: int) -> Any:
    if not h5a.exists(item.id, name.encode()):
        return None
    attribute = h5a.open(item.id, name.encode())
    stored = attribute.get_type()
    variable = stored.get_class() == h5t.STRING and stored.is_variable_str()
    if stored.get_class() != kind or variable or stored.get_size() > limit or attribute.shape != ():
        raise Refused(f"the attribute {name} of a features file is not what sfumato writes.")
    return item.attrs[name]


def _check_link(info: Any) -> None:
    if info.type != h5l.TYPE_HARD:
        raise _elsewhere()


def _elsewhere() -> Refused:
    return Refused(
        "a features file must hold its own data, this one refers to another place or file; "
        "copy what it refers to into it."
    )
