"""Searches for linked releases, in which the rows of a person stay together under a pseudonym."""
