"""Several pictures in one go: one release each, charged together, all or none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.accounting import NOT_COUNTED, Account, announcement, spent_text
from sfumato.cli.cameras import Intrinsics, cameras_of, sources_text
from sfumato.cli.output import begin_output, emit, long_work
from sfumato.cli.pictures import Pictures
from sfumato.cli.protection import Chosen
from sfumato.cli.selection import Selection
from sfumato.core.accounting import DELTA
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import Release
from sfumato.core.storage import new_directory, write_file
from sfumato.core.types import NOT_PROTECTED, Camera, Features, PrivacyEvent
from sfumato.device.explain import Observed, short
from sfumato.device.ledger import Ledger

RAW_WARNING = (
    "NOTHING IS PROTECTED: raw descriptors show what the picture shows, and a picture can be made "
    "from them again. Give this file only to a server that may see the picture."
)
#: Beside releases: which picture each was made of. It stays on the device.
NAMES = "names.txt"
_NAMES_HEAD = "# which picture each release was made of; for this device alone, not to be sent\n"


@dataclass(frozen=True)
class Ready:
    """Pictures that may be released: described, filtered and priced, not yet charged."""

    names: tuple[str, ...]
    features: tuple[Features, ...]
    cameras: tuple[Intrinsics | None, ...]
    events: tuple[PrivacyEvent, ...]
    chosen: Chosen

    def draw(self, ledger: Ledger | None) -> list[Release]:
        """Charge all in one transaction, then draw each once."""
        from sfumato.device.protect import send_all

        known = [None if one is None else one.camera for one in self.cameras]
        pairs = list(zip(self.features, known, strict=True))
        return list(send_all(pairs, self.chosen.mechanism, rng=SecureRandom(), ledger=ledger))

    def facts(self) -> dict[str, Any]:
        """What the releases cost, each and together; never what is in them."""
        private = all(event.is_private for event in self.events)
        largest = max(self.events, key=lambda event: event.num_units)
        bound = largest.composition
        counts = sorted(event.num_units for event in self.events)
        return {
            "mechanism": self.events[0].mechanism,
            "pictures": len(self.names),
            "keypoints": sum(counts),
            "keypoints_per_picture": [counts[0], counts[len(counts) // 2], counts[-1]],
            "extractor": self.features[0].extractor,
            "epsilon_per_unit": self.events[0].epsilon,
            "unit": self.events[0].unit,
            "epsilon_of_all": sum(e.picture_epsilon or 0.0 for e in self.events)
            if private
            else None,
            "epsilon_of_largest": largest.picture_epsilon,
            "exact_epsilon_of_largest": None if bound is None else bound.epsilon(DELTA),
            "delta": DELTA,
            "true_word_sent_probability": getattr(self.chosen.mechanism, "keep_probability", None),
            "guarantee": private,
            "cameras": sources_text(self.cameras),
            "not_protected": list(self.events[0].not_protected),
        }


def make_ready(
    wanted: Pictures,
    chosen: Chosen,
    selection: Selection,
    camera: str | None,
    of_map: Camera | None = None,
) -> Ready:
    """Describe and price all pictures; nothing is charged, and one bad picture stops it all."""
    from sfumato.device.protect import event_of

    with long_work() as progress:
        pipeline = chosen.pipeline(selection, Observed())
        found = wanted.select(pipeline, SecureRandom(), progress)
    cameras = cameras_of(wanted, found, camera, of_map)
    events = [event_of(features, chosen.mechanism) for features in found]
    names = tuple(picture.name for picture in wanted.items)
    return Ready(names, tuple(found), tuple(cameras), tuple(events), chosen)


def protect_many(
    wanted: Pictures,
    chosen: Chosen,
    selection: Selection,
    camera: str | None,
    account: Account,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write one release for each picture into a new folder."""
    if selection.object_size is not None or selection.object_detector is not None:
        raise InvalidInput(
            "--object and --object-detector tell of one picture, several are given; leave them out."
        )
    ready = make_ready(wanted, chosen, selection, camera)
    facts: dict[str, Any] = {**ready.facts(), "output": None if output is None else str(output)}
    if output is None:
        emit(as_json, facts, "nothing was written", cost_text(facts))
        return
    ledger = keep_all(ready, output, account, as_json)
    facts["ledger"] = told = account_facts(ledger)
    many = "" if len(ready.names) == 1 else "s"
    title = f"wrote {len(ready.names):,} release{many} into {output}"
    shown = cost_text(facts) | ledger_line(told)
    shown["names"] = f"{NAMES} beside them says which is which; it is for this device alone"
    emit(as_json, facts, title, shown)


