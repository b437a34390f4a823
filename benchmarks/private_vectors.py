"""Mean cosine of a private unit vector with the vector behind it, and how long a draw takes.

python benchmarks/private_vectors.py [--vectors 200]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import sfumato as sf

EPSILONS = (4, 6, 8, 10, 16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=200)
    count = parser.parse_args().vectors
    print("| n | aim | " + " | ".join(f"ε = {epsilon}" for epsilon in EPSILONS) + " |")
    print("|---|---|" + "---|" * len(EPSILONS))
    for dimension in (32, 128):
        drawn = np.random.default_rng(0).normal(size=(count, dimension))
        vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        started, made = time.process_time(), 0
        for aim in ("mean", "match"):
            cells = []
            for epsilon in EPSILONS:
                mechanism = sf.PrivUnit(epsilon, dimension, aim=aim)
                cosines = [
                    float(mechanism.send(row[None], rng=sf.SeededRandom(i)).directions()[0] @ row)
                    for i, row in enumerate(vectors)
                ]
                made += count
                cells.append(f"{np.mean(cosines):.2f} ± {np.std(cosines) / count**0.5 * 1.96:.2f}")
            print(f"| {dimension} | {aim} | " + " | ".join(cells) + " |", flush=True)
        spent = (time.process_time() - started) / made
        print(f"n = {dimension}: {1000 * spent:.1f} ms of one core for a draw")


if __name__ == "__main__":
    main()
