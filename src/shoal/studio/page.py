"""What a step knows of the page that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nicegui import ui

from shoal.studio.journal import Journal
from shoal.studio.state import StudioWorkspace


@dataclass(eq=False)
class Page:
    """One page in one tab."""

    workspace: StudioWorkspace
    id: str
    """Of the client."""
    journal: Journal
    """What was decided so far, to be undone and saved."""
    draw: Callable[[], object] = field(default=lambda: None)
    """Draws the whole page anew."""

    draw_rail: Callable[[], object] = field(default=lambda: None)
    """Draws the rail of steps anew."""
    on_change: Callable[[], object] = field(default=lambda: None)
    """Draws what depends on changes that do not draw the whole page anew; a step may set it."""

    on_counted: Callable[[], object] = field(default=lambda: None)
    """Draws what waited for something that was counted quietly; a step may set it."""

    def mark_changed(self, redraw: bool = True) -> None:
        """The step has changed the workspace: other tabs will notice, this one draws itself at once.

        Where an input has the cursor, ``redraw`` would take it away: then only `on_change` is drawn.
        """
        # Under its own id, so that its timer does not redraw this page a second time.
        self.workspace.record_change(self.id)
        if redraw:
            self.draw()
        else:
            self.draw_rail()
            self.on_change()

    def open_step(self, step: str) -> None:
        """Turn to another step."""
        ui.navigate.to(f"/{step}")  # NiceGUI puts the key before it
