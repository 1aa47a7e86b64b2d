"""The main job, start to finish: define, ask, explain, learn from a CSV file, fit, export.

Run it with ``python examples/quickstart.py``. It writes ``clinic.dot`` and ``clinic.bif`` into a temporary folder.
"""

from pathlib import Path
from tempfile import mkdtemp

import pgm

# ---------------------------------------------------------------- 1. Define a network
# A variable is a name and its states. A table (CPT) gives the child's distribution for each state of its parents; the
# rows can be named by label, so nothing depends on positions. The tables draw the graph.

rain = pgm.Variable("rain", ["no", "yes"])
sprinkler = pgm.Variable("sprinkler", ["off", "on"])
wet = pgm.Variable("wet", ["no", "yes"])

garden = pgm.BayesianNetwork(
    [
        pgm.CPT(rain, [0.8, 0.2]),
        pgm.CPT(sprinkler, {"no": [0.6, 0.4], "yes": [0.99, 0.01]}, parents=[rain]),
        pgm.CPT(
            wet,
            {
                ("off", "no"): [1.0, 0.0],
                ("off", "yes"): [0.2, 0.8],
                ("on", "no"): [0.1, 0.9],
                ("on", "yes"): [0.01, 0.99],
            },
            parents=[sprinkler, rain],
        ),
    ]
)
print("The garden:", garden.dag)
print(garden.cpt("sprinkler"))

# ---------------------------------------------------------------- 2. Ask it
# A posterior is a table over the states of what was asked.

print("\nThe grass is wet. Did it rain?")
print(garden.query("rain", {"wet": "yes"}))

# ---------------------------------------------------------------- 3. Explaining away
# Burglars and earthquakes have nothing to do with each other. But both set off the alarm: once it rings, they compete.

house = pgm.networks.load("earthquake")
quiet = house.query("Burglary")["True"]
alarm = house.query("Burglary", {"Alarm": "True"})["True"]
quake = house.query("Burglary", {"Alarm": "True", "Earthquake": "True"})["True"]
print(f"\nP(burglary) = {quiet:.3f}; the alarm rings: {alarm:.3f}; the earth did shake: {quake:.3f}")

# ---------------------------------------------------------------- 4. Why? Ask the graph
# d-separation says what can influence what. The explanation goes through every trail.

print()
print(house.dag.explain_separation("Burglary", "Earthquake", given="Alarm"))
print()
print(house.dag.explain_separation("JohnCalls", "MaryCalls", given="Alarm"))

# ---------------------------------------------------------------- 5. Learn a structure from data
# 5000 patients of a chest clinic: hill climbing adds, deletes and reverses edges while BIC improves.

patients = pgm.read_csv(Path(__file__).parent / "data" / "asia.csv.gz")
print(f"\n{patients!r}")
found = pgm.hill_climb(patients, score="bic")
truth = pgm.DAG.from_string("[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]")
print(f"\nlearned {found.dag}")
print(f"BIC {found.score:.2f}; the true graph has {pgm.score(truth, patients, 'bic'):.2f}")
print(f"structural Hamming distance to the truth: {pgm.shd(found.dag, truth, cpdag=True)}")

# ---------------------------------------------------------------- 6. Fit its tables and use it
clinic = pgm.fit_parameters(found.dag, patients, pseudocount=1)
print("\nA smoker with a positive X-ray:")
for name, posterior in clinic.marginals({"S": "yes", "X": "yes"}).items():
    print(f"  P({name}=yes) = {posterior['yes']:.4f}")

# ---------------------------------------------------------------- 7. Export
folder = Path(mkdtemp())
clinic.write(folder / "clinic.bif")
(folder / "clinic.dot").write_text(clinic.to_dot(highlight=["S", "B", "D"], evidence={"X": "yes"}), encoding="utf-8")
assert pgm.read(folder / "clinic.bif") == clinic  # nothing is lost on the way
print(f"\nwritten: {folder / 'clinic.bif'} and {folder / 'clinic.dot'} (draw it with: dot -Tsvg clinic.dot)")
