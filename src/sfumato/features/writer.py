"""The one writer of a features file.

HDF5 has no journal: a process killed while it writes can leave a file nobody can read. So a
finished picture goes into a file of its own, whole or absent, in the folder
`<features file>.parts`. When all is done they are joined into a new file that takes the
place of the old one in one step. Stopped at any moment, the features file is what it was
before, and the next writer goes on with the parts it finds.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import h5py

from sfumato.core.checks import check_count
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.frozen import check_extractor_name
from sfumato.core.locks import try_lock
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import TEMPORARY, sync_directory, write_file
from sfumato.core.types import Features
from sfumato.features.h5 import (
    EXTRACTOR,
    LAYOUT,
    check_picture_name,
    list_feature_names,
    open_features,
    set_text,
    write_group,
)
from sfumato.features.h5_inside import read_text

_SETTINGS, _NAME = "sfumato_settings", "sfumato_name"
_LOCK, _WHOLE, _PART = "lock", "whole.h5", ".part.h5"


def write_part(parts: Path, name: str, features: Features) -> None:
    """Store one picture's features in a writer's folder of parts, from any process."""
    check_picture_name(name)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=LAYOUT) as file:
        set_text(file, _NAME, name)
        write_group(file, name, features)
    write_file(_part(parts, name), buffer.getvalue())


def _part(parts: Path, name: str) -> Path:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return parts / (digest[:40] + _PART)


class FeatureWriter:
    """Add pictures to a features file; they appear in it together, at the end of `with`.

    An error inside `with` leaves the features file as it was and keeps the parts, for the
    next writer with the same settings. One file has one extractor, one max_keypoints, one
    set of weights, and one writer at a time.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        extractor: str,
        max_keypoints: int | None = None,
        weights: str | Path | None = None,
        progress: Progress = silent,
    ) -> None:
        self.path = Path(path)
        self.extractor = check_extractor_name(extractor)
        if max_keypoints is not None:
            check_count("max_keypoints", max_keypoints, low=1)
        self._settings = json.dumps(
            {
                "extractor": extractor,
                "max_keypoints": max_keypoints,
                "weights": None if weights is None else _fingerprint(Path(weights)),
            }
        )
        self.parts = self.path.with_name(self.path.name + ".parts")
        self._progress = progress
        self._stored: frozenset[str] = frozenset()
        self._lock: int | None = None

    def __enter__(self) -> FeatureWriter:
        if self.path.is_dir():
            raise InvalidInput(f"{self.path} is a folder; give the name of a features file.")
        if not self.path.parent.is_dir():
            raise InvalidInput(f"the folder {self.path.parent} does not exist; make it first.")
        if self.path.exists():
            with open_features(self.path) as file:
                self._check_settings(read_text(file, _SETTINGS))
        self._lock = self._take_lock()
        try:
            settings = self.parts / "settings.json"
            if settings.exists():
                self._check_settings(settings.read_text(encoding="utf-8"))
            else:
                write_file(settings, self._settings.encode())
            for leftover in self.parts.glob(f"{TEMPORARY}*"):
                leftover.unlink()
            if self.path.exists():
                self._stored = frozenset(list_feature_names(self.path))
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._join()
            elif not any(self.parts.glob(f"*{_PART}")):
                shutil.rmtree(self.parts)  # nothing to go on with
        finally:
            self._release()

    def __contains__(self, name: str) -> bool:
        """Is this picture complete, from this run or an earlier one?"""
        return name in self._stored or _part(self.parts, name).exists()

    def add(self, name: str, features: Features) -> None:
        """Store one picture's features; when this returns they survive a kill."""
        if self._lock is None:
            raise InvalidInput("a FeatureWriter must be opened first: with FeatureWriter(…) as w.")
        if features.extractor != self.extractor:
            raise Mismatch(
                f"{self.path} takes {self.extractor} features, got {features.extractor}."
            )
        if name in self:
            raise InvalidInput(f"{self.path} holds {name!r} already; a picture is added once.")
        write_part(self.parts, name, features)

    def _join(self) -> None:
        """Old pictures and new ones into one new file, which then takes the old one's place."""
        parts = sorted(self.parts.glob(f"*{_PART}"))
        if parts or not self.path.exists():
            whole = self.parts / _WHOLE
            whole.unlink(missing_ok=True)
            if self.path.exists():
                shutil.copyfile(self.path, whole)
            with h5py.File(whole, "a", libver=LAYOUT) as file:
                set_text(file, EXTRACTOR, self.extractor)
                set_text(file, _SETTINGS, self._settings)
                for done, part in enumerate(parts, start=1):
                    self._copy(part, file)
                    self._progress("joining", done, len(parts))
            with whole.open("rb") as handle:
                os.fsync(handle.fileno())
            whole.replace(self.path)
            sync_directory(self.path.parent)
        shutil.rmtree(self.parts)

    def _copy(self, part: Path, file: h5py.File) -> None:
        try:
            with h5py.File(part, "r") as source:
                name = read_text(source, _NAME) or ""
                # Killed between taking the place of the old file and removing the parts.
                if name not in self._stored:
                    source.copy(source[name], file, name=name)
        except (OSError, RuntimeError, KeyError, ValueError):
            raise DamagedFile(
                f"{part} cannot be added to {self.path}: it is damaged, or its picture's name "
                "is the folder of another; remove it and run again."
            ) from None

    def _check_settings(self, written: str | None) -> None:
        if written is None:
            raise Mismatch(
                f"{self.path} was not written by sfumato; choose another name for the output."
            )
        if written != self._settings:
            raise Mismatch(
                f"{self.path} was begun with {_in_words(written)}, this run asks for "
                f"{_in_words(self._settings)}; choose another output, or remove it and "
                f"{self.parts.name}."
            )

    def _take_lock(self) -> int:
        """Lock the parts; the system lets go of it when the process ends, however it ends."""
        while True:
            self.parts.mkdir(exist_ok=True)
            try:
                lock = os.open(self.parts / _LOCK, os.O_CREAT | os.O_RDWR)
            except FileNotFoundError:
                continue  # another writer finished and removed the folder just now
            is_mine = try_lock(lock)
            with contextlib.suppress(FileNotFoundError):
                if is_mine and (self.parts / _LOCK).stat().st_ino == os.fstat(lock).st_ino:
                    return lock
            os.close(lock)
            if not is_mine:
                raise InvalidInput(
                    f"{self.path} is being written by another process; "
                    "wait for it or choose another output."
                )

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _fingerprint(weights: Path) -> str:
    try:
        return hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
    except OSError:
        raise InvalidInput(f"the weights at {weights} cannot be read.") from None


def _in_words(settings: str) -> str:
    try:
        values = json.loads(settings)
        limit = values["max_keypoints"]
        tail = f" and weights {values['weights']}" if values["weights"] else ""
        return f"{values['extractor']}, {'all' if limit is None else limit} keypoints{tail}"
    except (ValueError, TypeError, KeyError):
        return "other settings"
