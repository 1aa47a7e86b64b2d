"""Will the next customer buy a computer? Naive Bayes by hand, and with Laplace's correction.

Run it with ``python examples/computer_shop.py``.
"""

import numpy as np

from pgm import AODEClassifier, NaiveBayesClassifier, bayes_decision

# ---------------------------------------------------------------- 1. Five customers

customers = {
    "age": ["old", "mid", "mid", "mid", "old"],
    "income": ["high", "low", "high", "low", "mid"],
    "gamer": ["yes", "no", "yes", "no", "yes"],
}
buys = ["yes", "no", "no", "yes", "yes"]

# ---------------------------------------------------------------- 2. Customer 51: frequencies
# P(c) times the product of P(xi | c): 3/5 * 1/3 * 1/3 * 2/3 = 2/45 if he buys, 2/5 * 1 * 1/2 * 1/2 = 1/10 if not.

customer_51 = {"age": ["mid"], "income": ["high"], "gamer": ["yes"]}
model = NaiveBayesClassifier(pseudocount=0).fit(customers, buys)
print("classes:", model.classes_.tolist())
print("customer 51, P(c, x):", np.exp(model.predict_joint_log_proba(customer_51))[0].round(6).tolist())
print("decision:", model.predict(customer_51)[0])

# ---------------------------------------------------------------- 3. Customer 52: Laplace's correction
# Nobody old went without buying, so P(old | no) would be 0, whatever else is known. With one more customer of each
# kind it is 1/4, and P(no, x) is 3/7 * 1/4 * 2/5 * 2/4 = 3/140. Age has two states here: two occur in the five rows.

customer_52 = {"age": ["old"], "income": ["high"], "gamer": ["yes"]}
print("uncorrected:", np.exp(model.predict_joint_log_proba(customer_52))[0].round(6).tolist())
corrected = NaiveBayesClassifier(pseudocount=1).fit(customers, buys)
print("corrected:  ", np.exp(corrected.predict_joint_log_proba(customer_52))[0].round(6).tolist())

# ---------------------------------------------------------------- 4. The network behind it

print(corrected.network_.query("class", {"age": "mid", "income": "high", "gamer": "yes"}))

# ---------------------------------------------------------------- 5. Less naive, and with something at stake

print("AODE:", AODEClassifier().fit(customers, buys).predict_proba(customer_51)[0].round(4).tolist())
posterior = corrected.network_.query("class", {"age": "mid", "income": "high", "gamer": "yes"})
print("offer a rebate?", bayes_decision(posterior, {"offer": {"no": 1}, "leave": {"yes": 5}}))
