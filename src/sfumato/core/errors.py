"""Every error sfumato raises on purpose.

SfumatoError
├── InvalidInput            a value, an array or a file does not meet its requirement
│   ├── UnreadableImage     a picture that cannot be decoded
│   ├── MalformedRelease    bytes that are not one valid release
│   ├── CannotWrite         a file or folder that the system refuses to write; an OSError too
│   └── Mismatch            two things that do not belong together (extractor, dictionary)
├── DamagedFile             something on disk no longer is what was written
├── Missing                 an optional package or a weights file is not there
│   └── MissingExtra        a part of sfumato whose extra is not installed; an ImportError too
├── WorkerLost              a process or machine that worked for us is gone; try again
├── NotPrivate              a release that may not leave the device
└── LedgerError             the ledger cannot be read or written; nothing was released
    └── BudgetSpent         the ledger refuses: the cap would be exceeded

A message says what is required, what came, and what to do. It names parameters,
shapes and counts, never descriptors, coordinates or the file name of a picture
that is to stay on the device.
"""

from __future__ import annotations

from collections.abc import Sequence


class SfumatoError(Exception):
    """The root: catch this to catch everything sfumato refuses.

    >>> try:
    ...     sf.Naive(epsilon=-1, subset_size=2)
    ... except sf.SfumatoError as error:
    ...     print(error)
    epsilon must be above 0 and at most 64, got -1; choose a positive number.
    """


class InvalidInput(SfumatoError, ValueError):
    """A value, an array or a file does not meet its stated requirement."""


class UnreadableImage(InvalidInput):
    """A picture that cannot be decoded in full."""


class MalformedRelease(InvalidInput):
    """Bytes that are not exactly one valid release."""


class CannotWrite(InvalidInput, OSError):
    """A file or folder that cannot be written: no room, no permission, no such folder.

    It is an OSError as well, with that error's number, so that whoever goes on without the file
    (a cache, a full disk) need not know where it was raised.
    """

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.errno = number


class Mismatch(InvalidInput):
    """Two things that do not belong together: another extractor, another dictionary."""


class DamagedFile(SfumatoError):
    """Something on disk no longer is what was written."""


class Missing(SfumatoError):
    """An optional package, or a file of weights, is not there."""


class MissingExtra(Missing, ImportError):
    """A part of sfumato whose packages `pip install sfumato` leaves out; `extra` brings them."""

    def __init__(self, what: str, extra: str, packages: Sequence[str]) -> None:
        super().__init__(
            f'{what} needs the {extra} extra: pip install "sfumato[{extra}]"; '
            f"not installed here: {', '.join(packages)}."
        )
        self.what, self.extra, self.packages = what, extra, tuple(packages)


class WorkerLost(SfumatoError):
    """A process or a machine that worked for us ended before it answered."""


class NotPrivate(SfumatoError):
    """A release that may not leave the device, for instance one made with a known seed."""


class LedgerError(SfumatoError):
    """The ledger cannot be read or written; nothing was released."""


class BudgetSpent(LedgerError):
    """The charge would exceed the cap; nothing was released."""
