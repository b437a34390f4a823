"""Networks in ONNX files: the one door to onnxruntime.

A file may come from anywhere. What it refers to outside itself is refused (`onnx_inside`), it runs
on the processor alone, and whatever onnxruntime says against it becomes one sentence. onnxruntime
tells nobody that it was used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.extras import need
from sfumato.core.files import open_plain
from sfumato.core.onnx_inside import check_network

#: The format itself ends at 2 GB; nothing a device should run comes near half of it.
MAX_BYTES = 1 << 30

_NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
_QUIET = 4  # fatal only: what goes wrong is raised, and said once


@dataclass(frozen=True)
class Port:
    """An input or output: its name, onnxruntime's type, and lengths, None where any will do."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


class OnnxFile:
    """A network loaded once, to be run many times.

    threads  onnxruntime may use; None leaves its choice
    what     names the network in errors: "a detector", "an inversion network"
    """

    def __init__(
        self, path: str | Path, *, threads: int | None = None, what: str = "a network"
    ) -> None:
        if threads is not None:
            check_count("threads", threads, low=1)
        self.path = Path(path)
        self.what = what
        data = read_network(self.path, what)
        runtime = _runtime(what)
        options = runtime.SessionOptions()
        options.log_severity_level = _QUIET
        options.add_session_config_entry("session.load_model_format", "ONNX")
        if threads is not None:
            options.intra_op_num_threads = threads
        try:
            self._session: Any = runtime.InferenceSession(
                # Falling back would print to standard output and try the same once more.
                data,
                options,
                providers=["CPUExecutionProvider"],
                enable_fallback=0,
            )
            self.inputs = tuple(_port(item) for item in self._session.get_inputs())
            self.outputs = tuple(_port(item) for item in self._session.get_outputs())
            meta = self._session.get_modelmeta().custom_metadata_map
        except Exception as error:
            # onnxruntime raises its own classes, one for each way a file can be wrong.
            raise InvalidInput(
                f"{self.path} is not {what} that onnxruntime can run: {_first_line(error)}"
            ) from error
        self.metadata: dict[str, str] = {str(key): str(value) for key, value in meta.items()}

    def run(
        self, values: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> list[NDArray[Any]]:
        """The outputs, all or those named, for one array per input."""
        names = None if outputs is None else list(outputs)
        try:
            made = self._session.run(names, dict(values))
        except Exception as error:
            # Wrong shapes and failing layers come as onnxruntime's own classes too.
            raise InvalidInput(
                f"{self.path} as {self.what} could not be run: {_first_line(error)}"
            ) from error
        return [np.asarray(value) for value in made]


def _runtime(what: str) -> Any:
    # From 1.31 on it keeps a number of this device and a record of its use under ~/.cache, to be
    # sent to its maker. The variable is read when it is loaded, and by nothing else.
    os.environ[_NO_TELEMETRY] = "1"
    need("detectors", what, "onnxruntime")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where the user's program had loaded it before
    return onnxruntime


def read_network(path: Path, what: str) -> bytes:
    """The bytes of an ONNX file that refers to nothing outside itself."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= MAX_BYTES:
                raise InvalidInput(
                    f"{path} must hold {what} of 1 to {MAX_BYTES:,} bytes, it has {size:,}; "
                    "name another file."
                )
            data = file.read(size)
    except FileNotFoundError:
        raise Missing(f"there is no file of {what} at {path}; name another one.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    try:
        check_network(data)
    except InvalidInput as error:
        raise InvalidInput(f"{path} is not {what} that can be run: {error}") from None
    return data


def _port(item: Any) -> Port:
    shape = tuple(length if isinstance(length, int) else None for length in item.shape or ())
    return Port(str(item.name), str(item.type), shape)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200].rstrip(".") + "."
