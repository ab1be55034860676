"""Parts of the step Describe: what a column looks like, what it adds to the risk, many columns at once."""
