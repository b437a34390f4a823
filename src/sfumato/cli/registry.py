"""Commands are registered here, and errors become one sentence here."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from sfumato import __version__
from sfumato.cli.command import LazyGroup, make_command
from sfumato.cli.experiment import Experiments
from sfumato.cli.output import complain, emit_lines, show_traceback, speak_as_usual
from sfumato.core.errors import MissingExtra, SfumatoError
from sfumato.core.extras import public_name
from sfumato.core.plugins import blame


def _show_version(wanted: bool) -> None:
    if wanted:
        emit_lines([f"sfumato {__version__}"])
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Privacy toolkit for image features: protect, work with, attack and measure.

    First: sfumato demo. Then: sfumato protect IMAGE --explain --epsilon 8. Every mechanism on one
    map, utility against leak: sfumato frontier, short for sfumato experiment frontier
    """


def _group(summary: str, **entries: tuple[str, str]) -> LazyGroup:
    named = {name.rstrip("_"): entry for name, entry in entries.items()}
    return LazyGroup(named, help=summary)


#: Every command: where its function is, and the first line of its help.
COMMANDS: dict[str, tuple[str, str] | LazyGroup] = {
    "demo": ("demo:run", "Localize photographs of a room, and show what left the device."),
    "studio": ("studio:run", "Show in the browser what leaves, what comes back, what it costs."),
    "extract": ("extract:run", "Find and describe the keypoints of a picture or of a folder."),
    "extractor": _group(
        "Make an extractor of the published weights of a network.",
        export=("extractor:export", "Write EdgePoint2 or ALIKED as one ONNX file."),
    ),
    "frames": ("frames:run", "Take pictures out of a video, every N-th frame."),
    "dictionary": _group(
        "Build public dictionaries, or say what one is made of.",
        build=("dictionary:build", "Cluster the descriptors of public pictures into words."),
        info=("dictionary:info", "Check a dictionary and show its manifest."),
        space=("global_descriptor:space", "Make the public map of pictures' global descriptors."),
    ),
    "map": _group(
        "Build, import and look at maps, and send them to a server.",
        build=("map:build", "Build a map from the map-maker's own pictures."),
        import_=("map_import:run", "Make a map from a COLMAP model and hloc's features file."),
        export=("map_export:export", "Write a map for COLMAP, hloc or a viewer of points."),
        matches=("map_export:matches", "Match releases, as a database for COLMAP's mapper."),
        show=("map_show:run", "Draw a map from above and from the side, as a picture."),
        info=("map:info", "Check a map and say what it holds."),
        index=("map:index", "File a map under a dictionary, so that queries need not."),
        shard=("map_shard:run", "Cut a map into shards, for machines that hold a part each."),
        push=("map_push:run", "Upload a map to a server."),
        list=("map_server:list_maps", "List the maps of a server."),
        delete=("map_server:delete", "Erase a map from a server."),
    ),
    "protect": ("protect:run", "Replace descriptors of pictures by random public words."),
    "localize": (
        "localize:run",
        "Find the poses of releases or pictures, or say why not.",
    ),
    "ask": _group(
        "Ask a server where a picture was taken; it stays here.",
        photo=("ask:ask_photo", "Protect a photograph, send its words, and print the pose."),
        release=("ask:ask_release", "Send a release that exists, and print the pose."),
    ),
    "ledger": _group(
        "Look at the account of what left this device.",
        show=("ledger:show", "Say what has been spent, and what no ε protects."),
    ),
    "attack": _group(
        "Show what a curious server can make of what it is sent.",
        photo=("attack_photo:run", "Send a photograph in every way and paint it again, as a page."),
        release=("attack_release:run", "Run every attack that applies to a release."),
    ),
    "invert": _group(
        "Train and use networks that paint pictures from features.",
        train=("invert_train:run", "Train a network that paints pictures from what is sent."),
        frames=("invert_frames:run", "Train the network that infers angle and size of keypoints."),
        export=("invert_export:run", "Write the network of a run as ONNX."),
        compare=("invert_compare:run", "Score several networks on the same photographs."),
        picture=("invert_picture:run", "Paint the picture behind a release or features."),
    ),
    "classify": _group(
        "Learn from pictures that were randomized before sharing.",
        encoder=("classify_encoder:run", "Make an encoder, which turns pictures into codes."),
        protect=("classify_protect:run", "Randomize the codes of pictures, one release for each."),
        train=("classify:train", "Learn a classifier from releases."),
        predict=("classify:predict", "Classify pictures that are here, or releases."),
    ),
    "faces": _group(
        "Send an embedding of a face under one ε, and compare it with another.",
        space=("faces:space", "Make the public map that embeddings are sent through."),
        protect=("faces:protect", "Send one embedding as a private unit vector."),
        verify=("faces:verify", "Compare an enrolled face with a release."),
    ),
    "serve": ("serve:run", "Serve maps to devices that send releases, never pictures."),
    "store": _group(
        "Check, repair, back up and restore a service's folder.",
        check=("store:check", "Compare metadata, folders and every checksum."),
        repair=("store:repair_store", "Take in maps that the metadata does not know."),
        backup=("store:backup", "Write a checked copy of keys and maps."),
        restore=("store:restore_store", "Make a store from a backup."),
    ),
    "keys": _group(
        "Make, list and revoke the API keys of a service.",
        create=("keys:create", "Make a key."),
        list=("keys:list_keys", "List keys, revoked ones included; secrets cannot be shown."),
        revoke=("keys:revoke", "Revoke a key."),
    ),
    "plan": ("plan:run", "Predict which |K|, ω and number of keypoints suit a map."),
    "audit": ("audit:run", "Measure the ε of a mechanism and compare it with its claim."),
    "experiment": Experiments(),
    "completion": ("completion:run", "Print what makes a shell complete commands and options."),
}

