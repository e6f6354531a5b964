"""What a peer is given and gives back; its environment needs nothing of this package but NumPy.

A module ``run_NAME`` calls `run` with a function that indexes a `Task` and returns a function that
ranks passages for a question. Both are timed in seconds of processor time, that of the embedding
model included in the first, and not in the second.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
DEPTH = 10
"""Passages that a peer is asked for."""
WIDTH = 384
"""Numbers in a vector of the embedding model."""
PYTHON = "PEERS_PYTHON"
"""The environment variable with the interpreter that has the embedding model."""
HEADER = struct.Struct("<Q")
"""The number of bytes that follow."""
RESULT = "result.json"
WARM_UP = "Which of these passages comes first?"
"""A question that is asked before the first that is timed."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage by its position in the corpus."""

    number: int
    title: str
    text: str

    @property
    def full(self) -> str:
        """Title and text, as every peer reads and embeds them."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the names of our graph's entities that it contains."""

    text: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of our graph, its class, and the passages that name it."""

    name: str
    kind: str
    passages: Sequence[int]


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship of our graph between two entities, and the passage that states it."""

    subject: str
    phrase: str
    object: str
    text: str
    passage: int


class Embedder:
    """The embedding model of this package, in a process of its own interpreter."""

    def __init__(self, known: Path) -> None:
        """`known` is the file of `embedding` with the vectors of texts."""
        self.seconds = 0.0
        """Processor seconds that the model has taken."""
        self._known = known
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of the texts, one a row."""
        if self._process is None:
            module = "benchmarks.peers.embedding"
            command = [os.environ[PYTHON], "-m", module, str(self._known)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment
            )
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in and pipe_out
        write_block(pipe_in, json.dumps(list(texts)).encode())
        self.seconds += json.loads(read_block(pipe_out))
        vectors = np.frombuffer(read_block(pipe_out), dtype=np.float32)
        return vectors.reshape(len(texts), WIDTH).copy()

    @property
    def _environment(self) -> dict[str, str]:
        """That of the peer, without what belongs to its virtual environment."""
        return {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}

    def close(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait()


def write_block(stream: Any, content: bytes) -> None:
    stream.write(HEADER.pack(len(content)) + content)
    stream.flush()


def read_block(stream: Any) -> bytes:
    """The next block; raises EOFError at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError("the embedding model has stopped: see its error above")
    content: bytes = stream.read(HEADER.unpack(header)[0])
    return content


@dataclass(frozen=True)
class Task:
    """The passages, the questions and, read only if it is asked for, our graph of the passages."""

    given: Path
    """The folder with the files of `write`."""
    folder: Path
    """An empty folder for the files of the peer."""
    embed: Embedder

    @cached_property
    def passages(self) -> list[Passage]:
        return [Passage(**row) for row in rows(self.given / "passages.jsonl")]

    @cached_property
    def questions(self) -> list[Question]:
        return [Question(**row) for row in rows(self.given / "questions.jsonl")]

    @cached_property
    def entities(self) -> list[Entity]:
        return [Entity(**row) for row in rows(self.given / "entities.jsonl")]

    @cached_property
    def relationships(self) -> list[Relationship]:
        return [Relationship(**row) for row in rows(self.given / "relationships.jsonl")]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The position of a passage by its `full` text, stripped."""
        return {passage.full.strip(): passage.number for passage in self.passages}


Row = Passage | Question | Entity | Relationship
Ask = Callable[[Question], Sequence[int]]
"""A question -> positions of passages, the best first."""
Build = Callable[[Task], Ask]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write(path: Path, values: Sequence[Row]) -> None:
    path.write_text("".join(f"{json.dumps(asdict(value))}\n" for value in values), "utf-8")


def run(build: Build, *packages: str) -> None:
    """Index, ask every question, and write `RESULT`; called as ``run_NAME GIVEN FOLDER``."""
    given, folder = map(Path, sys.argv[1:])
    task = Task(given, folder, Embedder(given / "vectors.sqlite"))
    _ = task.passages, task.questions
    try:
        begin = time.process_time()
        ask = build(task)
        own, embedding = time.process_time() - begin, task.embed.seconds
        ask(Question(WARM_UP, ()))
        rankings, milliseconds = [], []
        for question in task.questions:
            begin = time.process_time()
            ranking = ask(question)
            milliseconds.append(round(1000 * (time.process_time() - begin), 3))
            rankings.append(list(dict.fromkeys(map(int, ranking)))[:DEPTH])
    finally:
        task.embed.close()
    result = {
        "packages": {package: version(package) for package in packages},
        "index_seconds": round(own + embedding, 3),
        "milliseconds": milliseconds,
        "rankings": rankings,
    }
    (folder / RESULT).write_text(json.dumps(result), "utf-8")
