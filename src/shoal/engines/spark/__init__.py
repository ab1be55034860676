"""Spark: the rows stay on the cluster, and the driver sees dictionaries, counts and trees only."""
