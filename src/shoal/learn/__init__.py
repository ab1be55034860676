"""The scikit-learn side: anonymizing for learning, minimising what an estimator is fed, searching a goal."""

from shoal.table.formats import import_optional

import_optional(
    "sklearn", "shoal[learn]"
)  # before the files that are made of it, so that who lacks it is told

from shoal.learn.anonymizer import TreeAnonymizer  # noqa: E402
from shoal.learn.minimizer import Minimizer  # noqa: E402
from shoal.learn.model_files import load_model  # noqa: E402
from shoal.learn.search import PrivacySearch  # noqa: E402

__all__ = ["Minimizer", "PrivacySearch", "TreeAnonymizer", "load_model"]
