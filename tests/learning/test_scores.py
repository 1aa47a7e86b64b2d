"""Scores, against published totals and formulas written out."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, TableError, TooLargeError, UnknownNameError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning import BIC, get_score, local_scores, score
from tests.data.bundled import TRUE_GRAPHS, table

PUBLISHED = {
    "learning.test": (-23832.1318, -23873.1318, -24006.7342, -28277.5930),
    "asia": (-11033.0871, -11051.0871, -11109.7419, -15222.9373),
    "insurance": (-260986.0434, -261970.0434, -265858.5592, -430123.8971),
    "alarm": (-216249.4007, -216758.4007, -218769.8383, -429633.0156),
    "hailfinder": (-980283.7725, -982939.7725, -993435.6039, -1393325.7508),
}
"""What R's bnlearn gives for the true graphs: log-likelihood, AIC, BIC, and BIC without edges."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_scores_of_the_true_graphs(name):
    dag, data = DAG.from_string(TRUE_GRAPHS[name]), table(name)
    found = [score(dag, data, "loglik"), score(dag, data, "aic"), score(dag, data), score(DAG(nodes=data.names), data)]
    assert found == pytest.approx(PUBLISHED[name], abs=6e-5)


def test_published_local_scores():
    dag = DAG(DAG.from_string(TRUE_GRAPHS["learning.test"]).edges, nodes=list("ABCDEF"))
    found = local_scores(dag, table("learning.test"))
    assert list(found) == list("ABCDEF")
    published = [-5501.568232787804, -3686.9220213269423, -3501.199096363697]
    published += [-3544.5606521306663, -4302.522130563594, -3469.9620993254503]
    assert list(found.values()) == pytest.approx(published, abs=1e-9)


OPTIMA = {
    "alarm": (
        -218632.31567964845,
        "[ACO2|VALV:CCHL][VALV|INT:VLNG][CCHL|TPR:SAO2][ANES][APL][BP|TPR:CO][TPR|APL][CO|HR:STKV][SAO2|SHNT:PVS]"
        "[HR|CCHL][STKV|LVF:HYP][CVP|LVV][LVV|LVF:HYP][DISC][ECO2|VLNG:ACO2][VLNG|INT:VTUB][ERCA][ERLO][FIO2][HIST|LVF]"
        "[LVF][HRBP|ERLO:HR][HREK|ERCA:HR][HRSA|ERCA:HR][HYP|APL][INT][KINK|VLNG:VTUB][VTUB|DISC:VMCH][MINV|INT:VLNG]"
        "[MVS][PAP][PCWP|LVV][PMB|PAP][PRSS|INT:VTUB:KINK][PVS|VALV:FIO2][SHNT|INT:PMB][VMCH|MVS]",
    ),
    "insurance": (
        -264708.85975077713,
        "[Accident|DrivQuality:Antilock][DrivQuality|RiskAversion:DrivingSkill][Antilock|VehicleYear:MakeModel]"
        "[Age|RiskAversion:SocioEcon][RiskAversion][SocioEcon|RiskAversion][Airbag|VehicleYear:MakeModel]"
        "[VehicleYear|SocioEcon][MakeModel|SocioEcon][AntiTheft|RiskAversion:SocioEcon]"
        "[CarValue|VehicleYear:MakeModel:Mileage][Mileage|DrivQuality:Accident][Cushioning|RuggedAuto:Airbag]"
        "[RuggedAuto|VehicleYear:MakeModel][DrivHist|RiskAversion:DrivingSkill][DrivingSkill|SeniorTrain:Age]"
        "[SeniorTrain|RiskAversion:Age][GoodStudent|Age:SocioEcon][HomeBase|RiskAversion:SocioEcon][ILiCost|Accident]"
        "[MedCost|Cushioning:Accident][OtherCar|SocioEcon][OtherCarCost|Accident:RuggedAuto]"
        "[PropCost|OtherCarCost:ThisCarCost][ThisCarCost|ThisCarDam:CarValue][Theft|ThisCarCost:ThisCarDam]"
        "[ThisCarDam|Accident:RuggedAuto]",
    ),
}
"""Optimal graphs with at most three parents that GOBNILP proved, and their BIC."""


@pytest.mark.parametrize("name", OPTIMA)
def test_published_scores_of_the_optimal_graphs(name):
    optimum, text = OPTIMA[name]
    assert score(DAG.from_string(text), table(name), "bic") == pytest.approx(optimum, abs=1e-8)


