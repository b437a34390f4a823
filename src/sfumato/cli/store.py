"""`sfumato store check`, `repair`, `backup` and `restore`: keep a service's maps safe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar

app = typer.Typer(
    help="Check, repair, back up and restore a service's folder.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
Folder = Annotated[Path, typer.Argument(metavar="STORE", help="The service's folder.")]


@app.command()
def check(store: Folder, as_json: JsonFlag = False) -> None:
    """Compare metadata, folders and every checksum. Changes nothing; exit code 1 if one is wrong.

    May run while the store is served.

    Example: sfumato store check store
    """
    from sfumato.service.store_check import check_store

    with progress_bar(quiet=as_json) as progress:
        whole, findings = check_store(store, progress=progress)
    if as_json:
        listed = [vars(one) for one in findings]
        emit_json({"ok": not findings, "maps": whole, "findings": listed})
    else:
        _say([one.sentence for one in findings])
        verdict = f"{len(findings)} things are wrong" if findings else "nothing is wrong"
        emit_lines([f"{whole} maps are whole; {verdict}."])
    raise typer.Exit(int(bool(findings)))


@app.command("repair")
def repair_store(
    store: Folder,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it; without this it is only shown.")
    ] = False,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Forget maps whose files are nowhere.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Take maps in again that the metadata does not know, and bring back what was set aside.

    Shows what it would do; --apply does it, while no service runs. Nothing is erased.

    Example: sfumato store repair store --apply
    """
    from sfumato.service.database import one_sentence
    from sfumato.service.store_repair import plan_repair, repair

    work = repair if apply else plan_repair
    with one_sentence(store), progress_bar(quiet=as_json) as progress:
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


@app.command()
def backup(
    store: Folder,
    target: Annotated[Path, typer.Argument(help="A new folder.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a checked copy of keys and maps. May run while the store is served.

    On the same file system the copy consists of hard links; on another one of copies.

    Example: sfumato store backup store /backup/store-monday
    """
    from sfumato.service.backup import back_up

    with progress_bar(quiet=as_json) as progress:
        made = back_up(store, target, progress=progress)
    if as_json:
        emit_json({"target": str(target), "maps": made.maps, "linked": made.linked})
        return
    how = "linked (same disk: copy it to another one)" if made.linked else "copied"
    emit_lines([f"{made.maps} maps {how} to {target}, every checksum compared."])


@app.command("restore")
def restore_store(
    backup: Annotated[Path, typer.Argument(help="What `sfumato store backup` wrote.")],
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A new folder.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a store from a backup. A folder that holds anything is refused.

    Example: sfumato store restore /backup/store-monday store
    """
    from sfumato.service.backup import restore

    with progress_bar(quiet=as_json) as progress:
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
