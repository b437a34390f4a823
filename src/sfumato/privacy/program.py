"""The sampler of another device under audit: a program that writes releases."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource
from sfumato.core.releases import Release, WordRelease
from sfumato.privacy.subjects import Rows, Subject, SubsetSubject, World


class ProgramSubject(SubsetSubject):
    """The ω-subset mechanism of a program, measured on the releases that it writes.

    program  is run with five further words, ε |K| ω INPUT COUNT, and writes one release of COUNT
             keypoints to its standard output, each the answer to the true word INPUT

    Its code cannot be enumerated from here, so no exact law is checked; the program's own tests
    may do that. Fresh runs must give fresh answers.
    """

    name = "subset of a program"

    def __init__(self, program: str, epsilon: float, num_words: int, subset_size: int) -> None:
        check_count("words", num_words, low=2)
        check_count("subset_size", subset_size, low=1, high=num_words - 1)
        self._program = program
        super().__init__(epsilon, num_words, subset_size, sampler=self)

    def worlds(self) -> Iterator[World]:
        return iter(())

    def companion(self) -> Subject:
        return ProgramSubject(self._program, 1.0, *self.small_world())

    def draw(self, inputs: NDArray[np.uint32], _source: RandomSource, /) -> Rows:
        """The answers of one run; all inputs must be the same, as the audit asks."""
        claim = (self.epsilon, self.num_inputs, self.subset_size)
        release = _run(self._program, *claim, int(inputs[0]), len(inputs))
        if release.reproducible:
            raise InvalidInput("the program draws from a known seed; audit what it really sends.")
        found = (release.epsilon, release.num_words, release.subset_size)
        if found != claim or len(release) != len(inputs):
            raise InvalidInput(
                f"the program must write {len(inputs):,} answers at ε = {claim[0]:g} with "
                f"{claim[2]} of {claim[1]} words, got {len(release):,} at ε = {found[0]:g} with "
                f"{found[2]} of {found[1]}."
            )
        return release.words


def _run(
    program: str, epsilon: float, num_words: int, subset_size: int, value: int, count: int
) -> WordRelease:
    words = [repr(epsilon), str(num_words), str(subset_size), str(value), str(count)]
    try:
        # The person who audits names the program: it is theirs to run.
        command = [*shlex.split(program), *words]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the program {program!r} cannot be run: {error}.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
        raise InvalidInput(f"the program ended with code {done.returncode} and said: {said[0]}.")
    try:
        release = Release.from_bytes(done.stdout)
    except InvalidInput as error:
        raise InvalidInput(f"the program must write one release: {error}") from None
    if not isinstance(release, WordRelease):
        raise InvalidInput(f"the program must write a release of words, got {release.kind}.")
    return release
