"""EM step by step: two coins, one of them tossed ten times, five times over; nobody noted which.

Run it with ``python examples/two_coins.py``. The example is that of Do and Batzoglou (2008), "What is the expectation
maximization algorithm?", *Nature Biotechnology* 26, 897-899.
"""

import pgm
from pgm import fit_em

SETS = ["HTTTHHTHTH", "HHHHTHHHHH", "HTHHHHHTHH", "HTHTTTHHTT", "THHHTHHHTH"]

# ---------------------------------------------------------------- 1. The model
# The coin is hidden; given the coin, tosses are independent. So this is naive Bayes with an unobserved class.

coin = pgm.Variable("coin", ["A", "B"])
tosses = [pgm.Variable(f"toss {number}", ["H", "T"]) for number in range(1, 11)]
guess = [[0.6, 0.4], [0.5, 0.5]]  # the first guess: A shows heads 6 times of 10, B 5 times
start = pgm.BayesianNetwork([pgm.CPT(coin, [0.5, 0.5]), *(pgm.CPT(toss, guess, parents=[coin]) for toss in tosses)])
data = {toss.name: [row[place] for row in SETS] for place, toss in enumerate(tosses)}

# ---------------------------------------------------------------- 2. One E step, looked at
# How much of each set of tosses belongs to coin A, as far as the guess can tell?

print("P(coin A | tosses):", start.posterior(data, "coin")[:, 0].round(2).tolist())

# ---------------------------------------------------------------- 3. EM
# The coins are taken at random, half and half: that table is fixed. All ten tosses have one table together.

options = {"start": start, "starts": 1, "fixed": ["coin"], "shared": [[toss.name for toss in tosses]]}
for iterations in (1, 2, 3, 10):
    result = fit_em(start, data, max_iter=iterations, tol=None, **options)
    heads_a, heads_b = result.network.cpt("toss 1").values[:, 0]
    print(f"after {iterations:2} iterations: A {heads_a:.2f}, B {heads_b:.2f}, {result.log_likelihood:.4f}")

print(fit_em(start, data, **options))

# ---------------------------------------------------------------- 4. Hard EM
# Each set belongs wholly to the coin that explains it best, as a point does in K-means: quicker, and further apart.

hard = fit_em(start, data, hard=True, **options)
print("hard EM:", hard.network.cpt("toss 1").values[:, 0].round(2).tolist(), f"in {hard.iterations} iterations")
