"""Structure learning on published tables of 20,000 rows: our default, high effort and greedy search, and pyAgrum's.

The searches start from data in memory. pyAgrum learns by greedy hill climbing and by tabu search, with BIC and no
prior, with one and with two threads; the better time is shown. All graphs are scored by us, and compared with the
optimum that GOBNILP's authors proved for at most three parents. ``--growth`` shows how our time grows with rows and
variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from harness import Peer, interleave, option_parser, plain_copy, set_up, timed
from report import ratio, seconds, table

import pgm
from pgm.learning.search.learn_structure import learn_structure
from pgm.learning.search.tabu import tabu_search

TABLES = Path(__file__).parent.parent / "tests" / "data" / "tables"
OPTIMA = {"insurance": -264708.85975077713, "alarm": -218632.31567964845, "hailfinder": -990162.8050400699}
OURS: dict[str, Callable[[pgm.Dataset], pgm.SearchResult]] = {
    "learn_structure": learn_structure,
    "learn_structure, high": lambda data: learn_structure(data, effort="high"),
    "hill_climb": pgm.hill_climb,
    "tabu_search": tabu_search,
}


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--data", nargs="+", default=list(OPTIMA), choices=list(OPTIMA), metavar="NAME")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--growth", action="store_true", help="growth with rows and variables, instead")
    options = parser.parse_args()
    if options.growth:
        show_growth()
        return
    with set_up(options) as (peer, directory):
        for name in options.data:
            compare(name, peer, directory, options.repetitions)


def compare(name: str, peer: Peer | None, directory: Path, repetitions: int) -> None:
    """Print times and scores on one table."""
    given = pgm.read_csv(TABLES / f"{name}.csv.gz")
    data = plain(given)
    found: dict[str, list[tuple[str, str]]] = {}

    def ours(search: Callable[[pgm.Dataset], pgm.SearchResult], title: str) -> float:
        fresh = pgm.Dataset.from_codes(data.variables, [data.codes(column) for column in data.names])
        return timed(lambda: found.update({title: list(search(fresh).dag.edges)}))

    runs: dict[str, Callable[[], float]] = {
        title: lambda search=search, title=title: ours(search, title) for title, search in OURS.items()
    }
    for method in ("greedy", "tabu") if peer is not None else ():
        for threads in (1, 2):
            title = f"pyAgrum {method}, threads: {threads}"
            runs[title] = peer_run(peer, data, directory, (method, threads), found, title)
    medians = interleave(runs, repetitions)
    fastest = min((time for title, time in medians.items() if title.startswith("pyAgrum")), default=None)
    rows = []
    for title, median in medians.items():
        score = pgm.score(pgm.DAG(found[title], nodes=data.names), data, "bic")
        gap = 100 * (OPTIMA[name] - score) / abs(OPTIMA[name])
        faster = ratio(fastest, median) if title in OURS else "-"
        rows.append((title, seconds(median), faster, len(found[title]), f"{score:,.2f}", f"{gap:.4f} %"))
    print(f"{name}: {data.n_rows:,} rows, {len(data.names)} variables; repetitions, in turn: {repetitions}.\n")
    table(("", "time", "pyAgrum's fastest / ours", "edges", "BIC", "below the optimum"), rows)


def plain(data: pgm.Dataset) -> pgm.Dataset:
    """Return the same rows with names and states that every reader takes."""
    variables = [
        pgm.Variable(f"x{number}", [f"s{code}" for code in range(variable.cardinality)])
        for number, variable in enumerate(data.variables)
    ]
    return pgm.Dataset.from_codes(variables, [data.codes(name) for name in data.names])


def peer_run(
    peer: Peer | None,
    data: pgm.Dataset,
    directory: Path,
    how: tuple[str, int],
    found: dict[str, list[tuple[str, str]]],
    title: str,
) -> Callable[[], float]:
    """Return a search of the peer, which notes what it found."""
    csv, bif = directory / "rows.csv", directory / "template.bif"
    data.to_pandas().to_csv(csv, index=False)
    pgm.fit_parameters(pgm.DAG([], nodes=data.names), data, pseudocount=1).write(bif)
    method, threads = how

    def run() -> float:
        assert peer is not None
        peer.ask("read_data", csv=str(csv), bif=str(bif), threads=threads, method=method)
        answer = peer.ask("hill_climb")
        found[title] = [(parent, child) for parent, child in answer["edges"]]
        return float(answer["seconds"])

    return run


# Growth.


def show_growth() -> None:
    """Print the time of the default search by rows and by variables, and the exponents."""
    net = plain_copy(pgm.networks.load("alarm"))
    by_rows = [(n_rows, default_time(net.sample(n_rows, rng=1))) for n_rows in (10_000, 100_000, 1_000_000)]
    print("Rows of ALARM.\n")
    table(("rows", "time", "exponent"), with_exponents(by_rows))
    many = plain_copy(pgm.networks.load("andes")).sample(20_000, rng=1)
    by_variables = [(number, default_time(many.select(many.names[:number]))) for number in (37, 70, 223)]
    print("First variables of ANDES, 20,000 rows.\n")
    table(("variables", "time", "exponent"), with_exponents(by_variables))


def default_time(data: pgm.Dataset) -> float:
    """Return the time of the default search on fresh data."""
    return timed(lambda: learn_structure(data))


def with_exponents(points: list[tuple[int, float]]) -> list[tuple[str, str, str]]:
    """Return table rows; the exponent is the slope between a size and the one before it, on logarithmic scales."""
    rows = []
    for place, (size, time) in enumerate(points):
        before = points[place - 1]
        slope = f"{math.log(time / before[1]) / math.log(size / before[0]):.2f}" if place else "-"
        rows.append((f"{size:,}", seconds(time), slope))
    return rows


if __name__ == "__main__":
    main()
