"""The six steps, one file each."""
