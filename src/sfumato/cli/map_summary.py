"""What a map holds, whether to trust it, and how to ask it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.how_to_ask import asking_text, how_to_ask
from sfumato.cli.map_trust import judge, trust_text
from sfumato.cli.output import emit, note

if TYPE_CHECKING:
    from sfumato.server.mapping import Map


def show_map(world: Map, folder: Path, *, as_json: bool) -> None:
    from sfumato.server.mapping import describe_map

    size = sum(file.stat().st_size for file in folder.iterdir())
    words = world.filed_under
    figures = describe_map(world)
    asking = how_to_ask(world)
    trust = judge(world, figures)
    judged = {} if trust is None else trust_text(trust)
    facts = {
        "facts": dict(world.facts),
        "word_indices": words,
        "bytes": size,
        "asked_with": asking,
        "trust": trust,
    }
    emit(
        as_json,
        {**figures, **facts, "output": str(folder)},
        "Map",
        {
            "images": f"{figures['images']} by {figures['cameras']} cameras",
            "points": figures["points"],
            "observations": f"{figures['observations']} of {figures['features']} features",
            "track length": f"{figures['mean_track_length']:.2f} on average",
            "reprojection": f"{figures['mean_reprojection_error_px']:.2f} pixels on average",
            "extractor": figures["extractor"],
            "up": "not known; devices cannot send gravity"
            if world.up is None
            else "{:.3g}, {:.3g}, {:.3g}".format(*world.up),
            "made by": ", ".join(_methods(world)),
            "word indices": ", ".join(name[:16] for name in words) or "none yet",
            "size": f"{size / 1e6:.1f} MB",
            "folder": str(folder),
            **judged,
            **asking_text(asking, world.extractor),
        },
    )
    for warning in [] if as_json else figures["warnings"]:
        note(f"warning: {warning}")
    for part in [] if as_json else world.facts.get("scenes", [world.facts]):
        for name, reason in part.get("unreadable", []):
            note(f"left out {name}: {reason}")
        placed = part.get("unregistered", [])
        if placed:
            shown = ", ".join(placed[:10]) + (" …" if len(placed) > 10 else "")
            note(f"{len(placed)} images could not be placed: {shown}")
        others = len(part.get("not_in_model", []))
        if others:
            note(f"{others} images of the features file are not in the model: left out")


def _methods(world: Map) -> list[str]:
    parts = world.facts.get("scenes", [world.facts])
    return sorted({str(part.get("method", "unknown")) for part in parts})
