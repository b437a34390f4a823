"""One set of directions per enrolment: lifting again teaches nothing new."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import RandomSource, check_source
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields, secret_or_new
from sfumato.device.mechanisms.lifting import NO_EPSILON, Doubles, SubspaceLifting


class MemoisedLifting:
    """No guarantee: lifting along directions that an enrolment fixes once.

    Two fresh lifts of one embedding meet in it. Here the directions are drawn once, for the
    enrolled embedding, from a keyed function of it; every later embedding of the same person is
    lifted along them. Equal embeddings then give equal bytes, different ones parallel subspaces,
    which never meet; many of them tell what one tells: the embedding but for its m coordinates
    along the directions. [affine §5] suggests near-parallel subspaces; these are parallel.

    enrolled  (n,) the embedding the directions are chosen for; it never leaves the device
    secret    at least 32 bytes that stay on the device. The same secret and enrolment give the
              same directions again, so nothing but the two need be kept; another enrolment gives
              other directions, and k enrolments of one embedding are k fresh lifts

    What it gives away in return: the directions are the same each time, so releases of one
    enrolment can be linked to each other.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> lifting = sf.MemoisedLifting(sf.SubspaceLifting("random", 4), features.descriptors[0])
    >>> first, again = (lifting.release(features, rng=sf.SecureRandom()) for _ in range(2))
    >>> first == again
    True
    """

    no_epsilon = NO_EPSILON

    def __init__(
        self, lifting: SubspaceLifting, enrolled: NDArray[Any], secret: bytes | None = None
    ) -> None:
        secret = secret_or_new(secret, "an enrolment")
        embedding = np.asarray(enrolled, dtype=np.float64)
        if embedding.ndim != 1 or not np.isfinite(embedding).all() or not embedding.any():
            raise InvalidInput(
                "an enrolment is one embedding (n,), finite and not zero, got shape "
                f"{embedding.shape}."
            )
        if lifting.dither:
            raise InvalidInput(
                "a memoised lift takes no dither: fresh noise at each release averages out."
            )
        self.lifting = lifting
        fingerprint = lifting.database.fingerprint if lifting.database is not None else "none"
        purpose = f"sfumato memoised lifting {lifting.strategy} {lifting.dimension} {fingerprint}"
        message = purpose.encode() + embedding.astype("<f8").tobytes()
        source = _Keyed(hmac.new(secret, message, hashlib.sha256).digest())
        self._basis = lifting.lift(embedding[None], source)[1][0]

    def lift(self, descriptors: NDArray[Any]) -> tuple[Doubles, Doubles]:
        """Parallel subspaces through descriptors (N, n), each with its point nearest to 0."""
        values = np.asarray(descriptors, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self._basis.shape[1]:
            raise Mismatch(
                f"the enrolled embedding has {self._basis.shape[1]} numbers, got {values.shape}."
            )
        units = unit_vectors(values)
        offsets = units - (units @ self._basis.T) @ self._basis
        return offsets, np.repeat(self._basis[None], len(units), axis=0)

    def event(self, features: Features) -> PrivacyEvent:
        event = self.lifting.event(features)
        linked = "that releases are of one enrolment"
        return replace(
            event,
            mechanism=f"memoised {event.mechanism}",
            not_protected=(linked, *event.not_protected),
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> SubspaceRelease:
        check_source(rng)  # accepted for the common signature; nothing is drawn any more
        self.lifting.event(features)  # refuses features of another kind
        offsets, bases = self.lift(features.descriptors)
        return SubspaceRelease(
            offsets=offsets.astype(self.lifting.precision),
            bases=bases.astype(self.lifting.precision),
            **release_fields(features, camera),
        )


class _Keyed(RandomSource):
    """The stream of one key: AES-256 in counter mode, used once and forgotten."""

    reproducible = False

    def __init__(self, key: bytes) -> None:
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, count: int, bits: int) -> NDArray[Any]:
        data = self._stream.update(bytes(count * bits // 8))
        return np.frombuffer(data, dtype=f"<u{bits // 8}")
