"""A process that computes for the service and can be stopped at any moment.

What a stranger sent is decoded and worked on here, never in the process that answers requests:
it can be ended in the middle, its memory and its processor time are limited by the kernel, and
nothing that it does holds up other requests. What comes back is JSON, not pickled objects.

Processes are forked from one that has imported and compiled everything (`preload.py`), so that a
new one is there in milliseconds.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.service import logs
from sfumato.service.errors import ServiceError, busy, from_sfumato, from_storage, internal

_IDLE_SECONDS = 2.0
_LOOK_EVERY = 0.1  # seconds between looks at whether anybody still waits
#: glibc keeps what was freed; a large query would stay in the size of the process for ever.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", "sfumato.service.preload"])

#: `charge(cost)` says what the work is about to cost; it raises what refuses the work.
Charge = Callable[[int], None]
Work = Callable[[dict[str, Any], bytes, Charge], Any]
#: The folder of a map and messages to its shards → the answers of those that gave one.
AskShards = Callable[[str, Mapping[int, bytes]], Mapping[int, bytes]]


@dataclass(frozen=True)
class Limits:
    """What one piece of work may use; None means no limit."""

    memory_bytes: int
    cpu_seconds: int | None = None
    nice: int = 0


class Stopped(Exception):
    """The process was ended because nobody waits for its work any more."""


class Computer:
    """One process, used by one thread at a time. It is started again after it had to be ended."""

    def __init__(self, limits: Limits, ask_shards: AskShards | None = None) -> None:
        self._limits, self._ask_shards = limits, ask_shards
        self._process: Any = None
        self._line: Connection[Any, Any] | None = None
        self._at_exit: Any = None

    def start(self) -> None:
        """Fork, and wait until it can compute."""
        ours, theirs = _context.Pipe()
        process = _context.Process(target=_serve, args=(theirs, self._limits), daemon=True)
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        # This process would wait at its own end, for ever, for one that ignores SIGTERM.
        self._at_exit = Finalize(None, process.kill, exitpriority=1)
        self._process, self._line = process, ours
        try:
            ours.recv_bytes()
        except (EOFError, OSError):
            self.end()
            raise OSError(errno.EAGAIN, "a computing process ended before it was ready") from None

    def run(
        self,
        work: Work,
        settings: dict[str, Any],
        body: bytes,
        charge: Charge,
        *,
        is_wanted: Callable[[], bool],
    ) -> Any:
        """The result of `work(settings, body)` there, or the ServiceError it ended with."""
        if self._process is None:
            try:
                self.start()
            except (OSError, EOFError) as error:
                logs.log("no computing process", level=logs.ERROR, **logs.describe_error(error))
                raise busy("no process can be started for this now; try again.", 2) from None
        assert self._line is not None
        name = f"{work.__module__}:{work.__qualname__}"
        try:
            self._line.send_bytes(json.dumps({"work": name, "settings": settings}).encode())
            self._line.send_bytes(body)
            while True:
                while not self._line.poll(_LOOK_EVERY):
                    if not is_wanted():
                        self.end()
                        raise Stopped
                answer = json.loads(self._line.recv_bytes())
                if "cost" in answer:
                    self._line.send_bytes(_verdict(charge, answer["cost"]))
                elif "shards" in answer:
                    messages = {int(n): self._line.recv_bytes() for n in answer["shards"]}
                    assert self._ask_shards is not None
                    _send_parts(self._line, {}, self._ask_shards(answer["folder"], messages))
                else:
                    break
        except (EOFError, OSError):
            raise self._death() from None
        if "error" in answer:
            raise ServiceError.from_dict(answer["error"])
        return answer["result"]

    def give_way(self) -> None:
        """Compute only when nobody else wants to; the process is not used again afterwards."""
        if self._process is not None and self._process.pid is not None:
            try:
                os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)
            except ProcessLookupError:
                return

    def end(self) -> None:
        if self._process is not None:
            self._at_exit.cancel()
            self._process.kill()
            self._process.join()
            self._process.close()
            assert self._line is not None
            self._line.close()
        self._process = self._line = None

    def _death(self) -> ServiceError:
        """Why the process is gone: the limit of processor time, or something worse."""
        self._process.join()
        code = self._process.exitcode
        self.end()
        if code == -signal.SIGXCPU:
            return ServiceError(
                413,
                "too-much-work",
                f"this takes more than {self._limits.cpu_seconds} s of computing; send fewer "
                "keypoints, or words of a larger dictionary.",
            )
        logs.log("a computing process died", level=logs.ERROR, exit=code)
        return internal()


class Parent:
    """What work may ask of the process that answers: called, it charges."""

    def __init__(self, line: Connection[Any, Any]) -> None:
        self._line = line

    def __call__(self, cost: int) -> None:
        self._line.send_bytes(json.dumps({"cost": cost}).encode())
        verdict = json.loads(self._line.recv_bytes())
        if "error" in verdict:
            raise ServiceError.from_dict(verdict["error"])

    def ask_shards(self, folder: str, messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        _send_parts(self._line, {"folder": folder}, messages)
        return {n: self._line.recv_bytes() for n in json.loads(self._line.recv_bytes())["shards"]}


def _send_parts(line: Connection[Any, Any], more: Any, parts: Mapping[int, bytes]) -> None:
    line.send_bytes(json.dumps({"shards": [*parts], **more}).encode())
    for part in parts.values():
        line.send_bytes(part)


def _verdict(charge: Charge, cost: int) -> bytes:
    try:
        charge(cost)
    except ServiceError as error:
        return json.dumps({"error": error.to_dict()}).encode()
    return b"{}"


def _serve(line: Connection[Any, Any], limits: Limits) -> None:
    """The life of a computing process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the process that answers says when it is over
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logs.configure()
    if limits.nice:
        os.nice(limits.nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, OSError):  # the process that answers is gone
        line.send_bytes(b"ready")
        while True:
            while not line.poll(_IDLE_SECONDS):
                _rest()
            task = json.loads(line.recv_bytes())
            body = line.recv_bytes()
            line.send_bytes(json.dumps(_answer(task, body, line, limits)).encode())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _rest() -> None:
    from sfumato.service.work import forget_deleted_maps

    forget_deleted_maps()
    if _trim is not None:
        _trim(0)


