"""The algorithms of the lessons, as the text describes them: plain Python, written to be read.

Nothing here is fast, and nothing here is used by the product.
"""
