"""What `sarag fsck --deep` finds of random damage: ``python -m tests.faults.damage --trials 500``.

Each trial damages a copy of a graph in one way at a random place, and looks at what is found.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.faults.readers import opened, source
from tests.sample_graph import CapitalExtractor

Damage = Callable[[Path, random.Random], None]


def flip(path: Path, chance: random.Random) -> None:
    """Change one bit of a file."""
    with path.open("r+b") as file:
        place = chance.randrange(path.stat().st_size)
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ (1 << chance.randrange(8))]))


def overwrite(path: Path, chance: random.Random) -> None:
    """Write zeros over up to 4 KiB, as a lost block of a disk."""
    size = path.stat().st_size
    place = chance.randrange(size)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(bytes(min(4096, size - place)))


def truncate(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.truncate(chance.randrange(path.stat().st_size))


def delete(path: Path, chance: random.Random) -> None:
    path.unlink()


KINDS: dict[str, tuple[str, Damage]] = {
    "one bit of a table": ("store/*.sst", flip),
    "a block of a table": ("store/*.sst", overwrite),
    "a table truncated": ("store/*.sst", truncate),
    "a table missing": ("store/*.sst", delete),
    "one bit of the manifest": ("store/MANIFEST-*", flip),
    "the manifest truncated": ("store/MANIFEST-*", truncate),
    "the manifest missing": ("store/MANIFEST-*", delete),
    "one bit of CURRENT": ("store/CURRENT", flip),
    "CURRENT missing": ("store/CURRENT", delete),
    "one bit of the embeddings": ("cache/embeddings.sqlite", flip),
    "the embeddings truncated": ("cache/embeddings.sqlite", truncate),
    "one bit of the vectors": ("cache/vectors/*.f32", flip),
    "the vectors truncated": ("cache/vectors/*.f32", truncate),
    "one bit of the arrays": ("cache/vectors/*.arrays", flip),
}
"""Damage -> the files of which one is damaged, chosen by size, and how."""


def make(folder: Path, sources: int = 120) -> None:
    """A graph in several tables, with deleted quads, and its caches."""
    for version in range(3):
        with opened(folder) as kg:
            chosen = range(version * sources // 4, sources * (version + 2) // 4)
            kg.index(
                [source(1, number, version) for number in chosen],
                extractor=CapitalExtractor(),
                words=6,
                overlap=0,
            )
    with opened(folder) as kg:
        kg.search("Whom did Ada meet?")


def damage(folder: Path, kind: str, chance: random.Random) -> Path:
    """Damage one file of a graph; returns its path."""
    pattern, how = KINDS[kind]
    files = sorted(path for path in folder.glob(pattern) if path.stat().st_size)
    (path,) = chance.choices(files, [path.stat().st_size for path in files])
    how(path, chance)
    return path


def is_found(folder: Path) -> bool:
    """Whether ``fsck --deep`` fails, or finds something; a crash is raised."""
    try:
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            return not fsck(kg, deep=True).in_order
    except SaragError:
        return True


def quads(folder: Path) -> frozenset[str]:
    """All quads of a graph that can be opened."""
    store = OxigraphStore.open(folder / "store")
    return frozenset(map(str, store.quads()))


def trials(
    clean: Path, work: Path, kinds: Sequence[str], count: int, seed: int = 0
) -> dict[str, Counter[str]]:
    """Damage copies of a graph; for each kind, how many were damaged, found, and harmless.

    Damage that is not found is harmless if the graph has the same quads.
    """
    result: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    whole = quads(clean)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(clean, work)
        path = damage(work, kind, random.Random(f"{seed} {number}"))
        result[kind]["damaged"] += 1
        found = is_found(work)
        harmless = not found and quads(work) == whole
        result[kind]["found"] += found
        result[kind]["harmless"] += harmless
        if not found and not harmless:
            print(f"not found: trial {number}, {kind}, {path.name}", flush=True)
    shutil.rmtree(work, ignore_errors=True)
    return result


def table(result: dict[str, Counter[str]]) -> str:
    """The counts as a table of Markdown."""
    head = "| damage | trials | found | harmless | neither |"
    rows = [
        f"| {kind} | {n['damaged']} | {n['found']} | {n['harmless']} | "
        f"{n['damaged'] - n['found'] - n['harmless']} |"
        for kind, n in result.items()
    ]
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: |", *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Damage graphs at random.")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind of damage")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sarag-damage-") as name:
        make(Path(name, "clean"))
        if is_found(Path(name, "clean")):
            raise AssertionError("the clean graph is not in order")
        kinds = [given.kind] if given.kind else [*KINDS]
        result = trials(Path(name, "clean"), Path(name, "work"), kinds, given.trials, given.seed)
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
