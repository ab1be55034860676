"""Twelve people who do not exist: the table of every lesson that is given no other."""

from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["cook", "mason", "plumber"], "office": ["clerk", "judge", "teacher"]})
PEOPLE = {
    "age": [37, 50, 58, 44, 47, 29, 62, 33, 55, 41, 26, 39],
    "sex": ["f", "m", "f", "m", "m", "f", "m", "f", "m", "f", "m", "f"],
    "job": [
        "cook",
        "cook",
        "mason",
        "teacher",
        "plumber",
        "clerk",
        "judge",
        "teacher",
        "mason",
        "clerk",
        "plumber",
        "cook",
    ],
    "hours": [20, 38, 40, 25, 42, 30, 50, 18, 36, 28, 45, 22],
    "illness": [
        "flu",
        "asthma",
        "flu",
        "flu",
        "cancer",
        "cold",
        "cold",
        "flu",
        "asthma",
        "cold",
        "flu",
        "flu",
    ],
}
