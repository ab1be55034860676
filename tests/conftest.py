"""What tests of every room share."""

from pathlib import Path

import pytest
from hypothesis import settings

# How long one example takes says more about the machine than about Shoal.
settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference tables beside the checkout; tests that need it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the reference tables are not here")
    return folder
