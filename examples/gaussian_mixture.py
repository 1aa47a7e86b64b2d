"""A Gaussian mixture is a latent class with Gaussian leaves, and K-means is its hard limit: both side by side.

Run it with ``python examples/gaussian_mixture.py``. Data like those of a geyser: short and long eruptions, and the wait
before each, drawn here from two groups that overlap.
"""

from __future__ import annotations

import numpy as np

import pgm

MIXTURE = pgm.DAG([("group", "duration"), ("group", "wait")])
STATES = {"group": ["A", "B"]}


def eruptions(n: int, seed: int = 0) -> pgm.Dataset:
    """Return eruptions of two groups; which group it was is not told."""
    rng = np.random.default_rng(seed)
    is_long = rng.random(n) < 0.64
    duration = np.where(is_long, rng.normal(4.3, 1.0, n), rng.normal(2.0, 0.6, n))
    wait = np.where(is_long, rng.normal(80, 6, n), rng.normal(60, 14, n))
    return pgm.Dataset(
        {"duration": duration / duration.std(), "wait": wait / wait.std()}, continuous=["duration", "wait"]
    )


def begin(data: pgm.Dataset, variance: float) -> pgm.BayesianNetwork:
    """Return the start of both: equally probable groups around the first two rows."""
    group = pgm.Variable("group", STATES["group"])
    leaves = [pgm.ConditionalGaussian(name, data.numbers(name)[:2], variance, [group]) for name in data.continuous]
    return pgm.BayesianNetwork([pgm.CPT.uniform(group), *leaves])


def k_means(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the centres where Lloyd's algorithm ends: assign every point to the nearest, move each to its points."""
    while True:
        nearest = ((points[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        moved = np.array([points[nearest == k].mean(axis=0) for k in range(len(centres))])
        if np.array_equal(moved, centres):
            return centres
        centres = moved


def centres_of(net: pgm.BayesianNetwork) -> np.ndarray:
    """Return the means of the leaves, a row for each group."""
    return np.stack([net.gaussians[name].means for name in ("duration", "wait")], axis=1)


def main() -> None:
    """Fit the mixture, then its hard limit, and K-means from the same start."""
    data = eruptions(500)
    points = np.stack([data.numbers(name) for name in data.continuous], axis=1)

    soft = pgm.fit_em(MIXTURE, data, latent=STATES, start=begin(data, 1.0), starts=1)
    print("Gaussian mixture by EM")
    print(soft)
    print(soft.network.cpt("group"))
    print(centres_of(soft.network).round(4))

    # Variances that cannot fall below a large number are all equal to it; the groups stay equally probable.
    hard = pgm.fit_em(
        MIXTURE, data, latent=STATES, start=begin(data, 100.0), starts=1, hard=True, fixed=["group"], min_variance=100.0
    )
    print("\nIts hard limit, and K-means from the same start")
    print(centres_of(hard.network).round(4))
    print(k_means(points, points[:2]).round(4))


if __name__ == "__main__":
    main()
