"""What a table or a release risks: risks before, attacks after, and settings compared."""
