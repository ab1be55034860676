"""What a loss is written with."""

from shoal.codespace.loss import CellCosts, CellLoss, Loss, Measured
from shoal.codespace.recoding import ColumnCells, Recoding

__all__ = ["CellCosts", "CellLoss", "ColumnCells", "Loss", "Measured", "Recoding"]
