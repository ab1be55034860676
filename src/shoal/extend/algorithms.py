"""What an algorithm is written with."""

from shoal.algorithms import Algorithm, Problem, Progress, silent
from shoal.codespace.encoding import CategoryOrder
from shoal.codespace.frequency import FrequencyTable
from shoal.codespace.recoding import Proposal
from shoal.support.parameters import check_fields

__all__ = [
    "Algorithm",
    "CategoryOrder",
    "FrequencyTable",
    "Problem",
    "Progress",
    "Proposal",
    "check_fields",
    "silent",
]
