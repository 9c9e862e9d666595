"""A real PostgreSQL server for tests: installed if it is missing, started in a temporary folder, stopped at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from copublish import DatabaseTable
from support.packages import install

OWNER, OWNER_PASSWORD = "owner", "owner-password"
READER, READER_PASSWORD = "reader", "s3cret-reader-password"
"""A role that may read the tables of schema public and nothing else, as an organization would set it up."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server with a database `test` and two roles."""

    folder: Path
    port: int

    def url(
        self, user: str = READER, password: str | None = READER_PASSWORD, *, database: str = "test", host: str = ""
    ) -> str:
        """The address of a database as a user would type it."""
        login = user if password is None else f"{user}:{password}"
        return f"postgresql://{login}@{host or f'127.0.0.1:{self.port}'}/{database}"

    def owner(self) -> psycopg.Connection:
        """A connection that may do everything, and does it at once."""
        return psycopg.connect(self.url(OWNER, OWNER_PASSWORD), autocommit=True)

    def table(self, columns: Mapping[str, Sequence[Any]], types: Mapping[str, str] | None = None) -> DatabaseTable:
        """Make a new table of these columns and return it as the reader sees it; a number column is double precision.

        Args:
            columns: The cells; None is null.
            types: SQL types of some columns, in which their cells are written as they are printed.
        """
        name = f"rows_{next(_NUMBERS)}"
        types = {column: (types or {}).get(column) or _type_of(cells) for column, cells in columns.items()}
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        defined = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind)) for column, kind in types.items()
        )
        with self.owner() as connection:
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), defined))
            with connection.cursor().copy(
                sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(name), names)
            ) as copy:
                for row in zip(*columns.values(), strict=True):
                    copy.write_row([None if cell is None else str(cell) for cell in row])
        return DatabaseTable(self.url(), name)


_NUMBERS = count()


def _type_of(cells: Sequence[Any]) -> str:
    """The type that a person would give a column: numbers if all cells are, text otherwise."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int}:
        return "bigint"
    return "double precision" if kinds and kinds <= {int, float} else "text"


@cache
def server() -> PostgresServer:
    """The server of this test process, started when it is first asked for."""
    folder = Path(tempfile.mkdtemp(prefix="copublish-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, _unprivileged_user())
    with tempfile.NamedTemporaryFile("w", dir=folder) as password_file:
        password_file.write(OWNER_PASSWORD)
        password_file.flush()
        Path(password_file.name).chmod(0o644)
        _run("initdb", "-D", folder / "data", "-U", OWNER, "-A", "scram-sha-256", f"--pwfile={password_file.name}",
             "-E", "UTF8", "--locale=C", "--no-sync")  # fmt: skip
    for attempt in range(5):
        port = _free_port()
        settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        try:
            _run("pg_ctl", "start", "-w", "-D", folder / "data", "-l", folder / "log", "-o", settings)
            break
        except subprocess.CalledProcessError:  # somebody else took the port in between
            if attempt == 4:
                raise RuntimeError((folder / "log").read_text()) from None
    running = PostgresServer(folder, port)
    with psycopg.connect(running.url(OWNER, OWNER_PASSWORD, database="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE test")
    with running.owner() as connection:
        connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{READER_PASSWORD}'")
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {READER}")
    return running


def stop() -> None:
    """Stop the server if it was started, and remove its folder."""
    if server.cache_info().currsize:
        folder = server().folder
        server.cache_clear()
        _run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", folder / "data")
        shutil.rmtree(folder)


def _run(program: str, *arguments: object) -> None:
    command = [str(_binaries() / program), *map(str, arguments)]
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        command = ["runuser", "-u", _unprivileged_user(), "--", *command]
    subprocess.run(command, check=True, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)


@cache
def _binaries() -> Path:
    """The folder of the server's programs; installs them first where they are missing and we may."""
    if (found := _find_binaries()) is None and install("postgresql"):
        found = _find_binaries()
    if found is None:
        raise RuntimeError("These tests need the programs of a PostgreSQL server: install the package 'postgresql'.")
    return found


def _find_binaries() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    candidates = [*reversed(folders), *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


def _unprivileged_user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is neither a user 'postgres' nor 'nobody'.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
