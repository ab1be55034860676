"""Kernels look at no element that is not there: some cases with every index checked, which users' are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[3]


def test_no_kernel_looks_outside_of_an_array(tmp_path):
    # Among them a table of one row, of which genetic search once looked for the neighbours.
    line = [sys.executable, "-m", "tests.robustness.fuzz", "--first", "5800", "--count", "200"]
    environment = {
        "PATH": "",
        "PYTHONPATH": str(ROOT),
        "SHOAL_CACHE": os.environ["SHOAL_CACHE"],
        "HOME": str(tmp_path),
    }
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200 runs" in done.stdout
