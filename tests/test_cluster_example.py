"""The compose file of examples/cluster: its services, their commands, and how they are joined."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.scripts.scripts import cli as ray

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.cli.main import cli
from sarag_rdf.kg.registry import options_of
from sarag_rdf.plugins.workers.ray_pool import ray as ray_workers
from tests.command import ROOT

FOLDER = ROOT / "examples" / "cluster"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
HOST = re.compile(r"(?:\w+://|=)([a-z][a-z-]*):(\d+)")


def parsed(command: list[str], group: Any) -> dict[str, Any]:
    name, *arguments = command
    found = group.get_command(None, name)
    assert found is not None, name
    settings = getattr(group, "context_settings", {})
    with found.make_context(name, list(arguments), **settings) as context:
        parameters: dict[str, Any] = context.params
        return parameters


@pytest.mark.parametrize("name", SERVICES)
def test_the_command_of_a_service_parses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = SERVICES[name]
    command = service["command"]
    if service["image"] != "sarag-cluster":
        assert service["volumes"][0].partition(":")[0] in COMPOSE["volumes"]
        return
    if service.get("entrypoint") == ["ray"]:
        assert parsed(command, ray)["block"]
        return
    for variable, value in service["environment"].items():
        if variable.startswith("SARAG_"):
            monkeypatch.setenv(variable, value)
    values = parsed(command, cli)
    assert options_of("vectors", service["environment"]["SARAG_VECTORS"]).name == "milvus"
    if command[0] == "index":
        ray_workers(values["workers"])  # raises for a bad address
        if "--kg" in command:
            assert SparqlEndpoint(command[command.index("--kg") + 1]).query_url
    else:
        assert values["host"] == "0.0.0.0"
        assert values["anonymous"]


def test_services_name_each_other() -> None:
    for name, service in SERVICES.items():
        words = [*service["command"], *service.get("environment", {}).values()]
        hosts = {host for word in words for host, _ in HOST.findall(word)}
        assert hosts <= SERVICES.keys(), name
        assert set(service.get("depends_on", ())) <= SERVICES.keys()


def test_what_is_published_is_on_this_machine_only() -> None:
    ports = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}
    assert ports == {
        "server": ["127.0.0.1:7878:7878"],
        "server-endpoint": ["127.0.0.1:7879:7878"],
    }
    assert SERVICES["ray-worker"]["deploy"]["replicas"] == 2


def test_the_image_adds_extras_that_exist() -> None:
    text = Path(FOLDER / "Dockerfile").read_text("utf-8")
    [extras] = re.findall(r"sarag-rdf\[([\w,]+)\]", text)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for extra in extras.split(","):
        assert f"\n{extra} = [" in project
