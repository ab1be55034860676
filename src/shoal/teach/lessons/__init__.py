"""The lessons: each runs an algorithm of the textbook on a small table, and says what it does."""
