"""A Ray cluster of two nodes on this machine, whose processes are ended by their groups."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.command import environment
from tests.servers import free_port

_HOST = "127.0.0.1"
_STORE = 80 << 20
"""Bytes of a node's object store, the least that Ray allows."""
_PATIENCE = 180.0
_ATTEMPT = 5.0


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(_ATTEMPT)
        return probe.connect_ex((_HOST, port)) == 0


@dataclass
class Cluster:
    """Nodes with one processor each; the first one is the head."""

    folder: Path
    port: int = field(default_factory=free_port)
    client_port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The environment of nodes and of programs that use them, with the cluster's token.

        A killed program's actors stay for two seconds, in case that it connects again.
        """
        return {
            "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "2",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_period_ms": "500",
        }

    @property
    def address(self) -> str:
        return f"ray://{_HOST}:{self.client_port}"

    def start(self, *arguments: str) -> None:
        command = [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"),
            *(f"--node-ip-address={_HOST}", f"--object-store-memory={_STORE}", *arguments),
        ]
        self.nodes.append(
            subprocess.Popen(
                command,
                env=environment(**self.env),
                stdout=(self.folder / f"node{len(self.nodes)}").open("wb"),
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    def start_head(self) -> None:
        self.start(
            *("--head", f"--port={self.port}", f"--ray-client-server-port={self.client_port}"),
            *("--include-dashboard=false", f"--temp-dir={self.folder}"),
        )
        self._until(lambda: _answers(self.port))

    def add_node(self) -> None:
        self.start(f"--address={_HOST}:{self.port}")

    def wait(self) -> None:
        """Wait until the client server answers, and all nodes are alive."""
        text = (
            f"import ray; ray.init('{self.address}', logging_level=50, log_to_driver=False)\n"
            f"assert sum(node['Alive'] for node in ray.nodes()) == {len(self.nodes)}"
        )
        command = [sys.executable, "-c", text]
        env = environment(**self.env)
        self._until(lambda: _answers(self.client_port))
        self._until(lambda: subprocess.run(command, env=env, capture_output=True).returncode == 0)

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not condition():
            assert time.monotonic() < end, self._output()
            assert all(node.poll() is None for node in self.nodes), self._output()
            time.sleep(0.2)

    def _output(self) -> list[str]:
        """What the nodes have written."""
        return [path.read_text() for path in sorted(self.folder.glob("node*"))]

    def kill(self, number: int) -> None:
        """Kill all processes of a node."""
        for pid in _sessions(self.nodes[number].pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.nodes[number].wait()


def _sessions(leader: int) -> list[int]:
    """A process and all that it started, with the children of those."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text().rpartition(") ")[2]
            except OSError:
                continue
            children.setdefault(int(text.split()[1]), []).append(int(entry.name))
    found = [leader]
    for pid in found:
        found += children.get(pid, [])
    return found


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster with two nodes."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        nodes = Cluster(Path(folder))
        try:
            nodes.start_head()
            nodes.add_node()
            nodes.wait()
            yield nodes
        finally:
            for number in range(len(nodes.nodes)):
                nodes.kill(number)
