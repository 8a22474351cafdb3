"""
When one error is worse than the other
======================================

With probabilities at hand the decision can follow the costs: ``predict(X, cost=...)`` says the class of least expected cost.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from suffice import GaussianNB

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=3, stratify=y)
model = GaussianNB(random_state=0).fit(X_train, y_train)

cost = np.array([[0, 20], [1, 0]])  # cost[true, said]: a missed tumour costs twenty false alarms
for name, said in {"most probable": model.predict(X_test), "least cost": model.predict(X_test, cost=cost)}.items():
    found = confusion_matrix(y_test, said)
    print(f"{name:14} missed tumours {found[0, 1]:3}  false alarms {found[1, 0]:3}  total cost {(found * cost).sum()}")
