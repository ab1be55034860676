"""The code space: values as integers, hierarchies over them, recodings and what these lose."""
