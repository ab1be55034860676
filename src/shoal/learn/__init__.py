"""The scikit-learn side: anonymizing for learning, minimising what an estimator is fed, searching a goal."""

from shoal.learn.anonymizer import TreeAnonymizer
from shoal.learn.minimizer import Minimizer
from shoal.learn.search import PrivacySearch

__all__ = ["Minimizer", "PrivacySearch", "TreeAnonymizer"]