def from_counts(columns, counts):
    *columns_of_values, weights = zip(*counts, strict=True)
    return Dataset(dict(zip(columns, columns_of_values, strict=True)), weights=weights)


TWO_BY_TWO = from_counts("AB", [(0, 0, 5), (0, 1, 1), (1, 0, 2), (1, 1, 6)])


@pytest.mark.parametrize(
    ("edges", "loglik", "bic", "aic"),
    [
        ([("A", "B")], -16.762761875954897, -20.721347870377784, -19.762761875954897),
        ([("B", "A")], -16.762761875954897, -20.721347870377784, -19.762761875954897),
        ([], -19.26477399364584, -21.903831323261098, -21.26477399364584),
    ],
)
def test_sign_factor_and_logarithm(edges, loglik, bic, aic):  # pgmpy#1705
    dag = DAG(edges, nodes=list("AB"))
    found = [score(dag, TWO_BY_TWO, name) for name in ("log_likelihood", "loglik", "bic", "aic")]
    assert found == pytest.approx([loglik, loglik, bic, aic], abs=1e-12)


def test_a_variable_with_one_state_costs_nothing():  # pgmpy#936
    data = from_counts("KXL", [("only", "x0", "one", 3), ("only", "x1", "one", 7)])
    chain, empty = DAG([("K", "X"), ("X", "L")], nodes=list("KXL")), DAG(nodes=list("KXL"))
    assert score(chain, data, "loglik") == pytest.approx(-6.108643020548936, abs=1e-12)
    assert score(chain, data, "bic") == pytest.approx(-7.259935567045959, abs=1e-12)
    assert score(empty, data, "bic") == pytest.approx(-7.259935567045959, abs=1e-12)
    assert local_scores(chain, data, "aic")["K"] == local_scores(chain, data, "bic")["L"] == 0.0


def test_states_that_never_occur_are_paid_for():
    plain, declared = {"x": [0, 1, 1, 0]}, Dataset({"x": [0, 1, 1, 0]}, states={"x": [0, 1, 2]})
    dag = DAG(nodes="x")
    assert score(dag, declared, "aic") == pytest.approx(score(dag, plain, "aic") - 1)
    assert score(dag, declared, "loglik") == score(dag, plain, "loglik")


def test_no_rows_score_nothing():
    data = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": [0, 1]})
    for name in ("bic", "loglik"):
        assert score(DAG([("a", "b")]), data, name) == 0.0
    assert score(DAG([("a", "b")]), data, "aic") == -3.0


@pytest.mark.parametrize("total", [0.5, 1e-6, 1.0, 3.5])
def test_weights_are_taken_as_they_are(total):
    """Also where they add up to less than 1, so that ln N is negative."""
    shares = {("x", 0): 0.4, ("x", 1): 0.1, ("y", 0): 0.2, ("y", 1): 0.3}
    a, b = zip(*shares, strict=True)
    data = Dataset({"a": a, "b": b}, weights=[total * share for share in shares.values()])
    entropy = -sum(share * math.log(share) for share in shares.values())
    dag = DAG([("a", "b")])
    assert score(dag, data, "loglik") == pytest.approx(-total * entropy, abs=1e-12)
    assert score(dag, data, "bic") == pytest.approx(-total * entropy - 1.5 * math.log(total), abs=1e-12)


def test_rows_without_weight_score_nothing():
    data = Dataset({"a": [0, 1], "b": [1, 0]}, weights=[0, 0])
    assert score(DAG([("a", "b")]), data, "bic") == score(DAG([("a", "b")]), data, "loglik") == 0.0


def test_many_families_at_once():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, (3, 2, 4, 3))
    for name in ("bic", "aic", "loglik"):
        together = get_score(name).local(counts)
        assert together.shape == (3, 2)
        for index in np.ndindex(3, 2):
            assert together[index] == pytest.approx(get_score(name).local(counts[index]), abs=1e-12)


@st.composite
def small_data(draw):
    cardinalities = [draw(st.integers(1, 3)) for _ in range(3)]
    rows = draw(st.lists(st.tuples(*(st.integers(0, r - 1) for r in cardinalities)), min_size=1, max_size=25))
    columns = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    return Dataset(columns, states={name: range(r) for name, r in zip("abc", cardinalities, strict=True)})


