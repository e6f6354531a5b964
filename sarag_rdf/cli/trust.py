"""``sarag trust``: folders whose settings file the user has read, each with its SHA-256.

A record is a file in the user's state folder, named by the SHA-256 of the path of the settings
file, so that records are written and removed one by one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.endpoints import user_folder
from sarag_rdf.base.errors import SaragError, UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.cli.settings import NAME, read_settings, settings_of


@click.command(name="trust", epilog="Example:  sarag trust projects/rivers")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Trust the folder no longer.")
@click.option("--list", "listed", is_flag=True, help="Print the trusted folders.")
def command(folder: Path, *, remove: bool, listed: bool) -> int:
    """Trust the sarag.toml of a folder, until it changes: all its settings count.

    Without this, the file of a folder sets only what is harmless, not where texts and keys go,
    which files are written or loaded, or how much a document may use. Settings that are not
    harmless are printed.
    """
    if remove and listed:
        raise UsageError("give --list or --remove, not both")
    path = folder.resolve() / NAME
    if listed:
        for record in sorted(_folder().glob("*.json")):
            trusted = Path(str(_read(record).get("path", record)))
            click.echo(f"{trusted}{'' if _is_current(trusted) else '  (changed or missing)'}")
    elif remove:
        _record(path).unlink(missing_ok=True)
        click.echo(f"not trusted: {path}")
    else:
        _trust(path)
    return 0


def is_trusted(path: Path, sha256: str) -> bool:
    """Whether the user trusts a settings file with this content."""
    path = path.parent.resolve() / path.name
    return _read(_record(path)) == {"path": str(path), "sha256": sha256}


def _trust(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"no such file: {path}: give a folder that has a {NAME}")
    file = read_settings(path)
    root = click.get_current_context().find_root()
    group = root.command
    assert isinstance(group, click.Group)  # noqa: S101 - for the type checker
    commands = [group.get_command(root, name) for name in group.list_commands(root)]
    record = _record(path)
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = record.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({"path": str(path), "sha256": file.sha256}))
        unfinished.replace(record)
    except OSError as error:
        raise SaragError(
            f"cannot write {record.parent}: {error.strerror}: name a folder that you may write to "
            "with XDG_STATE_HOME"
        ) from error
    click.echo(f"trusted: {path}")
    for key, value in file.values.items():
        options = [
            option for name, option in settings_of(file, filter(None, commands)) if name == key
        ]
        if not all(option.permits(value, path.parent) for option in options):
            click.echo(f"  {key} = {json.dumps(value)}")


def _is_current(path: Path) -> bool:
    return path.is_file() and is_trusted(path, read_settings(path).sha256)


def _folder() -> Path:
    return user_folder("STATE") / "trusted"


def _record(path: Path) -> Path:
    return _folder() / f"{sha256_hex(str(path))}.json"


def _read(record: Path) -> dict[str, Any]:
    """A record; empty if there is none, or it cannot be read."""
    try:
        found = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
