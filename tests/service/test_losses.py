"""Parts of a store are lost; what was acknowledged is kept, what was not is never seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from served import Serve, files_of
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.service.database import NAME, Database
from sfumato.service.keys import Keys
from sfumato.service.labels import ARRIVING, LABEL, read_label
from sfumato.service.storage import Store, StoredMap
from store_losses import (
    contents,
    forget_tables,
    killed_store,
    remove_database,
    start,
    store_with_maps,
    truncate_database,
)


@pytest.mark.parametrize("lose", [remove_database, truncate_database, forget_tables])
def test_a_lost_database_erases_no_map_and_repair_brings_all_back(
    serve: Serve, capsys: pytest.CaptureFixture[str], lose: Callable[[Path], None]
) -> None:
    ids = store_with_maps(serve)
    before = contents(serve.store)
    lose(serve.store)
    with pytest.raises(DamagedFile, match=r"has maps \(3\).*sfumato store repair"):
        start(serve)
    with pytest.raises(DamagedFile, match="sfumato store repair"):  # nor may a key hide the loss
        Keys(Database(serve.store)).create("a", "owner")
    assert contents(serve.store) == before

    assert sfumato("store", "check", serve.store) == 1
    assert sfumato("store", "repair", serve.store) == 0
    assert "nothing was changed yet: add --apply" in capsys.readouterr().out
    with pytest.raises(DamagedFile):
        start(serve)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert start(serve) == ids
    assert contents(serve.store) == before
    assert sfumato("store", "check", serve.store) == 0
    again = serve()
    listed = again.client.get("/v1/maps", headers=again.owner).json()["maps"]
    assert [entry["name"] for entry in listed] == ["map 0", "map 1", "map 2"]
    assert again.localize(min(ids), again.world.release).json()["localized"] is True


def test_the_log_of_an_emptied_database_is_kept(serve: Serve, tmp_path: Path) -> None:
    ids = killed_store(serve, tmp_path / "copy")
    truncate_database(serve.store)
    log = (serve.store / f"{NAME}-wal").read_bytes()
    assert log
    with pytest.raises(DamagedFile, match="missing or empty"):
        start(serve)
    assert (serve.store / f"{NAME}-wal").read_bytes() == log  # SQLite would have dropped it
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    (kept,) = (serve.store / "lost").rglob(f"{NAME}-wal")
    assert kept.read_bytes() == log
    assert start(serve) == ids


def test_a_store_whose_maps_are_not_mounted_is_refused_and_unchanged(serve: Serve) -> None:
    ids = store_with_maps(serve)
    away = serve.store / "maps-elsewhere"
    (serve.store / "maps").rename(away)
    with pytest.raises(InvalidInput, match=r"missing .*\(3 of 3\).*--drop-missing"):
        start(serve)
    (serve.store / "maps").mkdir()  # an empty mount point is no better
    with pytest.raises(InvalidInput, match="3 of 3"):
        start(serve)
    (serve.store / "maps").rmdir()
    away.rename(serve.store / "maps")
    assert start(serve) == ids


def test_a_copy_without_its_log_keeps_every_map(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = killed_store(serve, tmp_path / "copy", count=2)
    before = contents(serve.store)
    for name in ("wal", "shm"):
        (serve.store / f"{NAME}-{name}").unlink()
    left = start(serve)
    assert len(left) == 1
    (lost,) = ids - left
    assert files_of(serve.store / "aside") == [lost]
    assert contents(serve.store) == before
    assert sfumato("store", "check", serve.store, "--json") == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["kind"], finding["name"]) == ("unknown", lost)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert start(serve) == ids
    assert contents(serve.store) == before


def test_a_store_of_which_most_maps_are_unknown_is_refused(serve: Serve, tmp_path: Path) -> None:
    ids = killed_store(serve, tmp_path / "copy", count=4)
    (serve.store / f"{NAME}-wal").unlink()
    with pytest.raises(
        InvalidInput, match=r"not in metadata.db \(3, and 1 known\).*sfumato store repair"
    ):
        start(serve)
    assert files_of(serve.store / "maps") == sorted(ids)


def test_a_deleted_map_does_not_come_back_and_is_not_kept(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    gone, kept = served.map_id("gone"), served.map_id("kept")

    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "erase", cut)
        with pytest.raises(KeyboardInterrupt):
            served.service.store.remove("a", gone)
    serve.close()
    assert files_of(serve.store / "maps") == sorted([gone, kept])
    assert start(serve) == {kept}
    assert files_of(serve.store / "maps") == [kept]
    assert not files_of(serve.store / "aside")


def test_an_upload_that_was_cut_explains_itself(serve: Serve) -> None:
    (kept,) = store_with_maps(serve, 1)
    maps = serve.store / "maps"
    shutil.copytree(maps / kept, maps / "cut")
    (maps / "cut" / LABEL).rename(maps / "cut" / ARRIVING)
    assert start(serve) == {kept}
    assert files_of(maps) == [kept]
    assert not files_of(serve.store / "aside")


@pytest.mark.parametrize("labels", [(), (LABEL, ARRIVING)])
def test_a_map_without_a_row_is_erased_only_if_it_was_never_acknowledged(
    serve: Serve, labels: tuple[str, ...]
) -> None:
    (kept,) = store_with_maps(serve, 1)
    stranger = serve.store / "maps" / "stranger"
    shutil.copytree(serve.store / "maps" / kept, stranger)
    label = (stranger / LABEL).read_bytes()
    (stranger / LABEL).unlink()
    for name in labels:
        (stranger / name).write_bytes(label)
    assert start(serve) == {kept}
    assert files_of(serve.store / "aside") == ["stranger"]


def test_an_upload_cut_after_its_row_is_finished(serve: Serve) -> None:
    (room,) = store_with_maps(serve, 1)
    folder = serve.store / "maps" / room
    (folder / LABEL).rename(folder / ARRIVING)
    assert start(serve) == {room}
    assert (folder / LABEL).exists()
    assert not (folder / ARRIVING).exists()


def test_a_label_that_disagrees_with_its_row_is_written_anew(serve: Serve) -> None:
    """Else a repair after the next loss would give a map to whom the label names."""
    first, second = sorted(store_with_maps(serve, 2))
    labels = [serve.store / "maps" / one / LABEL for one in (first, second)]
    right = labels[0].read_bytes()
    for wrong in (labels[1].read_bytes(), b"", b"{}", None):
        if wrong is None:
            labels[0].unlink()
        else:
            labels[0].write_bytes(wrong)
        start(serve)
        assert labels[0].read_bytes() == right


def test_labels_that_are_on_disks_today_can_be_read(tmp_path: Path) -> None:
    label = (
        '{"format": 1, "tenant": "ann", "id": "aaaa", "name": "hall", "info": {"points": 3},'
        ' "checksum": "2002c920d3d97804f31fd97d7f0f45204d56b1fe0bf513e90b02b4d3f0cb5e21"}'
    )
    (tmp_path / LABEL).write_text(label)
    assert read_label(tmp_path) == StoredMap("ann", "aaaa", "hall", {"points": 3})
