import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from shoal.support.pickling import PartlyPickled


@dataclass(frozen=True, slots=True)
class Figures(PartlyPickled):
    mean: float
    rows: tuple[str, ...]

    def _collect_kept_state(self):
        return {"mean": self.mean, "rows": ()}


@dataclass(frozen=True, slots=True)
class MoreFigures(Figures):
    shown: bool = True

    def _collect_kept_state(self):
        return Figures._collect_kept_state(self) | {"shown": self.shown}


@pytest.mark.parametrize("send", [lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    ("figures", "kept"),
    [
        (Figures(1.5, ("Ann",)), Figures(1.5, ())),
        (MoreFigures(1.5, ("Ann",), False), MoreFigures(1.5, (), False)),
    ],
)
def test_what_is_kept(send, figures, kept):
    sent = send(figures)
    assert sent == kept
    assert replace(sent, mean=2.0).mean == 2.0
    with pytest.raises(FrozenInstanceError):
        sent.mean = 3.0


def test_what_is_left_behind_is_in_no_byte():
    assert b"Ann" not in pickle.dumps(Figures(1.5, ("Ann",)))
