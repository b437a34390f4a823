"""`sfumato store check`, `repair`, `backup` and `restore`: keep a service's maps safe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options as opt
from sfumato.cli.options import argument, option
from sfumato.cli.output import JsonFlag, emit_json, emit_lines, long_work

BackupArgument = Annotated[Path, argument("BACKUP", "A folder of `sfumato store backup`.")]


def check(store: opt.Store, as_json: JsonFlag = False) -> None:
    """Changes nothing, and may run while the store is served. Exit code 1 if something is wrong.

    Example: sfumato store check store
    """
    from sfumato.service.store_check import check_store

    with long_work() as progress:
        whole, findings = check_store(store, progress=progress)
    if as_json:
        listed = [vars(one) for one in findings]
        emit_json({"ok": not findings, "maps": whole, "findings": listed})
    else:
        _say([one.sentence for one in findings])
        verdict = f"{len(findings)} things are wrong" if findings else "nothing is wrong"
        emit_lines([f"{whole} maps are whole; {verdict}."])
    raise typer.Exit(int(bool(findings)))


def repair_store(
    store: opt.Store,
    apply: Annotated[bool, option("Do it; without this it is only shown.")] = False,
    drop_missing: Annotated[bool, option("Forget maps whose files are nowhere.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Shows what it would do; --apply does it, while no service runs. Nothing is erased.

    Example: sfumato store repair store --apply
    """
    from sfumato.service.database import one_sentence
    from sfumato.service.store_repair import plan_repair, repair

    work = repair if apply else plan_repair
    with one_sentence(store), long_work() as progress:
        plan = work(store, drop_missing=drop_missing, progress=progress)
    if as_json:
        emit_json({"applied": apply, "actions": plan.sentences(), "left": plan.left})
        return
    _say(plan.sentences() + plan.left)
    count = len(plan.sentences())
    if apply:
        emit_lines([f"done: {count} actions."])
    elif count:
        emit_lines([f"{count} actions; nothing was changed yet: add --apply."])
    else:
        emit_lines(["there is nothing to repair."])


def backup(store: opt.Store, target: BackupArgument, as_json: JsonFlag = False) -> None:
    """May run while the store is served; the folder must be a new one. On the same file system
    the copy consists of hard links; on another one of copies.

    Example: sfumato store backup store /backup/store-monday
    """
    from sfumato.service.backup import back_up

    with long_work() as progress:
        made = back_up(store, target, progress=progress)
    if as_json:
        emit_json({"target": str(target), "maps": made.maps, "linked": made.linked})
        return
    how = "linked (same disk: copy it to another one)" if made.linked else "copied"
    emit_lines([f"{made.maps} maps {how} to {target}, every checksum compared."])


def restore_store(backup: BackupArgument, store: opt.Store, as_json: JsonFlag = False) -> None:
    """A folder that holds anything is refused.

    Example: sfumato store restore /backup/store-monday store
    """
    from sfumato.service.backup import restore

    with long_work() as progress:
        made = restore(backup, store, progress=progress)
    if as_json:
        emit_json({"store": str(store), "maps": made.maps})
        return
    emit_lines(
        [
            f"{made.maps} maps restored to {store}, every checksum compared.",
            "Keys are as they were when the backup was made: revoke again what was revoked since.",
        ]
    )


def _say(sentences: list[str]) -> None:
    emit_lines(f"- {sentence}" for sentence in sentences)
