"""Engines: ways to carry out a recipe other than on a table in memory."""
