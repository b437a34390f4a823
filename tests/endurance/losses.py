"""Ways in which a store loses a part, and what docs/deploy.md tells the operator to do then."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

from endurance.rig import NotStarted, Server, make_key
from sfumato.cli.app import main as sfumato
from sfumato.service.database import NAME, Database, map_folders
from sfumato.service.keys import Keys
from store_losses import remove_database, truncate_database


def lose_log(store: Path) -> None:
    """The database as of its last checkpoint: a backup made by copying the wrong files."""
    for name in (f"{NAME}-wal", f"{NAME}-shm"):
        (store / name).unlink(missing_ok=True)


def unmount_maps(store: Path) -> None:
    (store / "maps").rename(store.with_name("maps-elsewhere"))


LOSSES: tuple[Callable[[Path], None], ...] = (
    remove_database,
    truncate_database,
    lose_log,
    unmount_maps,
)


class Operator:
    """Loses something, sees that the service refuses, and repairs it by the book."""

    def __init__(
        self,
        store: Path,
        begin: Callable[[], Server],
        require: Callable[[bool, str], None],
        rng: random.Random,
    ) -> None:
        self._store, self._begin, self._require, self._random = store, begin, require, rng

    def suffer(self, lose: Callable[[Path], None], key: str) -> str:
        """One loss and its repair; the key that works afterwards."""
        maps = self._store / "maps"
        before = {path.name for path in map_folders(maps)}
        lose(self._store)
        if lose is unmount_maps:
            self._must_be_refused("mount or restore them")
            if maps.is_dir():
                maps.rmdir()
            self._store.with_name("maps-elsewhere").rename(maps)
            self._require({path.name for path in map_folders(maps)} == before, "a map was touched")
            return key
        if lose is not lose_log:
            self._must_be_refused("sfumato store repair")
            self._require({path.name for path in map_folders(maps)} == before, "a map was erased")
        elif self._random.random() < 0.5:
            self._try_to_start()  # moves aside what it does not know
        self._repair()
        with contextlib.closing(Database(self._store)) as database:
            known = Keys(database).find(key) is not None
        return key if known else make_key(self._store)

    def _must_be_refused(self, sentence: str) -> None:
        told = self._try_to_start()
        self._require(told is not None, "the service started on half a store")
        self._require(told is None or sentence in told, f"the refusal does not say {sentence!r}")

    def _try_to_start(self) -> str | None:
        """The log's end if it did not start."""
        server = self._begin()
        try:
            server.wait_ready()
        except NotStarted as error:
            return str(error)
        finally:
            server.kill()
        return None

    def _repair(self) -> None:
        """What is missing after the log was lost are maps that had been deleted since."""
        self._run("repair", "--drop-missing", "--apply")
        code, shown = self._run("check", "--json")
        self._require(code == 0, f"after the repair something is wrong: {shown}")

    def _run(self, command: str, *words: str) -> tuple[int, str]:
        shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(shown):
                sfumato(["store", command, str(self._store), *words])
        except SystemExit as ended:
            text = shown.getvalue()
            findings = json.loads(text)["findings"] if command == "check" else text
            return int(str(ended.code)), str(findings)
        raise AssertionError("a command always ends with an exit code")
