"""An anonymizer in a scikit-learn pipeline, and three ways to test what comes out.

What is an estimator worth that was trained on a release, and what if new rows are coarsened as well?
"""

# %% Made-up patients; predict who costs more than half of the others.
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import shoal
from shoal.learn import TreeAnonymizer

patients = shoal.sample("hospital", rows=1500).drop_nulls()
costly = (patients["cost"] > patients["cost"].median()).to_numpy()
rows = patients.select("age", "sex", "education", "marital_status").to_pandas()
train, test, y_train, y_test = rows[:700], rows[700:], costly[:700], costly[700:]


# %% A pipeline: coarsen, encode, learn. What fit_transform makes inside has passed the verifier.
def forest():
    """Text to numbers, and trees on those; leaves of a few rows, or it would learn rows by heart."""
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["sex", "education", "marital_status"]),
            remainder="passthrough",
        ),
        RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
    )


model = make_pipeline(TreeAnonymizer(k=10), forest())
model.fit(train, y_train)
print("smallest class", model[0].report_.smallest_class, f"lost {model[0].report_.ncp:.1%}")

# %% Three figures: raw rows to train on, a release to train on, and new rows coarsened too.
released = TreeAnonymizer(k=10).fit_transform(train, y_train)
print(f"trained on raw rows    {forest().fit(train, y_train).score(test, y_test):.3f}")
print(f"trained on a release   {forest().fit(released, y_train).score(test, y_test):.3f}")
print(f"new rows coarsened too {model.score(test, y_test):.3f}")

# %% k is a parameter like any other. The score of the best flatters it a little: it was chosen by it.
search = GridSearchCV(model, {"treeanonymizer__k": [5, 20]}, cv=3).fit(train, y_train)
print("best", search.best_params_, f"{search.best_score_:.3f}")

# %% Before anything is given away, ask an outsider's question.
found = shoal.verify(released, quasi=list(rows.columns), k=10)
print("the release holds:", found.holds, "in", found.classes, "classes")
assert found.holds
