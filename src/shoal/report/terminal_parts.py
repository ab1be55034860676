"""What reports on a terminal are made of."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table


def plain_table(*headings: str) -> Table:
    """A table without lines; columns are made by the first row where there are no headings."""
    # No lines: output that is copied into a mail or a ticket stays readable in any font.
    return Table(*headings, box=None, pad_edge=False, header_style="dim", show_header=bool(headings))


def indent_block(what: RenderableType) -> Padding:
    """Anything, a little to the right."""
    return Padding(what, (0, 0, 0, 2), expand=False)


def format_percent(share: float) -> str:
    """A share as a percentage with two decimals."""
    return f"{100 * share:.2f} %"


def format_loss(loss: float) -> str:
    """A loss with four decimals, or with four digits where these would be zeros."""
    # Weights scale the loss: with small ones a proved optimum would read as no loss at all.
    return f"{loss:.4g}" if 0 < abs(loss) < 1e-3 else f"{loss:.4f}"
