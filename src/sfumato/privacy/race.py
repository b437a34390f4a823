"""Which of many settings is best, with few trials: the worse half drops out, others go on.

A setting succeeds more often and costs more, the larger its ε. So at one price every setting has
one ε, the largest it can afford, and the price that reaches a wanted share is found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sfumato.core.progress import Progress
from sfumato.privacy.interval import wilson
from sfumato.privacy.price import largest_epsilon
from sfumato.privacy.rehearsal import Rehearsal, Setting, Trial

#: A setting with its ε.
Point = tuple[Setting, float]

#: ε that are searched, where nobody gives others.
EPSILONS = (2.0, 16.0)
STEP = 0.2  # of ε
_FIRST = 5  # images on which every setting is tried
_MOST = 20  # images on which the best of them are
_RUNG = 0.4  # of ε, by which prices are told apart while settings are compared
_NEARLY = 0.95  # of the best share there is
_FEWEST = 4  # settings that stay in the race
_MOST_EVIDENCE = 20.0  # powers of ten: beyond, a pose is not any surer


@dataclass(eq=False)
class Race:
    """Trials of settings, kept, and the searches that decide which to make.

    unit     of the price
    epsilon  where it is given and not searched for; otherwise between the ends of `epsilons`
    """

    rehearsal: Rehearsal
    settings: Sequence[Setting]
    unit: str
    epsilon: float | None
    epsilons: tuple[float, float]
    progress: Progress
    tried: dict[Point, list[Trial]] = field(default_factory=dict)

    def price(self, point: Point) -> float:
        return self.rehearsal.price(*point).in_unit(self.unit)

    def affordable(self, limit: float, settings: Iterable[Setting] | None = None) -> list[Point]:
        """Every setting with the largest ε that the price allows."""
        found = []
        for setting in self.settings if settings is None else settings:
            epsilon = self.epsilon
            if epsilon is None:
                epsilon = largest_epsilon(
                    lambda value, setting=setting: self.rehearsal.price(setting, value),  # type: ignore[misc]
                    self.unit,
                    limit,
                    most=self.epsilons[1],
                    step=STEP,
                )
                if epsilon is not None and epsilon >= self.epsilons[0]:
                    found.append((setting, epsilon))
            elif self.price((setting, epsilon)) <= limit:
                found.append((setting, epsilon))
        return found

    def ranked(self, points: Sequence[Point], stage: str) -> list[Point]:
        """All points, the best first; the better half is tried on twice as many images, and so on.

        Of equals the one whose poses are farthest from chance, then the cheaper one.
        """
        count, out = _FIRST, list[Point]()
        most = min(_MOST, len(self.rehearsal.images))
        points = list(points)
        while True:
            self._try(points, min(count, most), stage)
            points.sort(key=self._merit, reverse=True)
            if count >= most or len(points) <= 1:
                return points + out
            half = max(math.ceil(len(points) / 2), 2)
            points, out = points[:half], points[half:] + out
            count *= 2

    def cheapest(self, share: float, limit: float | None) -> tuple[Point, float]:
        """The setting that localizes this share at the least price, and the share it is to reach.

        Where no price reaches it: nearly as much as the best does at the largest price, which may
        take far less. What is promised is tried again by whoever asks: the best was also lucky.
        """
        if self.epsilon is not None:
            return self._cheapest_given(share, limit), share
        prices = self._ladder(limit)
        found = self._halved(share, prices)
        if found is None:
            top = self.ranked(self.affordable(prices[-1]), "trying the largest price")[0]
            share = min(share, max(_NEARLY * self.share(top), 1e-9))
            found = self._halved(share, prices) or top
        return found, share

    def _halved(self, share: float, prices: Sequence[float]) -> Point | None:
        alive: list[Setting] = list(self.settings)
        best: Point | None = None
        low, high = -1, len(prices)
        while high - low > 1:
            middle = (low + high) // 2
            points = self.affordable(prices[middle], alive)
            order = self.ranked(points, f"trying settings, round {self._round(low, high, prices)}")
            good = [point for point in order if self.share(point) >= share]
            if good:
                high, best = middle, good[0]
                # What fails here fails wherever less is paid.
                alive = [p[0] for p in order if self._may_reach(p, share)]
            else:
                low = middle
                if order:
                    half = max(math.ceil(len(order) / 2), _FEWEST)
                    alive = [point[0] for point in order[:half]]
        return best

    def best_within(self, limit: float) -> Point:
        """The setting that localizes most at this price."""
        return self.ranked(self.affordable(limit), "trying settings")[0]

    def _cheapest_given(self, share: float, limit: float | None) -> Point:
        points = self.affordable(math.inf if limit is None else limit)
        order = self.ranked(points, "trying settings")
        good = [point for point in order if self.share(point) >= share]
        return min(good, key=self.price) if good else order[0]

    def _ladder(self, limit: float | None) -> list[float]:
        """Prices to choose from: those of the largest setting at rising ε, up to the limit."""
        largest = max(self.settings, key=lambda one: (one.max_keypoints, -one.num_words))
        least, most = self.epsilons
        count = math.ceil((most - least) / _RUNG - 1e-9)
        steps = [min(least + _RUNG * k, most) for k in range(count + 1)]
        prices = sorted({self.price((largest, epsilon)) for epsilon in steps})
        if limit is None:
            return prices
        return [*(price for price in prices if price < limit), limit]

    @staticmethod
    def _round(low: int, high: int, prices: Sequence[float]) -> str:
        rounds = math.ceil(math.log2(len(prices) + 1))
        return f"{max(rounds - math.ceil(math.log2(max(high - low, 2))) + 1, 1)} of {rounds}"

    def share(self, point: Point) -> float:
        trials = self.tried[point]
        return sum(trial.is_localized for trial in trials) / len(trials)

    def _may_reach(self, point: Point, share: float) -> bool:
        trials = self.tried[point]
        return wilson(sum(t.is_localized for t in trials), len(trials))[1] >= share

    def _merit(self, point: Point) -> tuple[float, float, float]:
        trials = self.tried[point]
        sure = sum(min(max(trial.evidence, 0.0), _MOST_EVIDENCE) for trial in trials) / len(trials)
        return self.share(point), sure, -self.price(point)

    def _try(self, points: Sequence[Point], count: int, stage: str) -> None:
        images = self.rehearsal.images[:count]
        wanted = [
            (point, image)
            for point in points
            for image in images[len(self.tried.setdefault(point, [])) :]
        ]
        made = self.rehearsal.run_all((*point, image) for point, image in wanted)
        self.progress(stage, 0, len(wanted))
        for done, ((point, _), trial) in enumerate(zip(wanted, made, strict=True), start=1):
            self.tried[point].append(trial)
            self.progress(stage, done, len(wanted))


def settle(
    start: Point,
    reaches: Callable[[Point], bool],
    allowed: Callable[[Point], bool],
) -> Point:
    """The smallest ε that reaches what is wanted, by fresh trials, in steps from the start.

    >>> from sfumato.privacy.race import settle
    >>> settle(("a", 6.0), lambda point: point[1] > 6.5, lambda point: True)
    ('a', 6.6)
    """
    setting, epsilon = start
    up = not reaches(start)
    while True:
        following = round(epsilon + (STEP if up else -STEP), 9)
        point = setting, following
        if not allowed(point):
            return setting, epsilon
        enough = reaches(point)
        if up or enough:
            epsilon = following
        if enough is up:
            return setting, epsilon
