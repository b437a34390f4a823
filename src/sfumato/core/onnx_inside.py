"""What an ONNX file refers to outside itself: looked for before any program runs it.

A tensor may say that its numbers lie in another file. onnxruntime follows that even for a network
given as bytes, and looks in the working directory. The file is a protobuf message; it is walked
here field by field, without building anything, along every way on which a tensor can be reached:
initializers, dense and sparse, attributes of nodes, bodies of If, Loop and Scan, functions, and
training graphs. Operators must be those of the ONNX standard, or functions of the file itself:
onnxruntime's own may read files too.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.errors import InvalidInput

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_MAX_DEPTH = 64
_MAX_FIELDS = 10_000_000

# For each message of onnx.proto: the numbers of the fields that are messages which lead to tensors.
_PARTS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # of a tensor
_NODE_DOMAIN, _FUNCTION_DOMAIN = 7, 10
_STANDARD = {b"", b"ai.onnx", b"ai.onnx.ml"}

Field = tuple[int, int, int, int]  # number, kind, and where it lies, or its value as a varint


def check_network(data: bytes) -> None:
    """Refuse a network that refers to other files or to operators outside the standard."""
    if data[4:8] == b"ORTM":
        raise InvalidInput("onnxruntime's own format is not read; give the network as ONNX.")
    walk = _Walk(data)
    try:
        walk.message("model", 0, len(data), 0)
    except (ValueError, IndexError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("its bytes are not those of an ONNX file.") from None
    foreign = sorted(walk.used - walk.defined - _STANDARD)
    if foreign:
        shown = foreign[0].decode("ascii", "replace")[:40]
        raise InvalidInput(
            f"it has operators of {shown!r}, which may reach outside the file; "
            "export it with operators of the ONNX standard alone."
        )


class _Walk:
    """One pass over the fields of a model."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.used: set[bytes] = set()
        self.defined: set[bytes] = set()
        self._left = _MAX_FIELDS

    def message(self, kind: str, start: int, end: int, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise InvalidInput(f"it nests more than {_MAX_DEPTH} levels deep.")
        for number, form, low, high in self.fields(start, end):
            if kind == "tensor" and _is_elsewhere(number, form, low):
                raise InvalidInput(
                    "it keeps numbers in another file (external data), which is never opened; "
                    "save the network as one file."
                )
            if form != _LENGTH:
                continue
            if kind == "node" and number == _NODE_DOMAIN:
                self.used.add(self.data[low:high])
            if kind == "function" and number == _FUNCTION_DOMAIN:
                self.defined.add(self.data[low:high])
            part = _PARTS[kind].get(number)
            if part is not None:
                self.message(part, low, high, depth + 1)

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """The fields of a message; of a varint the value stands where it would begin."""
        at = start
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise InvalidInput(f"it has more than {_MAX_FIELDS:,} parts.")
            tag, at = self.varint(at, 5)
            number, form = tag >> 3, tag & 7
            if not number:
                raise ValueError("field 0")
            if form == _VARINT:
                value, at = self.varint(at, 10)
                if at > end:
                    raise ValueError("cut short")
                yield number, form, value, at
                continue
            if form == _LENGTH:
                length, at = self.varint(at, 10)
            elif form in (_EIGHT_BYTES, _FOUR_BYTES):
                length = 8 if form == _EIGHT_BYTES else 4
            else:  # groups, which ONNX has none of
                raise ValueError("unknown form")
            if length > end - at:
                raise ValueError("cut short")
            yield number, form, at, at + length
            at += length

    def varint(self, at: int, longest: int) -> tuple[int, int]:
        value = 0
        for place in range(longest):
            byte = self.data[at + place]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value, at + place + 1
        raise ValueError("a number without an end")


def _is_elsewhere(number: int, form: int, value: int) -> bool:
    # Any location but 0 is refused: readers keep the low 32 bits of a longer number.
    return (number == _EXTERNAL_DATA and form == _LENGTH) or (
        number == _DATA_LOCATION and form == _VARINT and value != 0
    )
