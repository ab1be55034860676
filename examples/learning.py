"""Anonymizing for learning, from start to finish.

How strict a goal does an estimator bear, what does the release look like, and how little does the estimator
need in the end? The notebook beside this script has the same steps.
"""

# %% A made-up hospital register; we want to predict whether an admission was costly.
import polars as pl

import shoal
from shoal.learn import Minimizer, PrivacySearch, TreeAnonymizer
from shoal.learn.estimators import named_estimator

patients = shoal.sample("hospital", rows=1500).drop_nulls("cost")
costly = (patients["cost"] > patients["cost"].median()).to_numpy()
patients = patients.select("age", "sex", "education", "occupation", "marital_status", "diagnosis")
quasi = ["age", "sex", "education", "occupation", "marital_status"]

# %% Keep some rows for the end; nothing below looks at them before.
train, last = patients[:1000], patients[1000:]

# %% Which goals can be met, and what do they cost?
search = PrivacySearch(
    "decision-tree", k=[5, 10, 25], l=[2, 4], quasi=quasi, sensitive=["diagnosis"], splits=2
)
search.fit(train, costly[:1000])
print(search.results_.select("k", "l", "score", "score_std", "deletion_ratio", "ncp"))
print(f"raw {search.raw_score_:.3f}, commonest class {search.baseline_score_:.3f}")

# %% Take the strictest and anonymize: what comes out has passed the verifier.
anonymizer = TreeAnonymizer(k=25, l=4, quasi=quasi, sensitive=["diagnosis"])
released = anonymizer.fit_transform(train, costly[:1000])
print(anonymizer.cells_.head())
assert shoal.verify(released, quasi=quasi, sensitive=["diagnosis"], k=25, l=4).holds

# %% Train on the release, and measure once on the rows that were kept.
estimator = named_estimator("random-forest", False, 0).fit(released, costly[:1000])
raw = named_estimator("random-forest", False, 0).fit(train, costly[:1000])
print(f"trained on the release {estimator.score(last, costly[1000:]):.3f}", end=", ")
print(f"trained on raw rows {raw.score(last, costly[1000:]):.3f}")

# %% How little does an estimator need once it is trained?
small = named_estimator("decision-tree", False, 0).fit(train, costly[:1000])
minimizer = Minimizer(small, target_score=0.9).fit(train[:600])
print(minimizer.describe())
print(f"on unseen rows predictions agree to {minimizer.agreement(last):.3f}")
assert isinstance(minimizer.transform(last), pl.DataFrame)