@settings(max_examples=60, deadline=None)
@given(small_data())
def test_scores_by_the_formula(data):
    """The likelihood row by row, the parameters one by one."""
    columns, n = data.to_dict(), data.n_rows
    a, b, c = (columns[name] for name in "abc")
    pairs, triples = Counter(zip(a, b, strict=True)), Counter(zip(a, b, c, strict=True))
    loglik = math.fsum(math.log(triples[row] / pairs[row[:2]]) for row in zip(a, b, c, strict=True))
    ra, rb, rc = (variable.cardinality for variable in data.variables)
    k = ra * rb * (rc - 1)
    dag = DAG([("a", "c"), ("b", "c")], nodes=list("abc"))
    expected = {"loglik": loglik, "aic": loglik - k, "bic": loglik - k / 2 * math.log(n)}
    for name, value in expected.items():
        assert local_scores(dag, data, name)["c"] == pytest.approx(value, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(small_data())
def test_equivalent_graphs_score_the_same(data):
    chains = [[("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], [("c", "b"), ("b", "a")]]
    complete = [[("a", "b"), ("a", "c"), ("b", "c")], [("c", "b"), ("c", "a"), ("b", "a")]]
    for name in ("loglik", "aic", "bic"):
        for graphs in (chains, complete):
            scores = [score(DAG(edges, nodes=list("abc")), data, name) for edges in graphs]
            assert scores == pytest.approx([scores[0]] * len(scores), abs=1e-9)


def test_columns_that_are_no_nodes_are_ignored():
    frame = {"a": [0, 1, 1], "b": [0, 1, 0], "hole": [None, 1, 0], "height": [1.7, 1.8, 1.9]}
    assert score(DAG([("a", "b")]), frame) == score(DAG([("a", "b")]), {"a": [0, 1, 1], "b": [0, 1, 0]})


def test_a_network_and_a_search_stand_for_their_graph():
    dag = DAG([("A", "B")])
    net = pgm.fit_parameters(dag, TWO_BY_TWO)
    assert score(net, TWO_BY_TWO) == score(dag, TWO_BY_TWO) == score(pgm.hill_climb(TWO_BY_TWO), TWO_BY_TWO)
    assert local_scores(net, TWO_BY_TWO, "aic") == local_scores(dag, TWO_BY_TWO, "aic")


@pytest.mark.parametrize("graph", ["[A][B|A]", [("A", "B")], None, DAG([("A", "B")]).cpdag()])
@pytest.mark.parametrize("learn", [score, local_scores, pgm.fit_parameters])
def test_what_is_no_graph(learn, graph):
    with pytest.raises(GraphError, match=rf"not {type(graph).__name__}: DAG\(.*DAG.from_string"):
        learn(graph, TWO_BY_TWO)


def test_an_array_needs_a_data_set_around_it():
    array = np.array([[0, 1], [1, 0]])
    for learn in (lambda: score(DAG([("A", "B")]), array), lambda: pgm.hill_climb(array)):
        with pytest.raises(DataError, match=r"pgm.Dataset\(array, names=\[...\]\)"):
            learn()
    assert score(DAG([("A", "B")]), Dataset(array, names=["A", "B"]), "loglik") == pytest.approx(-2 * math.log(2))


def test_the_log_likelihood_has_two_names():
    assert get_score("loglik") == get_score("log_likelihood") == get_score("LogLik")
    assert pgm.hill_climb(TWO_BY_TWO, "log_likelihood").score_name == "loglik"


def test_too_many_parents_or_too_large_tables_are_refused_before_counting(monkeypatch):
    monkeypatch.setattr(Dataset, "count", None)
    names = [f"K{i}" for i in range(70)]
    data = Dataset({name: ["only"] for name in names} | {"Y": [0]})
    for learn in (score, pgm.fit_parameters):
        with pytest.raises(TooLargeError, match=r"'Y' and its 70 parents would have 71 axes"):
            learn(DAG([(name, "Y") for name in names]), data)
    large = Dataset.from_codes([Variable(name, range(16_384)) for name in "ab"], np.zeros((3, 2), int))
    for learn, limit in ((score, "1.43"), (pgm.fit_parameters, "1.07")):
        with pytest.raises(TooLargeError, match=rf"'b' and its 1 parent .*\(2.15 GB\); the limit is {limit} GB"):
            learn(DAG([("a", "b")]), large)
    many = Dataset.from_codes([Variable(f"x{i}", range(10_000)) for i in range(9)], np.zeros((3, 9), int))
    chain = DAG([(f"x{i}", f"x{i + 1}") for i in range(8)])
    with pytest.raises(TooLargeError, match=r"the tables of 9 nodes and the work on them"):
        score(chain, many)


@pytest.mark.parametrize(("learn", "copies"), [(score, 3), (pgm.fit_parameters, 4)])
@pytest.mark.parametrize("weights", [None, np.full(500, 0.5)])
@pytest.mark.filterwarnings("ignore::pgm.learning.UnseenConfigurationWarning")
def test_memory_is_what_the_size_check_counts_with(learn, copies, weights):
    names = [f"x{i}" for i in range(18)]
    codes = np.random.default_rng(0).integers(0, 2, (500, 18)).astype(np.uint8)
    data = Dataset.from_codes([Variable(name, [0, 1]) for name in names], codes, weights)
    dag = DAG([(name, "x0") for name in names[1:]])
    data.count([("x0", ["x1"])])
    tracemalloc.start()
    learn(dag, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < copies * 8 * 2**18


def test_what_is_refused():
    data = {"a": [0, 1, None], "b": [0, 1, 1]}
    with pytest.raises(UnknownNameError, match=r"'likelihood'.*'aic', 'bdeu', .*'bic'"):
        score(DAG(nodes="b"), data, "likelihood")
    with pytest.raises(UnknownNameError, match="no score"):
        score(DAG(nodes="b"), data, BIC)
    with pytest.raises(UnknownNameError, match=r"'c'.*'a', 'b'"):
        score(DAG([("b", "c")]), data)
    with pytest.raises(MissingDataError, match=r"'a \(1 of 3\)'"):
        score(DAG([("b", "a")]), data)
    names = [f"P{i}" for i in range(1, 41)]
    with pytest.raises(TooLargeError, match=r"'Y'.*2,199,023,255,552"):
        score(DAG([(name, "Y") for name in names]), {name: [0, 1] for name in ["Y", *names]})


@dataclass(frozen=True)
class NumberOfCells:
    """A score of one's own."""

    name: str = "cells"
    is_score_equivalent: bool = False

    def local(self, counts):
        return np.full(counts.shape[:-2], -float(np.prod(counts.shape[-2:])))


def test_a_score_of_ones_own():
    assert score(DAG([("A", "B")]), TWO_BY_TWO, NumberOfCells()) == -6
    assert pgm.hill_climb(TWO_BY_TWO, NumberOfCells()).dag.edges == ()
    assert pgm.hill_climb(TWO_BY_TWO, NumberOfCells()).score_name == "cells"


class Returning:
    """A score of one's own whose local scores are of another type."""

    name = "odd"
    is_score_equivalent = True

    def __init__(self, dtype):
        self.dtype = dtype

    def local(self, counts):
        return BIC().local(counts).astype(self.dtype)


SEARCHES = [
    pgm.chow_liu, pgm.exact_search, pgm.ges, pgm.hill_climb, pgm.learn_structure, pgm.mmhc, pgm.order_search,
    pgm.tabu_search,
]  # fmt: skip


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.__name__)
def test_local_scores_are_real_numbers(search):
    data = table("lizards")
    for dtype in (complex, str, bool):
        with pytest.raises(TableError, match=r"'odd' returns .*; local scores are real numbers"):
            search(data, score=Returning(dtype))
    assert search(data, score=Returning(np.float32)) is not None
    for number in (1j, np.complex128(1)):
        if search not in (pgm.chow_liu, pgm.ges):  # these take no functions
            with pytest.raises(TableError, match="must return a number, not"):
                search(data, score=lambda counts, number=number: number)


def test_what_an_object_lacks_to_be_a_score():
    class Nameless:
        def local(self, counts):
            return np.zeros(counts.shape[:-2])

    with pytest.raises(UnknownNameError, match=r"has a method local\(\), but also needs 'name', 'is_score_eq"):
        get_score(Nameless())
    Nameless.is_score_equivalent = False
    with pytest.raises(UnknownNameError, match=r"needs 'name'$"):
        pgm.hill_climb(TWO_BY_TWO, Nameless())
    Nameless.name = "now it is one"
    assert pgm.hill_climb(TWO_BY_TWO, Nameless()).score == 0
