"""What the help says about algorithms, models and losses; written by docs/make_lists.py."""

ALGORITHMS = (
    "auto (the best of several in a few seconds), cells (for goals about some columns), cluster, hilbert, "
    "microaggregate (numbers stay numbers), mondrian, peel (for hierarchies), lattice (the best levels of "
    "hierarchies), datafly, samarati, refine, mingen (exact, small tables), genetic, safepub (for that "
    "model), suppress (leaves out cells, changes no other) or tree (for learning)"
)

PARAMETERS = (
    "auto: seconds=0.6. cells: seconds=60. cluster: cell=1600, sweeps=16, seconds=60. microaggregate: "
    "centre=mean or median, cell=20000, sweeps=50. mondrian: mode=strict or relaxed, cut=greedy, classic "
    "or nearest. peel: vectors=20000, sweeps=4, seconds=60. lattice: levels=age=1..3,sex=0, "
    "coding=age=20..70, seconds=60, others=5. datafly: levels=age=1..3,sex=0, coding=age=20..70, "
    "seconds=60. samarati: levels=age=1..3,sex=0, coding=age=20..70, seconds=60. refine: start=mondrian "
    "or hilbert, sweeps=4, seconds=60. mingen: semantics=classes or matching, limit=100, iterations=, "
    "seconds=60, sets=no, force=no. genetic: population=100, generations=1000, mutation_rate=10, "
    "semantics=classes or matching, patience=50, seconds=60. safepub: levels=age=2,sex=0, seed=1 (for "
    "tests, not private). suppress: seconds=. tree: target=COLUMN, grow=quasi or all, failing=merge or "
    "delete, split=yes, gain=16, sweeps=0, guide=labels or predictions, distance=detail or effect."
)

MODELS = (
    "k, k-of-any, alpha-k, distinct-l, entropy-l, recursive-cl, t, basic-beta, enhanced-beta, "
    "delta-disclosure, p-sensitive, k-map (with population=FILE), k-map-estimate, k-map-weights, "
    "delta-presence (with population=FILE), max-risk, average-risk, uniqueness, population-uniqueness, "
    "profitability or safepub"
)

LOSSES = (
    "ncp, span-ncp, certainty, distortion, discernibility, class-size, entropy, precision, height, "
    "generalised, squared-error, kl-divergence or ambiguity"
)
