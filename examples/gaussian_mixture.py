"""A Gaussian mixture is a latent class with Gaussian leaves, and K-means is its hard limit: both side by side.

Run it with ``python examples/gaussian_mixture.py``. Data like those of a geyser: short and long eruptions, and the wait
before each, drawn here from two groups that overlap. Which group a row came from is not told to either method; the
numbers that it was drawn with are printed beside what they find.
"""

from __future__ import annotations

import numpy as np

import pgm

MIXTURE = pgm.DAG([("group", "duration"), ("group", "wait")])
GROUP = pgm.Variable("group", ["short", "long"])
NAMES = ("duration", "wait")

TRUTH = pgm.BayesianNetwork(
    [
        pgm.CPT(GROUP, {"short": 0.36, "long": 0.64}),
        pgm.ConditionalGaussian("duration", {"short": 2.0, "long": 4.3}, {"short": 0.36, "long": 1.0}, [GROUP]),
        pgm.ConditionalGaussian("wait", {"short": 6.0, "long": 8.0}, {"short": 1.96, "long": 0.36}, [GROUP]),
    ]
)
"""Minutes of an eruption, and tens of minutes of the wait, so that both spread by about as much."""


def begin(data: pgm.Dataset, variance: float) -> pgm.BayesianNetwork:
    """Return the start of both: equally probable groups around the first two rows, the shorter eruption first."""
    first = sorted(zip(*(data.numbers(name)[:2].tolist() for name in NAMES), strict=True))
    means = dict(zip(NAMES, zip(*first, strict=True), strict=True))
    leaves = [pgm.ConditionalGaussian(name, means[name], variance, [GROUP]) for name in NAMES]
    return pgm.BayesianNetwork([pgm.CPT.uniform(GROUP), *leaves])


def k_means(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the centres where Lloyd's algorithm ends: assign every point to the nearest, move each to its points."""
    while True:
        nearest = ((points[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        moved = np.array([points[nearest == k].mean(axis=0) for k in range(len(centres))])
        if np.array_equal(moved, centres):
            return centres
        centres = moved


def means_of(net: pgm.BayesianNetwork) -> np.ndarray:
    """Return the means of the leaves, a row for each group."""
    return np.stack([net.gaussians[name].means for name in NAMES], axis=1)


def show(title: str, found: dict[str, np.ndarray]) -> None:
    """Print the means of each group, a column for each way to get them."""
    print(f"\n{title}\n{'group':7}{'mean of':10}" + "".join(f"{name:>12}" for name in found))
    for row, group in enumerate(GROUP.states):
        for column, name in enumerate(NAMES):
            print(f"{group:7}{name:10}" + "".join(f"{means[row, column]:12.4f}" for means in found.values()))


def main() -> None:
    """Fit the mixture, then its hard limit, and K-means from the same start."""
    drawn = TRUTH.sample(500, rng=0)
    data, groups = drawn.select(NAMES), drawn.codes("group")
    options = {"latent": {"group": GROUP.states}, "starts": 1}

    soft = pgm.fit_em(MIXTURE, data, start=begin(data, 1.0), **options)
    show("Gaussian mixture by EM", {"true": means_of(TRUTH), "found": means_of(soft.network)})
    shares = [TRUTH.cpt("group")["long"], groups.mean(), soft.network.cpt("group")["long"]]
    print("share of long eruptions: true {:.3f}, among those drawn {:.3f}, found {:.3f}".format(*shares))
    print(f"log-likelihood: {soft.log_likelihood:.2f}, of the true mixture {TRUTH.log_likelihood(data).sum():.2f}")

    # Variances that cannot fall below a large number are all equal to it; the groups stay equally probable.
    wide = {"min_variance": 100.0, "start": begin(data, 100.0)}
    hard = pgm.fit_em(MIXTURE, data, hard=True, fixed=["group"], **wide, **options)
    points = np.stack([data.numbers(name) for name in NAMES], axis=1)
    centres = k_means(points, means_of(wide["start"]))
    limit = means_of(hard.network)
    show("Its hard limit, and K-means", {"true": means_of(TRUTH), "hard EM": limit, "K-means": centres})
    print(f"largest difference between hard EM and K-means: {np.abs(limit - centres).max():.0e}\n")
    for name, net in [("true mixture", TRUTH), ("mixture", soft.network), ("hard limit", hard.network)]:
        right = (net.posterior(data, "group").argmax(axis=1) == groups).mean()
        print(f"rows put into the group they were drawn from by the {name}: {right:.1%}")


if __name__ == "__main__":
    main()
