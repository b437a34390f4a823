"""One answer per word and session: asking again teaches nothing new."""

from __future__ import annotations

import hashlib
import hmac
import struct
import threading
from dataclasses import replace

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin
from sfumato.core.randomness import RandomSource, below_threshold, check_source
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields, secret_or_new
from sfumato.device.mechanisms.subset import SubsetMechanism


class MemoisedSubset:
    """The ω-subset mechanism whose answer to a word stays the same for a whole session.

    The answer Z(w) is drawn from a keyed function of the word: no table, no memory, and no
    way to predict it without the session's secret, which never leaves the device.
    Guarantee: ε-LDP for the identity of each distinct word seen in the session; the words
    compose. What it gives away in return: two keypoints with the same word get the same
    answer, so repetitions of a word are visible within the session.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> mechanism = sf.SubsetMechanism(8, 2, sf.Dictionary.load("bsds-16k"))
    >>> session = sf.MemoisedSubset(mechanism)
    >>> first, again = (session.release(features, rng=sf.SecureRandom()) for _ in range(2))
    >>> first == again
    True
    """

    def __init__(self, mechanism: SubsetMechanism, secret: bytes | None = None) -> None:
        secret = secret_or_new(secret, "a session")
        self.mechanism = mechanism
        # Bound to everything that shapes the answer: another ε must not reuse the same coins.
        purpose = b"sfumato memoised subset" + struct.pack(
            "<dI", mechanism.epsilon, mechanism.subset_size
        )
        purpose += bytes.fromhex(mechanism.dictionary.fingerprint)
        self._key = hmac.new(secret, purpose, hashlib.sha256).digest()
        self._answered = np.zeros(mechanism.dictionary.num_words, dtype=np.bool_)
        self._lock = threading.Lock()

    @property
    def private_answer(self) -> PrivateAnswer:
        """One distinct word of the session, as exact composition counts it."""
        return self.mechanism.private_answer

    def event(self, features: Features) -> PrivacyEvent:
        """Only words that this session has not answered yet cost anything."""
        words = np.unique(self.mechanism.nearest_words(features))
        with self._lock:
            fresh = int(np.count_nonzero(~self._answered[words]))
        event = self.mechanism.event(features)
        return replace(
            event,
            mechanism="memoised subset",
            num_units=fresh,
            unit="one distinct word of the session",
            not_protected=(
                "which keypoints of the session share a word",
                *event.not_protected,
            ),
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> WordRelease:
        check_source(rng)  # accepted for the common signature; the answers come from the secret
        truth = self.mechanism.nearest_words(features)
        words, rows = np.unique(truth, return_inverse=True)
        answers = self.answers(words)
        with self._lock:
            self._answered[words] = True
        return WordRelease(
            words=answers[rows],
            num_words=self.mechanism.dictionary.num_words,
            dictionary=self.mechanism.dictionary.fingerprint,
            epsilon=self.mechanism.epsilon,
            **release_fields(features, camera),
        )

    def answers(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """This session's answer to each of several different words: (N,) → (N, ω)."""
        return self.mechanism.draw(words, _KeyedByWord(self._key, words))


class _KeyedByWord(RandomSource):
    """Draws that depend on the key, the word and the number of the draw, and nothing else."""

    reproducible = False

    def __init__(self, key: bytes, words: NDArray[np.uint32]) -> None:
        self._key = key
        self._words = words
        self._draws = 0

    def words(self, count: int, bits: int) -> NDArray[np.uint32]:
        raise InvalidInput("a keyed source answers whole rows only; use coin and below.")

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        limbs = coin.bits // 64
        blocks = [
            self._blocks(self._words, attempt=0, part=part) for part in range((limbs + 1) // 2)
        ]
        self._draws += 1
        drawn = np.concatenate(blocks, axis=1).view("<u8")[:, :limbs]
        return below_threshold(drawn, coin)

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        product = np.empty(len(self._words), dtype=np.uint64)
        pending = np.arange(len(self._words))
        attempt = 0
        while pending.size:
            block = self._blocks(self._words[pending], attempt=attempt, part=0)
            product[pending] = block[:, 0].astype(np.uint64) * np.uint64(bound)
            rejected = product[pending].astype(np.uint32) < np.uint32((1 << 32) % bound)
            pending = pending[rejected]
            attempt += 1
        self._draws += 1
        return (product >> np.uint64(32)).astype(np.uint32)

    def _blocks(self, words: NDArray[np.uint32], *, attempt: int, part: int) -> NDArray[np.uint32]:
        """AES of (word, draw, attempt, part): distinct inputs, so independent outputs."""
        counters = np.empty((len(words), 4), dtype="<u4")
        counters[:, 0] = words
        counters[:, 1] = self._draws
        counters[:, 2] = attempt
        counters[:, 3] = part
        # Each block is encrypted once and alone; ECB here is the block cipher itself.
        encryptor = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor()  # noqa: S305
        data = encryptor.update(counters.tobytes())
        return np.frombuffer(data, dtype="<u4").reshape(-1, 4)