def _answer(
    task: dict[str, Any], body: bytes, line: Connection[Any, Any], limits: Limits
) -> dict[str, Any]:
    module, _, name = task["work"].partition(":")
    try:
        work: Work = getattr(importlib.import_module(module), name)
        _limit(limits)
        return {"result": work(task["settings"], body, Parent(line))}
    except ServiceError as error:
        return {"error": error.to_dict()}
    except SfumatoError as error:
        return {"error": from_sfumato(error).to_dict()}
    except OSError as error:
        return {"error": from_storage(error).to_dict()}
    except MemoryError:
        return {"error": _too_much_memory(limits).to_dict()}
    except Exception as error:  # noqa: BLE001 - it becomes a log line and a 500
        logs.log("a computation failed", level=logs.ERROR, **logs.describe_error(error))
        return {"error": internal().to_dict()}
    finally:
        _unlimit()


def _limit(limits: Limits) -> None:
    """From now on, so much more memory of its own and so much more processor time.

    Files that are mapped for reading do not count: maps are as large as they are.
    """
    held = next(
        int(row.split()[1]) * 1024
        for row in Path("/proc/self/status").read_text().splitlines()
        if row.startswith("VmData:")
    )
    _set_soft(resource.RLIMIT_DATA, held + limits.memory_bytes)
    if limits.cpu_seconds is not None:
        _set_soft(resource.RLIMIT_CPU, int(time.process_time()) + 1 + limits.cpu_seconds)


def _unlimit() -> None:
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
        _set_soft(kind, resource.getrlimit(kind)[1])


def _set_soft(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _too_much_memory(limits: Limits) -> ServiceError:
    return ServiceError(
        413,
        "too-much-work",
        f"this takes more than {limits.memory_bytes >> 20} MiB of memory; send fewer keypoints, or "
        "words of a larger dictionary.",
    )
