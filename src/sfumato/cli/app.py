"""The entry point: light to import, so that a closed output or Ctrl-C is met from the start."""

from __future__ import annotations

import atexit
import codecs
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from types import FrameType

from sfumato.core.text import spell_out

_STOPPED = b"sfumato: stopped\n"
_SPELL_OUT = "sfumato-spell-out"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with exit code 2 and one sentence."""
    alone = arguments is None  # the process is ours; otherwise a test or a program calls
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if alone:
            signal.signal(signal.SIGINT, _leave_at_once)  # nothing was begun yet
            # Python gives Ctrl-C its default action back while it ends; what is done is done.
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
            _repair_streams()
        from sfumato.cli.registry import run_command

        with _interruptible() if alone else nullcontext():
            code = run_command(words)
    except KeyboardInterrupt:
        _say(_STOPPED)
        code = 130
    raise SystemExit(code)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the work, which then removes what it left half done; a second one ends all."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _leave_at_once)


def _leave_at_once(_number: int, _frame: FrameType | None) -> None:
    _say(_STOPPED)
    os._exit(130)


def _repair_streams() -> None:
    """Fill the places of streams that are closed, or the next file would take them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
    if sys.stdout is None:
        _say(b"sfumato: the output is closed; give it a place to go, /dev/null for instance.\n")
        raise SystemExit(2)
    codecs.register_error(_SPELL_OUT, spell_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter this terminal lacks is no reason to stop
            stream.reconfigure(errors=_SPELL_OUT)


def _say(text: bytes) -> None:
    with suppress(OSError):
        os.write(2, text)
