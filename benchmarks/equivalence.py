"""Equivalence classes: greedy equivalence search against hill climbing, class sizes, and distances between graphs.

Searches run on rows sampled from bundled networks. Each starts from a new data set, since a data set remembers what it
has counted; they alternate, and medians are compared. Distances are those of the class found from the true graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

from harness import interleave, introduce, option_parser, timed
from report import seconds, table

import pgm
from pgm.graph.distances import compare, sid, sid_bounds
from pgm.learning.search.ges import ges

BUDGET_WAYS = 20_000
"""Ways to direct one part of a class that the bounds of the intervention distance may go through."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=["asia", "insurance", "alarm", "hailfinder", "andes"])
    parser.add_argument("--rows", type=int, default=20_000, metavar="N")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    options = parser.parse_args()
    introduce(None)
    lines = [
        line for name in options.networks for line in search(name, options.rows, options.seed, options.repetitions)
    ]
    table(("network", "search", "time", "BIC", "edges", "SHD of classes", "SID", "F1 of adjacencies"), lines)
    classes(options.repetitions)
    distances(options.networks, options.repetitions)


def search(name: str, n_rows: int, seed: int, repetitions: int) -> list[tuple[object, ...]]:
    """Return a line for each search."""
    net = pgm.networks.load(name)
    found: dict[str, pgm.DAG] = {}

    def run(method: str, find: Callable[[pgm.Dataset], pgm.SearchResult]) -> Callable[[], float]:
        def measured() -> float:
            data = net.sample(n_rows, rng=seed)
            return timed(lambda: found.__setitem__(method, find(data).dag))

        return measured

    medians = interleave(
        {
            "hill_climb": run("hill_climb", pgm.hill_climb),
            "ges, no turning": run("ges, no turning", lambda data: ges(data, turning=False)),
            "ges": run("ges", ges),
        },
        repetitions,
    )
    data = net.sample(n_rows, rng=seed)
    lines = []
    for method, median in medians.items():
        dag = found[method]
        judged = compare(net, dag, cpdag=True)
        try:
            bounds = sid_bounds(net, dag.cpdag(), limit=BUDGET_WAYS)
            interventions = f"{bounds.lower} to {bounds.upper}"
        except pgm.TooLargeError:
            interventions = f"{sid(net, dag)} for one member"
        value = f"{pgm.score(dag, data):,.1f}"
        line = (seconds(median), value, len(dag.edges), judged.shd, interventions, f"{judged.adjacency_f1:.3f}")
        lines.append((name, method, *line))
    return lines


def classes(repetitions: int) -> None:
    """Print the time to count and draw members of classes."""
    graphs = {f"complete, {size} nodes": pgm.PDAG([], list(combinations(names(size), 2))) for size in (10, 30)}
    graphs |= {f"random chordal, {size} nodes": random_chordal(size) for size in (30, 100, 300)}
    lines = []
    for name, graph in graphs.items():
        runs = {
            "count": lambda graph=graph: timed(graph.count_members),
            "draw": lambda graph=graph: timed(lambda: graph.sample_member(0)),
        }
        medians = interleave(runs, repetitions)
        number = graph.count_members()
        lines.append(
            (name, len(graph.undirected), f"{number:.3g}", seconds(medians["count"]), seconds(medians["draw"]))
        )
    table(("class", "edges", "members", "counted in", "one drawn in"), lines)


def names(size: int) -> list[str]:
    """Return names of nodes."""
    return [f"n{number}" for number in range(size)]


def random_chordal(size: int) -> pgm.PDAG:
    """Return a chordal graph: each node is joined to a random part of a clique of an earlier node."""
    rng = random.Random(size)
    cliques = [[0]]
    edges = []
    for node in range(1, size):
        clique = rng.choice(cliques)
        chosen = rng.sample(clique, rng.randint(1, min(len(clique), 6)))
        edges += [(other, node) for other in chosen]
        cliques.append([*chosen, node])
    labels = names(size)
    return pgm.PDAG([], [(labels[low], labels[high]) for low, high in edges], labels)


def distances(networks: list[str], repetitions: int) -> None:
    """Print the time of the distances between a network and the same without every fifth edge."""
    lines = []
    for name in networks:
        dag = pgm.networks.load(name).dag
        other = dag.remove_edges(dag.edges[::5])
        runs = {
            "shd": lambda dag=dag, other=other: timed(lambda: pgm.shd(dag, other)),
            "sid": lambda dag=dag, other=other: timed(lambda: sid(dag, other)),
        }
        medians = interleave(runs, repetitions)
        size = len(dag), len(dag.edges)
        lines.append((name, *size, pgm.shd(dag, other), sid(dag, other), *map(seconds, medians.values())))
    table(("network", "nodes", "edges", "SHD", "SID", "SHD in", "SID in"), lines)


if __name__ == "__main__":
    main()
