"""Messages of shards as bytes and back: plain values as JSON, arrays as they lie in memory.

No pickle: what comes from another process or machine is data, whatever that one has become.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sfumato.core.errors import DamagedFile
from sfumato.server.shards.shard import Message

_KINDS = "biuf"  # of arrays


def pack(message: Message) -> bytes:
    """A message of plain values and arrays as bytes."""
    arrays = {name: value for name, value in message.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in message.items() if name not in arrays}
    shapes = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    head = json.dumps({"plain": plain, "arrays": shapes}).encode()
    parts = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return b"".join([len(head).to_bytes(8, "little"), head, *parts])


def unpack(data: bytes) -> Message:
    """The message; its arrays are read-only."""
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:start])
        message: dict[str, Any] = dict(head["plain"])
        for name, kind, shape in head["arrays"]:
            dtype = np.dtype(kind)
            if dtype.kind not in _KINDS:
                raise ValueError("a type that no shard sends")
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, dtype, count, start) if count else np.zeros(0, dtype)
            message[name] = array.reshape(shape)
            start += array.nbytes
        if start != len(data):
            raise ValueError("its length is not the one it tells")
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedFile(f"a message of a shard is damaged: {error}.") from None
    return message
