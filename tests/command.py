"""Runs the command ``sarag``: in this process, or through its entry point in another."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.cli import main
from tests.fault_server import FaultServer, playing
from tests.sample_graph import embeddings

ROOT = Path(__file__).parent.parent
_PREFIXES = ("SARAG_", "OPENAI_")


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """Lines of standard error that are the command's own, but for the one that tells how."""
        lines = [line for line in self.err.splitlines() if line.startswith("sarag: ")]
        return [line for line in lines if not line.startswith("sarag: indexing with ")]

    def fails(self, code: int, *words: str) -> None:
        """Assert that the command failed with one clear line, and without a traceback."""
        assert self.code == code, self
        assert len(self.complaints) == 1, self.err
        assert "Traceback" not in self.err + self.out
        assert "unexpected" not in self.complaints[0]
        for word in words:
            assert word in self.complaints[0]


class Sarag:
    """Calls ``sarag`` in this process, in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Result:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        self._capsys.readouterr()
        code = main._run([str(argument) for argument in arguments])
        return Result(code, *self._capsys.readouterr())


@pytest.fixture
def sarag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Sarag:
    """The command, with `tmp_path` as the working folder and no setting in the environment."""
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("SARAG_DEBUG", "1")  # what no test expects is raised
    monkeypatch.chdir(tmp_path)
    return Sarag(monkeypatch, capsys)


@pytest.fixture
def embedding_server() -> Iterator[FaultServer]:
    """A server at which ``--embedder openai:NAME`` works for any name."""
    with playing(embeddings) as server:
        yield server


def environment(**settings: str) -> dict[str, str]:
    """The environment for a process: this package, no settings but those given, no network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIXES)}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **settings}


def interruptible() -> None:
    """For `preexec_fn`: SIGINT ends the child, though this process may ignore it.

    It does after ``nohup make test &``, and programs inherit the signals that are ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_sarag(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None, **options: Any
) -> Result:
    """``python -m sarag_rdf`` in another process; `options` go to `subprocess.run`."""
    command = [sys.executable, "-m", "sarag_rdf", *map(str, arguments)]
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=environment(**(env or {})),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        timeout=300,
        **options,
    )
    return Result(done.returncode, done.stdout or "", done.stderr)
