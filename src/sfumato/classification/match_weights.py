"""What a match is worth: agreeing on a rare answer says more than agreeing on a common one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.counts import CodeCounts
from sfumato.classification.odds import response_odds
from sfumato.core.codes import Codes

#: How often two pictures that look alike have the same clean code. It matters only where there
#: is little noise; without it, one difference would exclude a picture.
AGREEMENT = 0.9


def answer_shares(codes: Codes) -> NDArray[np.float64]:
    """(m, d): how often each value was answered at each position, never quite 0 or 1."""
    counted = CodeCounts(1, codes.num_positions, codes.num_values)
    counted.add(codes, np.zeros(len(codes), dtype=np.int64))
    counts = counted.tables[codes.epsilon][0] + 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def log_odds(codes: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(m, d) log-likelihood ratios, picture alike against any picture, of a match and a mismatch.

    With g the share of the answer, a picture alike answers the query's value with chance
    a·p + (1 − a)·g, any picture with chance g.
    """
    share = answer_shares(codes)
    keep = 1.0 if math.isinf(codes.epsilon) else response_odds(codes.epsilon, codes.num_values).keep
    alike = AGREEMENT * keep + (1 - AGREEMENT) * share
    return np.log(alike / share), np.log((1 - alike) / (1 - share))


def match_weights(codes: Codes) -> NDArray[np.float64]:
    """(m, d): how much a match is worth more than a mismatch; never below zero."""
    match, mismatch = log_odds(codes)
    return np.maximum(match - mismatch, 0)
