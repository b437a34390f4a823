"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: what each reconstruction scored.

Facts (which pictures, words, networks) are written once. A run on other ones is refused: a
table must not mix them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.privacy.defence import PLAIN, Defence
from sfumato_papers.harness.outcomes import append_record, decode, drop_torn_line, read_records
from sfumato_papers.ldp_feat.inversion.measures import Measures

#: Facts that may change between a run and its continuation.
_FREE = ("lpips",)


@dataclass(frozen=True)
class Setting:
    """What one row of the tables is about: an attack on a defence.

    attack   raw, mean colour, positions; nearest, clustering, database, vertex, direct on
             lifts; posterior, direct on words
    """

    attack: str
    defence: Defence = PLAIN

    @property
    def name(self) -> str:
        """Fit for a file name."""
        said = f"{self.defence.extractor}-{self.defence.name}-{self.attack}"
        return said.replace(" ", "-")


@dataclass(frozen=True)
class Outcome:
    """One picture under one setting.

    num_bytes  that left the device, header included; 0 for a baseline
    seconds    of processor time to read the release, painting not counted
    network    its name; empty for a flat colour
    """

    setting: Setting
    picture: str
    measures: Measures
    num_keypoints: int
    num_bytes: int
    seconds: float
    network: str


@dataclass(frozen=True)
class Results:
    """All that a file holds; absent says why a row could not be made."""

    facts: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    absent: Mapping[Setting, str]

    def of(self, setting: Setting) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.setting == setting]

    def settings(self) -> list[Setting]:
        return list(dict.fromkeys(outcome.setting for outcome in self.outcomes))


@dataclass
class OutcomeFile:
    """Appends to a file of one experiment; what it holds already is not done again."""

    path: Path
    problem: dict[str, Any]
    _done: set[tuple[Setting, str]] = field(default_factory=set, init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)
    _absent: dict[Setting, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.path.exists():
            drop_torn_line(self.path)
        if self.path.exists() and self.path.stat().st_size:
            found = read_outcomes(self.path)
            self._facts = dict(found.facts)
            self._absent = dict(found.absent)
            self._done = {(o.setting, o.picture) for o in found.outcomes}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.tell("inversion", self.problem)

    def has(self, setting: Setting, picture: str) -> bool:
        return (setting, picture) in self._done

    def tell(self, name: str, value: Any) -> None:
        """Write a fact down, or refuse if the file says otherwise."""
        if self._facts.get(name) == value and name in self._facts:
            return
        if name in self._facts and name not in _FREE:
            raise Mismatch(
                f"{self.path} was made with another {_words_of(name)}; give another folder."
            )
        append_record(self.path, {"kind": "fact", "name": name, "value": value})
        self._facts[name] = value

    def add(self, outcome: Outcome) -> None:
        append_record(self.path, {"kind": "outcome", **asdict(outcome)})
        self._done.add((outcome.setting, outcome.picture))

    def absent(self, setting: Setting, reason: str) -> None:
        """Say why there is no such row; a later outcome overrules it."""
        if self._absent.get(setting) != reason:
            append_record(
                self.path, {"kind": "absent", "setting": asdict(setting), "reason": reason}
            )
            self._absent[setting] = reason


def _words_of(name: str) -> str:
    return "set of pictures" if name == "inversion" else name


def read_outcomes(path: str | Path) -> Results:
    """Everything a file of this experiment holds."""
    facts: dict[str, Any] = {}
    outcomes: list[Outcome] = []
    absent: dict[Setting, str] = {}
    for number, line in enumerate(read_records(Path(path)), start=1):
        kind = line.pop("kind", None)
        damaged = f"{path} is damaged in line {number}"
        if kind == "fact":
            facts[line["name"]] = line["value"]
        elif kind == "absent":
            absent[decode(Setting, line["setting"], damaged)] = str(line["reason"])
        elif kind == "outcome" and "inversion" in facts:
            outcomes.append(decode(Outcome, line, damaged))
        else:
            raise InvalidInput(
                f"{path} is not a file of the inversion experiment, or damaged in line {number}: "
                f"kind {kind!r}."
            )
    if "inversion" not in facts:
        raise InvalidInput(f"{path} is not a file of the inversion experiment: it says no problem.")
    made = {outcome.setting for outcome in outcomes}
    return Results(
        facts, tuple(outcomes), {row: why for row, why in absent.items() if row not in made}
    )
