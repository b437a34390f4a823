"""The operator's public words, found by fingerprint; their levels count as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.archive import PlainTar
from sfumato.core.errors import Mismatch
from sfumato.core.releases import WordRelease
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bundled import bundled_names, resolve, tar_of
from sfumato.server.mapping.filing import fingerprints_of
from sfumato.service.errors import ServiceError


@dataclass(frozen=True)
class Served:
    """A dictionary with its folder and, for bundled ones, its name."""

    dictionary: Dictionary
    folder: Path
    name: str | None

    def tar(self) -> PlainTar:
        return tar_of(self.folder)


class Dictionaries:
    """All dictionaries of a service."""

    def __init__(self, names: Sequence[str]) -> None:
        self._served: dict[str, Served] = {}
        self._family: dict[str, tuple[str, int]] = {}  # of a level, too → whole, number of words
        for name in names:
            dictionary = Dictionary.load(name)
            called = name if name in bundled_names() and not Path(name).exists() else None
            self._served[dictionary.fingerprint] = Served(dictionary, resolve(name), called)
            for num_words, fingerprint in fingerprints_of(dictionary).items():
                self._family[fingerprint] = (dictionary.fingerprint, num_words)

    def find(self, fingerprint: str) -> Served:
        """The dictionary with this fingerprint, or with a level that has it."""
        if fingerprint not in self._family:
            raise ServiceError(
                404, "no-such-dictionary", "there is no dictionary with this fingerprint."
            )
        return self._served[self._family[fingerprint][0]]

    def of_extractor(self, extractor: str) -> list[Dictionary]:
        every = (served.dictionary for served in self._served.values())
        return [dictionary for dictionary in every if dictionary.extractor == extractor]

    def infos(self, extractor: str) -> list[dict[str, object]]:
        return [
            {
                "fingerprint": served.dictionary.fingerprint,
                "num_words": served.dictionary.num_words,
                "name": served.name,
            }
            for served in self._served.values()
            if served.dictionary.extractor == extractor
        ]

    def check(self, release: WordRelease) -> None:
        """Refuse words of a dictionary, or of a level, that is not served."""
        whole, num_words = self._family.get(release.dictionary, ("", 0))
        if (
            num_words != release.num_words
            or self._served[whole].dictionary.extractor != release.extractor
        ):
            raise Mismatch(
                f"the release uses dictionary {release.dictionary[:12]}… of {release.num_words} "
                "words, which this map is not filed under; protect with one that the map lists."
            )
