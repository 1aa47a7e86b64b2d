"""How long it takes to plan all marginals of each bundled network: elimination orders, steps, kernels.

A plan is made once for each set of observed variables and then kept, so this is what a first question pays.
"""

from __future__ import annotations

from harness import interleave, introduce, option_parser, repetitions_within, timed
from report import megabytes, seconds, table

import pgm

BUDGET = 2.0
"""Seconds for the repetitions of one network."""
GOAL = 0.5
"""Seconds, for every network."""


def main() -> None:
    """Measure and print."""
    options = option_parser(__doc__ or "", networks=pgm.networks.names()).parse_args()
    introduce(None)
    rows = []
    times: dict[str, float] = {}
    for name in options.networks:
        net = pgm.networks.load(name)
        repetitions = repetitions_within(BUDGET, plan_afresh(net), least=5)
        times[name] = interleave({name: lambda net=net: plan_afresh(net)}, repetitions)[name]  # type: ignore[misc]
        plan = net.plan()
        rows.append(
            (
                name, len(net), seconds(times[name]), repetitions, plan.heuristic, f"{plan.largest_table:,}",
                f"{plan.operations:,}", megabytes(plan.memory),
            )
        )  # fmt: skip
    header = ("network", "variables", "plan", "repetitions", "heuristic", "largest table", "operations", "memory")
    table(header, rows)
    slowest = max(times, key=lambda name: times[name])
    print(f"slowest: {slowest} {seconds(times[slowest])}; goal: {seconds(GOAL)} for each")


def plan_afresh(net: pgm.BayesianNetwork) -> float:
    """Return the seconds that planning takes in a network that has kept no plan."""
    fresh = pgm.BayesianNetwork(net.cpts)
    return timed(fresh.plan)


if __name__ == "__main__":
    main()
