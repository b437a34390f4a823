"""Which pictures of a scene are queries and stay out of its map: a rule in a few words.

step:4         the first picture, the fifth, the ninth, …
blocks:10/3    blocks of ten pictures in order of name; every third block
list:FILE      those named in a file, one to a line; what follows a name is not read
folder:NAME    those in this folder below the scene's pictures
folder:DIR     all pictures of another folder, whose poses are in the same world
split          those the data set itself names
auto           split where the data set names queries, else step:4
none           no picture: the whole folder is map
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.files import read_limited
from sfumato.server.mapping.scenes import Scene

#: Where nothing is said: every fourth photograph of a scene.
DEFAULT_STEP = 4
_MAX_BYTES = 16 << 20  # a list of 100,000 names and more
_FORMS = "step:4, blocks:10/3, list:FILE, folder:NAME, split, auto or none"


@dataclass(frozen=True)
class QueryRule:
    """A rule by its kind and what it needs: numbers, or the text behind the colon.

    >>> from sfumato.datasets.query_rule import QueryRule
    >>> QueryRule.parse("blocks:2/3").choose([f"{i}.jpg" for i in range(8)])
    ('4.jpg', '5.jpg')
    """

    kind: str
    size: int = 1
    every: int = DEFAULT_STEP
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> QueryRule:
        """The rule that a text stands for; see the first lines of this module."""
        kind, _, rest = text.strip().partition(":")
        if kind in ("split", "auto", "none") and not rest:
            return cls(kind)
        if kind in ("list", "folder") and rest:
            return cls(kind, path=rest)
        numbers = re.fullmatch(r"(\d{1,9})/(\d{1,9})" if kind == "blocks" else r"(\d{1,9})", rest)
        if kind not in ("step", "blocks") or numbers is None:
            raise InvalidInput(f"queries are chosen by {_FORMS}, got {text!r}.")
        size, every = (1, *map(int, numbers.groups()))[-2:]
        if size < 1 or every < 2:
            raise InvalidInput(
                f"blocks need at least one picture and a step of at least 2, got {text!r}; "
                "otherwise no picture is left for the map."
            )
        return cls(kind, size, every)

    def __str__(self) -> str:
        """The rule as it is typed; of a path only the last part, so no folder is shown."""
        if self.kind in ("list", "folder"):
            return f"{self.kind}:{Path(self.path).name}"
        numbers = {"step": f":{self.every}", "blocks": f":{self.size}/{self.every}"}
        return self.kind + numbers.get(self.kind, "")

    def choose(
        self, names: Sequence[str], *, scene: str = "", split: frozenset[str] | None = None
    ) -> tuple[str, ...]:
        """The queries among the names of a scene's pictures, in their order.

        split  what the data set itself names; None where it names nothing
        """
        if self.kind == "none":
            return ()
        if self.kind == "split" and split is None:
            raise InvalidInput(f"{scene} does not say which pictures are queries; give a step.")
        if self.kind in ("split", "auto") and split is not None:
            return tuple(name for name in names if name in split)
        if self.kind == "list":
            return _known(self._listed(), names, scene, self.path)
        if self.kind == "folder":
            return tuple(name for name in names if name.startswith(f"{self.path.strip('/')}/"))
        if self.kind == "blocks":
            last = self.every - 1
            return tuple(n for i, n in enumerate(names) if i // self.size % self.every == last)
        return tuple(names[:: self.every])

    def other_folder(self, scene: Scene) -> Path | None:
        """The folder of its own that queries are in; None where they are the scene's."""
        path = Path(self.path)
        if self.kind != "folder" or (not path.is_absolute() and (scene.images / path).is_dir()):
            return None
        if path.is_dir():
            return path
        raise InvalidInput(
            f"there is no folder {self.path} below the pictures of {scene.name}, and none of that "
            "path; name the folder of the queries."
        )

    def _listed(self) -> tuple[str, ...]:
        try:
            text = read_limited(self.path, _MAX_BYTES, what="list of queries").decode("utf-8")
        except FileNotFoundError:
            raise InvalidInput(f"there is no list of queries at {self.path}.") from None
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"the list of queries at {self.path} is no readable text.") from None
        lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
        return tuple(dict.fromkeys(words[0] for words in lines if words))


def _known(listed: Sequence[str], names: Sequence[str], scene: str, path: str) -> tuple[str, ...]:
    """The names that are listed, also with the scene before them; refused if there is none."""
    wanted = {name.removeprefix(f"{scene}/") for name in listed}
    found = tuple(name for name in names if name in wanted)
    if not found:
        raise InvalidInput(f"the list of queries at {path} names no picture of {scene}.")
    return found
