"""A real cluster: a master and two workers, each a process of its own, from the pip-installed package."""

import gc
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

JAVA = shutil.which("java")
CONFIGURATION = Path(__file__).with_name("conf")
# Also for the commands that tests start.
os.environ["SPARK_CONF_DIR"] = str(CONFIGURATION)

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1g",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "4",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # A worker that is gone is noticed at once by its closed connection; the rest should not wait either.
    "spark.network.timeout": "60s",
    "spark.executor.heartbeatInterval": "5s",
}


def pytest_collection_modifyitems(items):
    """Without Java none of these tests can run."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for left in ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"):
                item.add_marker(pytest.mark.filterwarnings(left))  # Spark leaves sockets to be collected
            if JAVA is None:
                item.add_marker(pytest.mark.skip(reason="NO JAVA: the tests of Spark need one"))


def free_port() -> int:
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return int(at.getsockname()[1])


class Cluster:
    """One master and its workers."""

    def __init__(self, folder: Path, cores: int = 1, memory: str = "1200m") -> None:
        self.cores, self.memory = cores, memory
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark

        self.home, self.folder = Path(pyspark.__file__).parent, folder
        self.port = free_port()
        self.master_url = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        web = ["--webui-port", str(free_port())]
        self.master = self._start(
            "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(self.port), *web
        )
        self._await_port(self.port)
        self.workers = [self.start_worker() for _ in range(2)]

    def start_worker(self) -> subprocess.Popen[bytes]:
        work = self.folder / f"work{len(self.processes)}"
        settings = ["--host", "127.0.0.1", "--cores", str(self.cores), "--memory", self.memory]
        settings += ["--work-dir", str(work), "--webui-port", str(free_port())]
        return self._start("org.apache.spark.deploy.worker.Worker", *settings, self.master_url)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        command = [str(self.home / "bin" / "spark-class"), *arguments]
        with (self.folder / f"log{len(self.processes)}").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        self.processes.append(process)
        return process

    def _await_port(self, port: int) -> None:
        for _ in range(1200):
            with socket.socket() as at:
                if at.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("the master of Spark does not answer")

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            process.wait(30)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def spark(cluster):
    """A session on the cluster, with an executor on each worker."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("tests").master(cluster.master_url)
        # What executors compile would be kept here; but kernels travel to them, and there is nothing to keep.
        kernels = {"spark.executorEnv.SHOAL_CACHE": str(cluster.folder / "compiled-by-executors")}
        for name, value in (SETTINGS | kernels).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()
        gc.collect()  # its sockets, here and not in the middle of somebody else's test
