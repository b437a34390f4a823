"""How pictures are protected before anything leaves: the options that choose a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.cli import options as opt
from sfumato.cli.command import was_given
from sfumato.cli.options import option
from sfumato.cli.own_code import MechanismOptions, find_extractor, make_own, read_options
from sfumato.cli.selection import Selection, words_to_send
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE, LIFT_STRATEGIES
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.device.explain import Observed

if TYPE_CHECKING:
    from sfumato.device.mechanisms.base import Mechanism
    from sfumato.device.protect import Pipeline
    from sfumato.dictionary import Dictionary
    from sfumato.features import Extractor


@dataclass(frozen=True)
class Chosen:
    """A mechanism, the public words it uses (None where it needs none) and the extractor."""

    mechanism: Mechanism
    words: Dictionary | None
    extractor: str | Extractor

    def pipeline(self, selection: Selection, observed: Observed) -> Pipeline:
        from sfumato.device.protect import Pipeline

        filters = selection.filters(self.words, observed, self.extractor)
        return Pipeline(self.mechanism, extractor=self.extractor, filters=filters)


@dataclass(frozen=True, kw_only=True)
class Protection:
    """The options of every command that protects pictures."""

    rules: ClassVar = {
        "--subset-size": "--epsilon",
        "--epsilon --decoys --object --object-detector": "not --lift",
        "--subset-size --lift": "not --mechanism",
        "--dimension --precision --dither": "--lift",
        "--mechanism-options": "--mechanism",
        "--epsilon --subset-size --lift --mechanism --words --decoys --object "
        "--object-detector": "not --raw",
    }

    epsilon: Annotated[
        float | None, option("ε per descriptor; inf sends the nearest word unprotected.")
    ] = None
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE
    lift: Annotated[
        str | None,
        option(
            "Instead of ε: hide descriptors in subspaces, with no guarantee; "
            f"{', '.join(LIFT_STRATEGIES)}.",
            metavar="STRATEGY",
        ),
    ] = None
    dimension: Annotated[int, option("m, the dimension of lifted subspaces.")] = 4
    precision: Annotated[str, option("Of lifted subspaces: float32 or float16.")] = "float32"
    dither: Annotated[
        float, option("Noise added before lifting, against the vertex attack: .1 on.")
    ] = 0.0
    raw: Annotated[
        bool,
        option("Send descriptors as they are, to compare with. NOTHING IS PROTECTED.", "--raw"),
    ] = False
    mechanism: Annotated[
        str | None,
        option(
            "A mechanism of your own instead of these; see docs/add-your-own.md.",
            metavar="MODULE:NAME",
        ),
    ] = None
    mechanism_options: MechanismOptions = None
    extractor: Annotated[
        str | None,
        option(
            "What describes the pictures or made the features: a name, an .onnx file, module:name.",
            metavar="NAME",
            shown="what the dictionary names",
        ),
    ] = None
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY
    words: opt.Words = None

    @property
    def is_given(self) -> bool:
        """Whether these options say how to protect anything."""
        return self.raw or any(x is not None for x in (self.epsilon, self.lift, self.mechanism))

    def choose(self, selection: Selection, features_file: Path | None = None) -> Chosen:
        """The mechanism with its words, refused here if it does not fit the extractor."""
        from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting

        if not self.is_given:
            raise InvalidInput(
                "give --epsilon for words with a guarantee, --lift STRATEGY for subspaces without "
                "one, --mechanism MODULE:NAME for your own, or --raw to protect nothing."
            )
        made_by = self._extractor(features_file)
        wordless = (self.raw or self.lift == "random") and not selection.needs_words
        public = None
        if not wordless or self.mechanism is not None or made_by is None:
            public = self._public(made_by, optional=wordless or self.mechanism is not None)
        if made_by is None:
            assert public is not None
            made_by = public.extractor
        chosen: Any
        if self.mechanism is not None:
            given = read_options(self.mechanism_options)
            given |= {} if self.epsilon is None else {"epsilon": self.epsilon}
            chosen = make_own(self.mechanism, "a mechanism", given, dictionary=public)
        elif self.raw:
            chosen = Plain()
        elif self.lift is not None:
            words = None if wordless else public
            chosen = SubspaceLifting(
                self.lift, self.dimension, words, precision=self.precision, dither=self.dither
            )
        else:
            assert public is not None
            assert self.epsilon is not None
            chosen = SubsetMechanism(self.epsilon, self.subset_size, public)
        return Chosen(chosen, public, made_by)

    def _extractor(self, features_file: Path | None) -> str | Extractor | None:
        if features_file is not None:
            from sfumato.dictionary import Dictionary
            from sfumato.features.h5 import extractor_of_file, open_features, stored_extractor

            given = self.extractor
            with open_features(features_file) as file:
                says_nothing = stored_extractor(file) is None
            if given is None and says_nothing and was_given("dictionary"):
                given = Dictionary.load(self.dictionary).extractor
            return extractor_of_file(features_file, given)
        if self.extractor is None:
            return None
        found: str | Extractor = find_extractor(self.extractor)
        if isinstance(found, str):
            from sfumato.features.extractors import check_request

            check_request(found)
        return found

    def _public(self, made_by: str | Extractor | None, *, optional: bool) -> Dictionary | None:
        """The words to send, of the pictures' own extractor."""
        from sfumato.dictionary import Dictionary
        from sfumato.features.extractors import extractor_name

        public = words_to_send(
            Dictionary.load(self.dictionary), self.words, self.epsilon, self.subset_size
        )
        name = public.extractor if made_by is None else extractor_name(made_by)
        if public.extractor == name:
            return public
        if optional and not was_given("dictionary"):
            return None
        raise Mismatch(no_words(name, public.extractor))


def no_words(name: str, other: str) -> str:
    """What to do where words of an extractor are needed, and those at hand are another's."""
    return (
        f"the pictures are described by {name}, the dictionary holds words of {other}; give "
        f"--dictionary one of {name}, made of public pictures or their features with `sfumato "
        f"dictionary build SOURCE --extractor {name} --words 16384 -o DICTIONARY`."
    )
