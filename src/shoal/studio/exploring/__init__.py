"""The sections of the step Explore, each a file that draws itself."""
