"""Anonymizing Adult for learning, beside ai-privacy-toolkit where that can be run."""

from __future__ import annotations

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import toolkit
from measure import ADULT, Figures, cpu, need
from shoal.learn import TreeAnonymizer

COLUMNS = [
    "age",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
]
TEXT = ["marital_status", "occupation", "relationship", "sex"]
LIMITS = {10: (0.838, 0.30), 50: (0.838, 0.37), 100: (0.839, 0.42)}


def main() -> None:
    frame = pd.read_csv(need(ADULT))
    y = (frame["class"] == ">50K").astype(int)
    parts = train_test_split(frame[COLUMNS], y, test_size=1 / 3, random_state=0, stratify=y)
    train, test, y_train, y_test = parts
    figures = Figures(f"Adult, {len(train):,} rows to anonymize, {len(COLUMNS)} columns")
    figures.add("forest trained on raw rows", score(train, y_train, test, y_test))
    for k, (least, most) in LIMITS.items():
        anonymizer = TreeAnonymizer(k)
        released = anonymizer.fit_transform(train, y_train)
        figures.add(f"k = {k}: NCP", anonymizer.report_.ncp, limit=most)
        lost = 1 - score(released, y_train, test, y_test)
        figures.add(f"k = {k}: error of a forest trained on the release", lost, limit=1 - least)
        ours = cpu(lambda k=k: TreeAnonymizer(k).fit_transform(train, y_train), 3)
        figures.add(f"k = {k}: CPU", ours, "s")
        if not toolkit.here():
            continue
        spent, coarse = toolkit.released(train, y_train, k, TEXT)
        figures.add(f"k = {k}: CPU of ai-privacy-toolkit", spent, "s")
        figures.add(f"k = {k}: ours as a share of that", ours / spent, limit=0.2)
        figures.add(f"k = {k}: its error", 1 - score(coarse, y_train, test, y_test))
    figures.close()


def score(train: pd.DataFrame, y_train: pd.Series, test: pd.DataFrame, y_test: pd.Series) -> float:
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), TEXT), remainder="passthrough")
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    return float(make_pipeline(encoder, forest).fit(train, y_train).score(test, y_test))


if __name__ == "__main__":
    main()
