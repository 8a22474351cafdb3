"""
Topics
======

What do SciPy's functions talk about? Latent Dirichlet allocation over their docstrings, as bars of telling words and as a map.
"""

import inspect

import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.stats
from sklearn.feature_extraction.text import CountVectorizer

from suffice import LatentDirichletAllocation, TopicDisplay

modules = (scipy.stats, scipy.signal, scipy.ndimage, scipy.optimize, scipy.sparse, scipy.spatial)
documents = [
    text
    for module in modules
    for name, thing in inspect.getmembers(module, callable)
    if not name.startswith("_") and (text := inspect.getdoc(thing))
]
vectorizer = CountVectorizer(stop_words="english", min_df=10, max_df=0.3, token_pattern=r"[a-z]{4,}")
X = vectorizer.fit_transform(documents)
words = vectorizer.get_feature_names_out()

model = LatentDirichletAllocation(6, random_state=0).fit(X)
TopicDisplay.from_estimator(model, words, n_words=7)

# %%
TopicDisplay.from_estimator(model, words, kind="map")
