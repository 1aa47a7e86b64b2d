"""Irises: Gaussian naive Bayes beside scikit-learn's, and what becomes of it with intervals and dependences.

Run it with ``python examples/iris.py``.
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB

from pgm import AODEClassifier, MDLPDiscretizer, NaiveBayesClassifier, SPODEClassifier, TANClassifier

# ---------------------------------------------------------------- 1. A fifth of the flowers to test

iris = load_iris()
X, y = (
    iris.data,
    iris.target_names[iris.target],
)  # x0 and x1 are length and width of the sepals, x2 and x3 of the petals
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

# ---------------------------------------------------------------- 2. Gaussian naive Bayes, theirs and ours
# scikit-learn estimates P(c) without pseudocounts, so ours gets none either: then the numbers are the same.

theirs = GaussianNB().fit(X_train, y_train)
ours = NaiveBayesClassifier(class_pseudocount=0).fit(X_train, y_train)
print(f"scikit-learn: {theirs.score(X_test, y_test):.4f} of {len(X_test)} right")
print(f"pgm:          {ours.score(X_test, y_test):.4f}")
print("largest difference:", f"{np.abs(theirs.predict_proba(X_test) - ours.predict_proba(X_test)).max():.0e}")

# ---------------------------------------------------------------- 3. The network behind it

print(ours.network_.gaussians["x2"])
print(ours.network_.query("class", {"x2": 4.9, "x3": 1.6}))

# ---------------------------------------------------------------- 4. Intervals instead of Gaussians
# The other classifiers need states. Fayyad and Irani's method cuts where the classes change.

tan = TANClassifier(discretizer=MDLPDiscretizer()).fit(X_train, y_train)
print("petals:", *tan.network_.variable("x2").states, sep="  ")
print("tree:", tan.tree_)

# ---------------------------------------------------------------- 5. Ten folds

models = {
    "Gaussian naive Bayes": NaiveBayesClassifier(),
    "naive Bayes": NaiveBayesClassifier(discretizer=MDLPDiscretizer()),
    "SPODE": SPODEClassifier(discretizer=MDLPDiscretizer()),
    "TAN": TANClassifier(discretizer=MDLPDiscretizer()),
    "AODE": AODEClassifier(discretizer=MDLPDiscretizer()),
}
for name, model in models.items():
    print(f"{name:<21}{cross_val_score(model, X, y, cv=10).mean():.4f}")