def keep_all(ready: Ready, folder: Path, account: Account, as_json: bool) -> Ledger | None:
    """Make room, charge all pictures at once, draw, and show the folder when it is whole."""
    from sfumato.core.storage import NewFile
    from sfumato.device.protect import release_size

    titles = release_names(len(ready.names))
    with new_directory(folder, make_parents=False) as draft:
        files = []
        try:
            for title, features in zip(titles, ready.features, strict=True):
                files.append(NewFile(draft / title))
                files[-1].reserve(release_size(features, ready.chosen.mechanism))
            lines = [f"{a} {b}\n" for a, b in zip(titles, ready.names, strict=True)]
            text = _NAMES_HEAD + "".join(lines)
            write_file(draft / NAMES, text.encode("utf-8", "surrogateescape"))
            ledger = account.open()
            begin_output(as_json, announcement(ledger))
            for file, release in zip(files, ready.draw(ledger), strict=True):
                file.finish(release.to_bytes())
        finally:
            for file in files:
                file.__exit__()
    return ledger


def release_names(count: int) -> list[str]:
    """File names of releases, which say nothing of the pictures."""
    digits = max(4, len(str(count)))
    return [f"{number:0{digits}}.sfr" for number in range(1, count + 1)]


def read_names(folder: Path) -> dict[str, str]:
    """Which picture each release of a folder was made of, where this device wrote that down."""
    path = folder / NAMES
    if not path.is_file():
        return {}
    lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    pairs = [line.split(" ", 1) for line in lines if not line.startswith("#")]
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidInput(f"{path} must say a release and a name in each line; remove it.")
    return {pair[0]: pair[1] for pair in pairs}


def account_facts(ledger: Ledger | None) -> dict[str, Any] | None:
    """What the session has spent after this; None where nothing is counted."""
    if ledger is None:
        return None
    state = ledger.spent()
    return {
        "path": str(ledger.path),
        "session": state.session,
        "pictures": state.pictures,
        "without_guarantee": state.unprotected,
        "epsilon_spent": state.epsilon,
        "epsilon_remaining": state.remaining,
        "exact_epsilon_spent": state.composition.epsilon(DELTA),
        "cap_exact": state.caps.exact,
        "delta": DELTA,
    }


def ledger_line(facts: dict[str, Any] | None) -> dict[str, str]:
    if facts is None:
        return {"ledger": NOT_COUNTED}
    text = f"session {facts['session']!r} {spent_text(facts)}; {facts['path']}"
    return {"ledger": f"charged in one transaction; {text}"}


def cost_text(facts: dict[str, Any]) -> dict[str, str]:
    """What several releases cost, in words."""
    low, middle, high = facts["keypoints_per_picture"]
    text = {
        "pictures": f"{facts['pictures']:,} with "
        + (f"{low:,}" if low == high else f"{low:,} to {high:,}")
        + " keypoints, "
        + ("" if low == high else f"{middle:,} in the middle, ")
        + f"described by {facts['extractor']}",
    }
    if facts["guarantee"]:
        chance = facts["true_word_sent_probability"]
        text["guarantee"] = f"ε = {facts['epsilon_per_unit']:g} for {facts['unit']}" + (
            "" if chance is None else f"; the true word is sent with a chance of {chance:.1%}"
        )
        text["whole picture"] = (
            f"{'the largest: ' if facts['pictures'] > 1 else ''}E = "
            f"{short(facts['exact_epsilon_of_largest'])}, the ε of all descriptors together, "
            f"except with probability {facts['delta']:g}; never more than N·ε = "
            f"{short(facts['epsilon_of_largest'])}"
        )
        if facts["pictures"] > 1:
            text["all pictures"] = (
                f"ε = {short(facts['epsilon_of_all'])} by the sum of N·ε, where they show the same "
                "person or place"
            )
    elif facts["mechanism"] == "plain":
        text["guarantee"] = RAW_WARNING
    else:
        text["guarantee"] = f"none: {facts['mechanism']} has no ε, and known attacks undo it"
    if facts["cameras"] != "none":
        text["cameras"] = facts["cameras"]
    text["not protected"] = ", ".join(facts["not_protected"] or NOT_PROTECTED)
    return text
