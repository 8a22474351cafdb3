"""
Inside scikit-learn
===================

The estimators pass scikit-learn's checks: pipelines, grid search, cross-validation and meta-estimators take them.
"""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from suffice import GaussianDiscriminant

X, y = load_digits(return_X_y=True)
pipeline = make_pipeline(PCA(random_state=0), GaussianDiscriminant(random_state=0))
grid = {"pca__n_components": [10, 20], "gaussiandiscriminant__covariance": ["tied", "full"]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X[:1200], y[:1200])
for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"{score:.3f}  {params}")
print(f"on new digits: {search.score(X[1200:], y[1200:]):.3f}")
