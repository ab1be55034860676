"""The same bytes on every processor: everything runs again as if this machine had another one."""
