"""What somebody asks for, as a file: recipes, the commands that equal them, and saved recodings."""
