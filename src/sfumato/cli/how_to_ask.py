"""What can be asked of a map, and how: said when it is made, not when a query fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

#: Families of extractors that are files: their features are called edgepoint2-e64, aliked-n16.
NETWORKS = ("edgepoint2", "aliked")

if TYPE_CHECKING:
    from sfumato.server.mapping import Map


def how_to_ask(world: Map) -> dict[str, Any]:
    """Who can ask the map, with which words, and with which commands."""
    from sfumato.dictionary import Dictionary
    from sfumato.dictionary.bundled import bundled_names
    from sfumato.features import EXTRACTORS

    name = world.extractor
    spec = EXTRACTORS.get(name)
    by_photo = spec is not None and spec.offline
    kinds = ["words", "plain"] + ([] if spec is not None and spec.binary else ["subspaces"])
    words = [one for one in bundled_names() if Dictionary.load(one).extractor == name]
    by_network = name.split("-")[0] in NETWORKS
    source = "PHOTO" if by_photo or by_network else "FEATURES.h5 --name NAME"
    option = "" if name == "sift" else f" --extractor {name}{'.onnx' if by_network else ''}"
    chosen = "" if name == "sift" else " --dictionary WORDS"
    return {
        "photographs": by_photo,
        "features": True,
        "network": by_network,
        "kinds": kinds,
        "dictionaries": words,
        "dimension": int(world.descriptors.shape[1]),
        "dtype": str(world.descriptors.dtype),
        "protect": f"sfumato protect {source}{option} --epsilon 8{chosen} -o out.sfr",
        "make_words": None
        if words
        else f"sfumato dictionary build PUBLIC{'/' if by_photo else '.h5'}"
        f"{'' if name == 'sift' else f' --extractor {name}'} --words 16384 -o WORDS",
    }


def given_as(name: str) -> str:
    """What follows --extractor where features of this name are wanted."""
    from sfumato.features import EXTRACTORS

    if name in EXTRACTORS:
        return name
    return f"FILE.onnx, the network that makes {name}, or features of it (.h5)"


def asking_text(facts: dict[str, Any], extractor: str) -> dict[str, str]:
    """The same in words, for the table of a map."""
    who = f"features files of {extractor} (.h5), as this package has no {extractor} of its own"
    if facts["photographs"]:
        who = "photographs, or features files"
    elif facts["network"]:
        who = (
            "photographs, by the network that `sfumato extractor export` writes, or features files"
        )
    words = ", ".join(facts["dictionaries"])
    text = {
        "asked with": f"{who}; {facts['dimension']}-D {facts['dtype']}",
        "  protect": facts["protect"],
    }
    if facts["make_words"] is None:
        text["  words"] = f"of {words}, or your own of {extractor}"
    else:
        text["  words"] = f"none of {extractor} come with sfumato; make some of public pictures:"
        text["  "] = facts["make_words"]
    if "subspaces" in facts["kinds"] and extractor not in ("sift", "sift-harris", "rootsift"):
        text["  lifting"] = (
            "works, with no guarantee as ever; the vertex attack proves nothing here: it needs "
            "SIFT's whole numbers"
        )
    elif "subspaces" not in facts["kinds"]:
        text["  lifting"] = "does not: it needs real-valued descriptors, these are bits"
    return text
