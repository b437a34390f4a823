"""A private global descriptor beside the words: made from public pictures, sent, and asked with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.cli import options as opt
from sfumato.cli.files import check_output, is_release, read_bytes
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.core.accounting import DELTA
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import Release
from sfumato.core.types import PrivacyEvent
from sfumato.device.explain import short

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.device.global_descriptor import GlobalDescriptor
    from sfumato.dictionary import Dictionary
    from sfumato.server.mapping import Map

SpaceFile = Annotated[
    Path | None, option("The public map of global descriptors, of sfumato dictionary space.")
]


def space(
    source: Annotated[Path, argument("SOURCE", "A folder of public pictures, or features (.h5).")],
    *,
    output: Annotated[Path, output("The space to write (.npz).")],
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    words: Annotated[int, option("Words of a bag, one of the dictionary's levels.")] = 1024,
    dimension: Annotated[int, option("Numbers to keep of a bag.")] = 32,
    max_keypoints: opt.MaxKeypoints = None,
    as_json: JsonFlag = False,
) -> None:
    """A picture's global descriptor is how often it shows each public word. It is seen from the
    mean of public pictures, along the directions in which these differ most. The file is public:
    give it to devices and to the map-maker, and never make it from pictures that must stay private.

    Example: sfumato dictionary space photos/ -o space.npz
    """
    from sfumato.dictionary import Dictionary
    from sfumato.dictionary.bags import fit_bag_space

    check_output(output, ".npz")
    level = Dictionary.load(dictionary).at(words)
    with long_work() as progress:
        made, pictures = fit_bag_space(
            source, level, dimension, max_keypoints=max_keypoints, progress=progress
        )
    made.save(output)
    facts = {
        "public_pictures": pictures,
        "words": level.num_words,
        "dictionary": level.fingerprint,
        "dimension": made.dimension,
        "fingerprint": made.fingerprint,
    }
    shown = {
        "made from": f"{pictures:,} public pictures",
        "keeps": f"{made.dimension} numbers of a bag of {level.num_words:,} words",
        "fingerprint": made.fingerprint,
    }
    emit(as_json, {**facts, "output": str(output)}, f"wrote {output}", shown)


@dataclass(frozen=True, kw_only=True)
class GlobalSending:
    """The options of a command that sends a global descriptor beside the words."""

    rules: ClassVar = {
        "--global-epsilon": "--space",
        "--space --global-output": "--global-epsilon",
        "--global-epsilon --space": "--epsilon",
        "--global-output": "--output",
    }

    global_epsilon: Annotated[
        float | None,
        option("ε of the picture's global descriptor, sent beside the words.", shown="none sent"),
    ] = None
    space: SpaceFile = None
    global_output: Annotated[
        Path | None, option("The global descriptor's release to write (.sfr).")
    ] = None

    def choose(
        self, dictionary: str, output: Path | None, *, several: bool
    ) -> GlobalDescriptor | None:
        """What is sent beside the words, refused before any work if it could not be kept."""
        if self.global_epsilon is None or self.space is None:
            return None
        from sfumato.core.vector_space import VectorSpace
        from sfumato.device.global_descriptor import GlobalDescriptor
        from sfumato.dictionary import Dictionary

        if several:
            raise InvalidInput(
                "--global-epsilon is for one picture, several are given; protect them one by one."
            )
        beside = self.global_output
        if output is not None and beside is None:
            raise InvalidInput(
                "--global-epsilon needs a file of its own beside -o; give --global-output FILE."
            )
        if beside is not None and (beside.exists() or beside == output):
            raise InvalidInput(
                f"{beside} exists already, or is the file of the words; give --global-output "
                "another name."
            )
        return GlobalDescriptor(
            self.global_epsilon, Dictionary.load(dictionary), VectorSpace.load(self.space)
        )

    def told(
        self, release: Release, event: PrivacyEvent, beside: PrivacyEvent
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """What the vector costs, alone and together with the words: for machines, and in words."""
        size = len(release.to_bytes())
        facts: dict[str, Any] = {
            "mechanism": beside.mechanism,
            "bytes": size,
            "unit": beside.unit,
            "epsilon": beside.epsilon,
            "not_protected": list(beside.not_protected),
            "output": None if self.global_output is None else str(self.global_output),
        }
        shown = {
            "global descriptor": f"{size:,} bytes more, a file of its own; ε = {beside.epsilon:g} "
            f"for {beside.unit}, one vector made of all the keypoints that are sent",
        }
        words, vector = event.composition, beside.composition
        if words is not None and vector is not None:
            assert event.epsilon is not None
            assert beside.epsilon is not None
            total = (event.picture_epsilon or 0) + beside.epsilon
            exact = (words + vector).epsilon(DELTA)
            facts["epsilon_per_descriptor_together"] = event.epsilon + beside.epsilon
            facts["epsilon_per_picture_together"] = total
            facts["exact_epsilon_together"] = exact
            shown["together"] = (
                f"ε = {event.epsilon:g} + {beside.epsilon:g} for {event.unit}, which is in its "
                f"word and in the vector; E = {short(exact)} for the whole picture, never more "
                f"than N·ε + {beside.epsilon:g} = {short(total)}. What is said of an object counts "
                "the words alone"
            )
        shown["not protected beside"] = ", ".join(beside.not_protected)
        return facts, shown


@dataclass(frozen=True, kw_only=True)
class GlobalRanking:
    """The options of a command that ranks a map's images by a global descriptor too."""

    rules: ClassVar = {
        "--global --space": "not --server --pairs --before",
        "--global": "--space",
        "--space": "--global",
    }

    global_: Annotated[
        Path | None,
        option(
            "The picture's private global descriptor, to rank the map's images with.",
            "--global",
            metavar="RELEASE",
        ),
    ] = None
    space: SpaceFile = None

    def facts(self) -> dict[str, Any]:
        """What the answer says of it; nothing where it was not asked with."""
        return {} if self.global_ is None else {"global": str(self.global_)}

    def scores(self, world: Map, words: Callable[[], Dictionary]) -> NDArray[np.float64] | None:
        """One number for each image of the map; None where the option is not given."""
        if self.global_ is None or self.space is None:
            return None
        from sfumato.core.vector_space import VectorSpace
        from sfumato.server.global_retrieval import GlobalIndex

        if not is_release(self.global_):
            raise InvalidInput(
                f"{self.global_} is not a release; `sfumato protect --global-output` makes one."
            )
        vector = Release.from_bytes(read_bytes(self.global_))
        space = VectorSpace.load(self.space)
        return GlobalIndex.build(world, words(), space).scores(vector)
