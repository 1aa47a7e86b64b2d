"""Latent class analysis: a class that nobody observes, found from what depends on it.

Run it with ``python examples/latent_class.py``. It makes data from a known model with two classes, learns models with
one to four, chooses by BIC, and compares what was found with what was true.
"""

import numpy as np

import pgm
from pgm import fit_em

# ---------------------------------------------------------------- 1. The truth, and what is seen of it
# Four yes-no questions to 2000 people; some refuse an answer. The kind of person is not in the table.

kind = pgm.Variable("kind", ["sceptic", "believer"])
chances = {"ghosts": (0.1, 0.8), "horoscopes": (0.2, 0.7), "luck": (0.3, 0.9), "aliens": (0.15, 0.5)}
answers = [pgm.Variable(name, ["no", "yes"]) for name in chances]
truth = pgm.BayesianNetwork(
    [
        pgm.CPT(kind, [0.6, 0.4]),
        *(pgm.CPT(v, [[1 - p, p] for p in chances[v.name]], parents=[kind]) for v in answers),
    ]
)
data = truth.sample(2000, rng=1, missing=dict.fromkeys(chances, 0.1)).select(list(chances))
print(data)

# ---------------------------------------------------------------- 2. How many classes?
# The log-likelihood rises with every class; BIC asks whether it rises enough.

graph = pgm.DAG([("kind", name) for name in chances])
fits = {
    classes: fit_em(graph, data, latent={"kind": classes}, pseudocount=0.1, tol=1e-4, acceleration="squarem")
    for classes in (1, 2, 3, 4)
}
print()
for classes, fit in fits.items():
    print(f"{classes} classes: log-likelihood {fit.log_likelihood:9.2f}, BIC {fit.bic:9.2f}")
best = max(fits, key=lambda classes: fits[classes].bic)
print(f"BIC chooses {best}")

# ---------------------------------------------------------------- 3. What was found
# States of a latent variable have no names of their own: 0 may be the sceptics or the believers. So put them in order.

found = fits[2].network
order = np.argsort(found.cpt("ghosts").values[:, 1])
print(f"\nP(kind): {found.cpt('kind').values[order].round(2).tolist()}; true are {truth.cpt('kind').values.tolist()}")
for name, true in chances.items():
    print(f"P({name} = yes | kind): {found.cpt(name).values[order, 1].round(2).tolist()}; true are {list(true)}")

# ---------------------------------------------------------------- 4. Using it
# The fitted network sorts people into classes, whatever they answered and whatever not.

people = {"ghosts": ["yes", "no", None], "horoscopes": ["yes", None, None], "aliens": [None, "no", "yes"]}
print("\nP(believer | answers):", found.posterior(people, "kind")[:, order[1]].round(2).tolist())
