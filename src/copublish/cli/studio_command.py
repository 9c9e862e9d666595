"""`copublish studio`: a page on this machine to draft, plan, approve, run and read."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import note, parse_pairs
from copublish.errors import CopublishError
from copublish.files.home import HOME_VARIABLE, default_ledger, home_folder, make_private_folder
from copublish.files.scratch import Scratch
from copublish.rows.database import DatabaseTable

NEEDS = ("starlette", "uvicorn", "python_multipart")
HOW_TO_INSTALL = "The page needs packages that are not installed. Install them: pip install 'copublish[studio]'"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("studio")(studio)


def studio(
    agreement: Annotated[
        Path, typer.Option(help="The agreement, or the draft that you want to write; it need not be there yet.")
    ] = Path("agreement.toml"),
    party: Annotated[
        str | None, typer.Option(help="Which party you are. Default: the one of the agreement whose identity you have.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="Your copublish folder. Default: COPUBLISH_HOME, else .copublish.")
    ] = None,
    data_folder: Annotated[
        list[Path] | None,
        typer.Option(help="Folder below which your data lie; more than once for several. Default: the agreement's."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="NAME=ADDRESS#TABLE, a table in a database by a name of yours; passwords stay in ~/.pgpass."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine. Default: a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and open no browser.")] = False,
) -> None:
    """Open a page on this machine to draft, plan, approve, run and read.

    Everything on it is a command or a Python name as well, and says which. It is served on loopback alone, under an
    address that lets one browser in, once, within ten minutes; it asks nobody else for anything. Data never go through
    it: you name files below the folders given here. A run that was started goes on when you close it.

    Example: copublish studio --agreement agreement.toml --data-folder data/
    """
    if missing := [name for name in NEEDS if find_spec(name) is None]:
        raise CopublishError(f"{HOW_TO_INSTALL} (missing: {', '.join(missing)})")
    from copublish.studio.context import Desk
    from copublish.studio.server import serve

    if home is not None:
        os.environ[HOME_VARIABLE] = str(home.absolute())  # for the Python names, and for the runs that are started
    folders = [agreement.absolute().parent] if data_folder is None else data_folder
    for folder in folders:
        if not folder.is_dir():
            raise CopublishError(f"There is no folder '{folder}'. Make it first, or name another one.")
    desk = Desk(
        home=make_private_folder(home_folder().absolute()),
        agreement_file=agreement.absolute(),
        data_folders=tuple(folder.resolve() for folder in folders),
        party=party,
        sources={name: _table(said) for name, said in parse_pairs(source or [], "--source").items()},
        ledger=default_ledger,
    )

    def tell(address: str) -> None:
        note("Open this address in a browser of this machine. It works once, within ten minutes; Ctrl-C ends the page.")
        typer.echo(address)

    try:
        with Scratch() as private:  # which goes with this process, also if that is killed
            serve(desk, tell=tell, private=private, open_browser=not no_open, port=port)
    except KeyboardInterrupt:
        note("The page has ended. Runs that were started on it go on: copublish runs")


def _table(said: str) -> DatabaseTable:
    address, _, table = said.rpartition("#")
    if not address:
        raise typer.BadParameter("write --source NAME=ADDRESS#TABLE", param_hint="--source")
    return DatabaseTable(address, table)
