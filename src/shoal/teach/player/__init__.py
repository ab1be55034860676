"""The player: one page that shows the steps of a lesson, without a network."""
