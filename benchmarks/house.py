"""How the package is laid out: size of modules, who imports whom, and what a command executes.

    python -m benchmarks.house [REVISION ...]
    python -m benchmarks.house --rooms
    python -m benchmarks.house --routes

One column for each git revision and a last one for the working tree. `floors` is the length of
the longest chain of imports, between modules or between folders of the package (a plug-in is a
folder of its own); a module that one other module imports has a single importer; a name is
repeated when several modules of the package are called by it. `--rooms` prints lines and modules
of each folder. `--routes` runs an index, a search and an answer without a model, each in a process
of its own, and counts modules of the package that are loaded, and those of which a function runs.
"""

from __future__ import annotations

import ast
import io
import json
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "sarag_rdf"
VAGUE = ("found", "kept", "made", "said", "told", "held")
parsed = cache(ast.parse)


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
    for node in ast.walk(parsed(text)):
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


def room(module: str) -> str:
    """The folder of the package that a module is in; each plug-in is a folder of its own."""
    names = module.split(".")
    return ".".join(names[1 : 3 if names[1:2] == ["plugins"] else 2]) or "top"


def is_layered(graph: Mapping[str, set[str]]) -> bool:
    """Whether no chain of imports leads back to where it began."""
    left = dict(graph)
    while ready := [name for name, others in left.items() if not others & left.keys()]:
        for name in ready:
            del left[name]
    return not left


def rooms(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Who imports whom, by folders; ``from sarag_rdf import ...`` does not count."""
    joined: dict[str, set[str]] = {}
    for module, others in graph.items():
        targets = {room(other) for other in others} - {"top", room(module)}
        joined.setdefault(room(module), set()).update(targets)
    return joined


def identifiers(text: str) -> Iterator[str]:
    """Names that are bound or read in a module."""
    for node in ast.walk(parsed(text)):
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
    core = {module: size for module, size in sizes.items() if room(module)[:7] != "plugins"}
    entries = {path.split("/")[1] for path in sources} - {"__init__.py", "__main__.py"}
    names = Counter(name for text in texts.values() for name in identifiers(text))
    return {
        "modules": str(len(sizes)),
        "lines": f"{sum(sizes.values()):,}",
        "modules without plug-ins": str(len(core)),
        "lines without plug-ins": f"{sum(core.values()):,}",
        "entries at the top": str(len(entries)),
        "median lines of a module": f"{statistics.median(real.values()):.0f}",
        "largest module": f"{sizes[largest]} ({largest.removeprefix(PACKAGE + '.')})",
        "modules with a single importer": str(sum(importers[module] == 1 for module in real)),
        "floors of modules": str(floors(graph)),
        "floors of folders": str(floors(rooms(graph)) if is_layered(rooms(graph)) else "a circle"),
        "repeated module names": str(sum(count > 1 for count in last_names.values())),
        f"uses of {'/'.join(VAGUE)} as names": str(sum(names[name] for name in VAGUE)),
    }


def print_rooms() -> None:
    """Lines and modules of each folder of the working tree."""
    texts = {module_name(path): text for path, text in sources_of("").items()}
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for module, text in texts.items():
        lines[room(module)] += len(text.splitlines())
        modules[room(module)] += 1
    print("| folder | modules | lines |\n| --- | ---: | ---: |")
    for name in sorted(lines, key=lambda name: (name.startswith("plugins"), name)):
        print(f"| {name} | {modules[name]} | {lines[name]:,} |")


PROBE = """
import json, sys, threading
executed = set()
def profile(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & 0x2 and code.co_name[0] != "<"
    is_ours = "/sarag_rdf/" in code.co_filename and code.co_filename.endswith(".py")
    if event == "call" and is_function and is_ours:
        executed.add(code.co_filename)
sys.setprofile(profile); threading.setprofile(profile)
from sarag_rdf.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.setprofile(None)
loaded = [name for name in sys.modules if name.split(".")[0] == "sarag_rdf"]
plugins = [name.split(".")[2] for name in loaded if name.startswith("sarag_rdf.plugins.")]
print(json.dumps([len(loaded), len(executed), plugins]), file=sys.stderr)
"""
ROUTES = {
    "index": ("index", "examples/corpus/cern.md", "examples/corpus/danube.md"),
    "search": ("search", "Which river flows through Vienna?"),
    "ask": (
        "ask",
        "Which river flows through Vienna?",
        "--retriever",
        "paths",
        "--reasoner",
        "path-choice",
    ),
}


def print_routes() -> None:
    """What a command loads and executes, in a process of its own."""
    print("| route | modules loaded | executed | of plug-ins |\n| --- | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in ROUTES.items():
            done = subprocess.run(
                [sys.executable, "-c", PROBE, *arguments, "--kg", f"{folder}/kg"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            loaded, executed, plugins = json.loads(done.stderr.splitlines()[-1])
            counted = ", ".join(f"{count} of {of}" for of, count in Counter(plugins).items())
            print(f"| {name} | {loaded} | {executed} | {counted or 'none'} |")


def main() -> None:
    if sys.argv[1:] in (["--rooms"], ["--routes"]):
        (print_rooms if sys.argv[1] == "--rooms" else print_routes)()
        return
    columns = [*sys.argv[1:], ""]
    figures = [measure(sources_of(revision)) for revision in columns]
    heads = [*sys.argv[1:], "working tree"]
    print("| | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * len(heads))
    for label in figures[0]:
        print(f"| {label} | " + " | ".join(column[label] for column in figures) + " |")


if __name__ == "__main__":
    main()
