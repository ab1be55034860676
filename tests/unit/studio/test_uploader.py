"""Places to drop a file on."""

import subprocess
import sys

import pytest

# In a process of its own, since pages are registered once and for all.
LOADS = """
import gc, sys, time, warnings
from pathlib import Path

warnings.simplefilter("ignore")
from starlette.testclient import TestClient
from nicegui.client import Client
from shoal.studio.server import build_application
from shoal.studio.state import StudioWorkspace

workspace = StudioWorkspace()
workspace.use_source(workspace.load_table(Path(sys.argv[1])))
with TestClient(build_application(workspace)) as browser:
    for _ in range(30):
        assert browser.get("/open").status_code == 200
    Client.prune_instances(client_age_threshold=0)
    time.sleep(1)
    gc.collect()
    print(sum(isinstance(each, Client) for each in gc.get_objects()))
workspace.close()
"""


@pytest.mark.slow
def test_pages_that_were_left_are_forgotten(tmp_path):
    (tmp_path / "people.csv").write_text("age,town\n" + "20,Ulm\n30,Bonn\n" * 9)
    command = [sys.executable, "-c", LOADS, str(tmp_path / "people.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 5
