"""A real Spark on this machine for tests: one Java process with a classic session and a Connect server in it."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from support.packages import install

MASTER = "local[2]"
CLASSIC = f"spark+classic://{MASTER}"


FOR_TINY_TABLES = {
    # Compiling queries and methods well takes longer than running them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def start(folder: Path, *, for_many_rows: bool = False) -> tuple[Any, str]:
    """The classic session, and the address of a Connect server in the same process; tables are kept in the folder."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and not install("openjdk-17-jre-headless"):
        pytest.skip("needs Java 17: install the package 'openjdk-17-jre-headless'")
    from pyspark.sql import SparkSession

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.memory": "700m",
        **({} if for_many_rows else FOR_TINY_TABLES),
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    builder = SparkSession.builder.master(MASTER)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate(), f"sc://127.0.0.1:{port}"
