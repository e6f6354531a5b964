"""The container files: what they promise, and their commands, run outside a container."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from sarag_rdf.cli.main import cli
from tests.command import ROOT, Sarag, environment
from tests.sample_graph import make_graph
from tests.server.running import serving

_STEP = re.compile(r"^([A-Z]+) (.*)$")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["sarag"]


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments; each is on one line."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    found = [_STEP.match(line) for line in lines if line and not line.startswith("#")]
    assert all(found)
    return [(match[1], match[2]) for match in found if match]


def last(instruction: str) -> str:
    return [value for name, value in steps() if name == instruction][-1]


def test_the_image_is_locked_down() -> None:
    names = [name for name, _ in steps()]
    assert names[0] == "FROM"
    assert "ADD" not in names
    assert last("USER") == "10001"
    assert names.index("USER") > len(names) - 1 - names[::-1].index("RUN"), "root for RUN alone"
    assert last("VOLUME") == last("WORKDIR") == "/data"
    assert "HF_HUB_OFFLINE=1" in last("ENV")
    assert COMPOSE["read_only"] is True
    assert COMPOSE["cap_drop"] == ["ALL"]
    assert COMPOSE["tmpfs"] == ["/tmp"]
    assert COMPOSE["ports"] == ["127.0.0.1:7878:7878"]
    assert "graph:/data" in COMPOSE["volumes"]


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied = []
    for name, value in steps():
        if name == "COPY" and not value.startswith("--from"):
            copied += value.split()[:-1]
    assert {"pyproject.toml", "sarag_rdf", "queries", "ontology"} <= set(copied)
    for path in copied:
        assert (ROOT / path).exists(), path
        assert any(line.startswith(f"!{path}") for line in ignored), path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for path in (project["project"]["readme"], *project["project"]["license-files"]):
        assert path in copied or path.startswith("sarag_rdf/"), path
    for path in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]:
        assert path in copied, path
    for path in ("queries", "ontology"):
        assert path in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]


def test_steps_of_the_shell_are_well_formed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    commands = [value for name, value in steps() if name == "RUN"]
    for command in commands:
        subprocess.run(["sh", "-n", "-c", command], check=True)
    [install] = [each for each in commands if "'." in each]
    extras = shlex.split(install)[-1].strip(".[]").split(",")
    assert set(extras) <= project["optional-dependencies"].keys()


def test_the_commands_of_both_files_parse(sarag: Sarag) -> None:
    assert json.loads(last("ENTRYPOINT")) == ["sarag"]
    for arguments in (json.loads(last("CMD")), COMPOSE["command"]):
        name, *rest = arguments
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        with command.make_context(name, list(rest), **cli.context_settings) as context:
            assert context.params["host"] == "0.0.0.0"
    refused = sarag(*json.loads(last("CMD")))
    assert refused.code == 2
    assert "--anonymous" in refused.err


def test_the_health_check_sees_a_server(tmp_path: Path) -> None:
    _, _, check = last("HEALTHCHECK").partition("CMD ")
    _, *arguments = json.loads(check)
    assert arguments[0] == "-c"
    folder = make_graph(tmp_path / "kg")

    def healthy(port: int) -> bool:
        code = arguments[1].replace("7878", str(port))
        done = subprocess.run(
            [sys.executable, "-c", code], check=False, env=environment(), capture_output=True
        )
        return done.returncode == 0

    with serving(folder, *COMPOSE["command"][1:], "--workers", "1") as running:
        assert healthy(running.port)
        running.stop()
        assert not healthy(running.port)


@pytest.mark.wheel
def test_the_installing_step_finds_all_packages(tmp_path: Path) -> None:
    """What pip would install is resolved, without installing it."""
    [install] = [value for name, value in steps() if name == "RUN" and "'." in value]
    words = shlex.split(install)
    assert words[:2] == ["pip", "install"]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", *words[2:]]
    subprocess.run(command, check=True, cwd=ROOT)