#: Short names: what is typed, and what it stands for.
SHORT = {"frontier": ("experiment", "frontier")}


def make_root() -> LazyGroup:
    """The command `sfumato` with all its commands."""
    own = make_command("sfumato", _root)
    settings = {"help_option_names": ["-h", "--help"]}
    return LazyGroup(
        COMMANDS,
        name="sfumato",
        help=own.help,
        params=own.params,
        callback=own.callback,
        context_settings=settings,
    )


def in_full(words: list[str]) -> list[str]:
    """A command with what its short name stands for."""
    return [*SHORT.get(words[0], words[:1]), *words[1:]] if words else []


COMPLETE_VARIABLE = "_SFUMATO_COMPLETE"  # set by the shell's completion
_LOST = "the output cannot be written ({}); what was to be shown is lost."


def run_command(words: list[str]) -> int:
    """Run one command; its exit code."""
    words, output = in_full(words), sys.stdout
    try:
        if COMPLETE_VARIABLE in os.environ:
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        command, shown = make_root(), words or ["--help"]
        code = command(args=shown, prog_name="sfumato", standalone_mode=False, obj=words)
        sys.stdout.flush()
    except typer.Abort:
        code = 130
    except SystemExit:
        if sys.stdout is output:
            raise
        # typer noticed that nobody reads any more; it would say nothing and replaces the output
        sys.stdout = output
        return _refused(_LOST.format("Broken pipe"))
    except MissingExtra as error:
        return _refused(str(public_name(error, f"sfumato {words[0]}")))
    except (typer.TyperException, SfumatoError) as error:
        message = getattr(error, "format_message", None)
        if message and type(error).__name__ == "NoArgsIsHelpError":  # a group without its command
            emit_lines([message()])
            return 0
        if blame(error):
            show_traceback(error)
        return _refused(message() if message else str(error))
    except MemoryError:
        return _refused("there is not enough memory for this; give it smaller input.")
    except Exception as error:
        if own := blame(error):
            show_traceback(error)
            return _refused(
                f"your {own} raised {type(error).__name__}: {error}; with --verbose its traceback "
                "is printed."
            )
        if isinstance(error, OSError):
            return _refused(_about(error))
        raise
    finally:
        speak_as_usual()
    if code == 130:
        complain("stopped")
    return code if isinstance(code, int) else 0


def _refused(sentence: str) -> int:
    complain(" ".join(sentence.split("\n")))
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # what Python still holds for a lost output goes nowhere
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
    return 2


def _about(error: OSError) -> str:
    """What the system refused: a disk that is full, a file that may not be written."""
    reason = error.strerror or str(error)
    if error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EBADF):
        return _LOST.format(reason)
    where = "" if error.filename is None else f" ({os.fsdecode(error.filename)})"
    return f"the system refused: {reason}{where}; choose another place, or make room."
