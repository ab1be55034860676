"""What every other package may use: files, names, parameters, progress and exact arithmetic."""
