"""How a search works, step by step: brute force, evolution and a bound, on four people.

A notebook shows each lesson as a player with buttons. As a script, this prints the figures.
"""

# %% Brute force: what does each pruning save?
from shoal import teach

for prune in ("k", True):
    run = teach.brute_force(k=2, prune=prune, cache=True)
    print(f"pruned by {'k' if prune == 'k' else 'score and k'}: {run.figures['visited']:,} states")

# %% The player of the last run; the page of it needs no network.
run

# %% Evolution finds a table, too, or it does not: that depends on mutation.
for rate in (10, 0):
    bred = teach.evolve(population=20, generations=100, mutation_rate=rate, seed=3)
    print(f"mutation rate {rate}: {'safe' if bred.figures['is_safe'] else 'not safe'}")
bred

# %% A bound makes both unnecessary for so few people.
bound = teach.branch_and_bound(k=2)
print(f"branch and bound: {bound.figures['visited']} states, loss {bound.figures['loss']:.4f}")
bound
