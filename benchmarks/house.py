"""How the package is laid out: size of modules, who imports whom, and how deep imports go.

    python -m benchmarks.house [REVISION ...]

One column for each git revision and a last one for the working tree. `floors` is the number of
modules on the longest chain of imports; a module that one other module imports has a single
importer; a name is repeated when several modules of the package are called by it.
"""

from __future__ import annotations

import ast
import io
import statistics
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "sarag_rdf"
VAGUE = ("found", "kept", "made", "said", "told", "held")


def sources_of(revision: str) -> dict[str, str]:
    """Path -> text of every module of the package at a git revision, or in the working tree."""
    if not revision:
        paths = (ROOT / PACKAGE).rglob("*.py")
        return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}
    archive = subprocess.run(
        ["git", "archive", revision, PACKAGE], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = [member for member in tar if member.name.endswith(".py")]
        return {
            member.name: (tar.extractfile(member) or io.BytesIO()).read().decode()
            for member in files
        }


def module_name(path: str) -> str:
    """``sarag_rdf/kg/graph.py`` -> ``sarag_rdf.kg.graph``; a package goes by its own name."""
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def imports(text: str, modules: Mapping[str, object]) -> Iterator[str]:
    """Modules of the package that a text imports, wherever the import stands."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if below in modules else str(node.module)


def floors(graph: Mapping[str, set[str]]) -> int:
    """Modules on the longest chain of imports."""

    @cache
    def depth(module: str) -> int:
        return 1 + max((depth(other) for other in graph[module]), default=0)

    return max(map(depth, graph))


def identifiers(text: str) -> Iterator[str]:
    """Names that are bound or read in a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def measure(sources: Mapping[str, str]) -> dict[str, str]:
    """The figures of one state of the package, by what they are called."""
    texts = {module_name(path): text for path, text in sources.items()}
    graph = {
        module: set(imports(text, texts)) - {module, PACKAGE} for module, text in texts.items()
    }
    importers = Counter(other for others in graph.values() for other in others)
    sizes = {module: len(text.splitlines()) for module, text in texts.items()}
    real = {m: size for m, size in sizes.items() if size > 1}  # a package of a docstring is none
    largest = max(sizes, key=sizes.__getitem__)
    last_names = Counter(module.rpartition(".")[2] for module in texts)
    names = Counter(name for text in texts.values() for name in identifiers(text))
    return {
        "files": str(len(sizes)),
        "lines": f"{sum(sizes.values()):,}",
        "median lines of a module": f"{statistics.median(real.values()):.0f}",
        "largest module": f"{sizes[largest]} ({largest.removeprefix(PACKAGE + '.')})",
        "modules with a single importer": str(sum(importers[module] == 1 for module in real)),
        "floors": str(floors(graph)),
        "repeated module names": str(sum(count > 1 for count in last_names.values())),
        f"uses of {'/'.join(VAGUE)} as names": str(sum(names[name] for name in VAGUE)),
    }


def main() -> None:
    columns = [*sys.argv[1:], ""]
    figures = [measure(sources_of(revision)) for revision in columns]
    heads = [*sys.argv[1:], "working tree"]
    print("| | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * len(heads))
    for label in figures[0]:
        print(f"| {label} | " + " | ".join(column[label] for column in figures) + " |")


if __name__ == "__main__":
    main()
