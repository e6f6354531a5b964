"""Which part of the library may import which: imports point down. The table is the architecture."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.plugins import plugins

PACKAGE = Path(sarag_rdf.__file__).parent

MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "plugins": set(),
    "documents": {"base"},
    "graph": {"base"},
    "models": {"base"},
    "extraction": {"base", "graph"},
    "plugins.html": {"base", "documents"},
    "plugins.markdown": {"base", "documents"},
    "plugins.office": {"base", "documents", "plugins.markdown"},
    "plugins.record_files": {"base", "documents"},
    "plugins.vector_engines": {"base", "graph"},
    "retrieval": {"base", "graph"},
    "answering": {"base", "graph", "extraction", "retrieval"},
    "building": {"base", "documents", "graph", "extraction"},
    "plugins.threads": set(),
    "plugins.constraints": {"base", "graph"},
    "plugins.statement_models": {"base", "graph", "extraction"},
    "plugins.learned": {"base", "graph", "extraction", "plugins.statement_models"},
    "plugins.languages": {"base", "graph", "extraction"},
    "plugins.named_sentences": {"base"},
    "plugins.openie": {"base", "extraction", "plugins.named_sentences"},
    "plugins.llm": {
        *("base", "graph", "extraction"),
        *("plugins.named_sentences", "plugins.statement_models", "plugins.threads"),
    },
    "plugins.spans": {"base", "graph", "extraction", "plugins.llm", "plugins.statement_models"},
    "kg": {"base", "graph", "models", "extraction", "retrieval", "answering", "building"},
    "plugins.explorer": {"base", "graph", "server"},
    "plugins.http_writes": {"base", "graph", "building", "kg", "server"},
    "plugins.link_candidates": {"base", "graph", "building", "plugins.constraints"},
    "plugins.link_commands": {"base", "kg", "cli"},
    "plugins.ontology_commands": {"base", "graph", "kg", "cli"},
    "plugins.tables": {"base", "graph", "building"},
    "plugins.typed_queries": {"base", "graph", "retrieval", "answering"},
    "plugins.relation_paths": {
        *("base", "graph", "extraction", "retrieval", "answering", "plugins.constraints"),
    },
    "plugins.rerank": {"base", "models", "retrieval"},
    "plugins.papers": {
        *("base", "graph", "extraction", "retrieval", "answering", "building"),
        *("plugins.named_sentences", "plugins.relation_paths", "plugins.typed_queries"),
    },
    "plugins.wikibase": {"base", "graph", "extraction", "building"},
    "plugins.things": {"base", "building", "graph", "kg"},
    "plugins.void": {"base", "graph", "building", "kg", "cli"},
    "plugins.workers": {"base", "documents", "models", "kg", "sarag_rdf", "plugins.threads"},
    "sarag_rdf": {"base", "retrieval", "kg"},
    "server": {"base", "graph", "building", "kg", "sarag_rdf"},
    "testing": {"base", "documents", "models", "kg"},
    "cli": {"base", "documents", "graph", "kg", "sarag_rdf", "server"},
    "__main__": {"cli"},
    "plugins.agents": {"base", "graph", "kg", "sarag_rdf", "server", "cli", "plugins.explorer"},
    "plugins.backup": {"base", "graph", "kg", "cli", "plugins.fsck"},
    "plugins.fsck": {"base", "building", "graph", "models", "kg", "cli"},
    "plugins.contradictions": {
        *("base", "building", "graph", "kg", "cli", "plugins.statements", "plugins.constraints"),
    },
    "plugins.quarantine": {"base", "cli"},
    "plugins.statements": {"base", "building", "graph", "extraction", "kg", "cli"},
    "plugins.evaluation": {
        *("base", "graph", "extraction", "retrieval", "answering", "kg", "sarag_rdf", "cli"),
        *("plugins.named_sentences", "plugins.statement_models"),
        *("plugins.relation_paths", "plugins.threads"),
    },
    "plugins.demo": {"base", "kg", "sarag_rdf", "server", "cli"},
    "plugins.duplicates": {
        *(
            "base",
            "building",
            "extraction",
            "graph",
            "plugins.merge_by_name",
            "plugins.constraints",
        ),
    },
    "plugins.merge_by_name": {"base", "building"},
    "plugins.homonyms": {"base", "building", "graph", "kg", "cli"},
    "plugins.induction": {"base", "building", "extraction", "kg", "cli"},
}
"""Part (a module or package of `sarag_rdf`) -> the parts that it may import beside itself."""

ONLY_IN: dict[str, set[str]] = {
    "click": {
        *("cli", "plugins.agents", "plugins.backup", "plugins.contradictions"),
        *(
            "plugins.demo",
            "plugins.evaluation",
            "plugins.fsck",
            "plugins.homonyms",
            "plugins.induction",
        ),
        *("plugins.link_commands", "plugins.ontology_commands", "plugins.quarantine"),
        *("plugins.statements", "plugins.void"),
    },
    "rich": {"cli"},
    "httpx": {"base", "graph", "models"},
    "openai": {"models"},
    "ray": {"plugins.workers"},
    "sentence_transformers": {"models", "plugins.rerank"},
    "gliner2": {"plugins.spans"},
    "torch": {"models", "plugins.spans", "plugins.rerank"},
    "transformers": {"models"},
    "tokenizers": {"models"},
    "safetensors": {"models"},
    "threadpoolctl": {"models"},
    "sqlite3": {"models", "plugins.backup", "plugins.explorer", "plugins.vector_engines"},
    "spacy": {"extraction", "plugins.languages", "plugins.learned"},
    "sklearn": {
        *("plugins.evaluation", "plugins.learned", "plugins.link_candidates", "plugins.papers"),
    },
    "bs4": {"plugins.html"},
    "matplotlib": {"plugins.evaluation"},
    "resvg_py": {"server"},
    "ir_measures": {"plugins.evaluation"},
    "pyshacl": {"graph"},
    "shacl": {"graph"},
    "starlette": {"server", "plugins.agents", "plugins.explorer", "plugins.http_writes"},
    "uvicorn": {"server"},
    "anyio": {"plugins.agents", "server"},
    "SPARQLWrapper": {"graph"},
    "mcp": {"plugins.agents"},
    "langchain_core": {"plugins.agents"},
    "llama_index": {"plugins.agents"},
    "pandas": {"base"},
    "oxrdflib": {"kg"},
    "pymilvus": {"plugins.vector_engines"},
    "qdrant_client": {"plugins.vector_engines"},
    "psycopg": {"plugins.vector_engines"},
    "Stemmer": {"base"},
}
"""Third-party packages, and the parts of the library that alone may import them."""

BUDGETS: dict[str, int] = {
    "__main__": 6,
    "answering": 1104,
    "base": 4714,
    "building": 4617,
    "cli": 2593,
    "documents": 888,
    "extraction": 6177,
    "graph": 7350,
    "kg": 5433,
    "models": 1827,
    "retrieval": 3016,
    "server": 5901,
    "testing": 263,
    "sarag_rdf": 104,
    "plugins.constraints": 55,
    "plugins.agents": 1087,
    "plugins.backup": 860,
    "plugins.fsck": 489,
    "plugins.evaluation": 5599,
    "plugins.contradictions": 347,
    "plugins.quarantine": 124,
    "plugins.statements": 258,
    "plugins.demo": 102,
    "plugins.languages": 97,
    "plugins.learned": 877,
    "plugins.link_candidates": 490,
    "plugins.office": 93,
    "plugins.named_sentences": 37,
    "plugins.openie": 220,
    "plugins.record_files": 273,
    "plugins.relation_paths": 5605,
    "plugins.papers": 4071,
    "plugins.spans": 490,
    "plugins.tables": 1851,
    "plugins.typed_queries": 935,
    "plugins": 1,
    "plugins.duplicates": 288,
    "plugins.homonyms": 454,
    "plugins.vector_engines": 982,
    "plugins.void": 411,
    "plugins.wikibase": 2500,
    "plugins.things": 178,
    "plugins.merge_by_name": 111,
    "plugins.workers": 1052,
    "plugins.rerank": 185,
    "plugins.llm": 1068,
    "plugins.induction": 259,
    "plugins.threads": 70,
    "plugins.statement_models": 192,
    "plugins.explorer": 369,
    "plugins.http_writes": 939,
    "plugins.link_commands": 133,
    "plugins.ontology_commands": 337,
    "plugins.html": 132,
    "plugins.markdown": 98,
}
"""Part -> the most lines of its modules together; raise one with a reason, or cut first."""

FLOORS = 20
"""Modules on the longest chain of imports."""

BANNED = {"litellm", "diskcache"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules() -> dict[str, Path]:
    """Dotted name within the package -> file; a package goes by its own name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "sarag_rdf"] = path
    return found


MODULES = modules()


def part(module: str) -> str:
    """The folder of the package that a module is in; each plug-in is one of its own."""
    names = module.split(".")
    return ".".join(names[: 2 if names[0] == "plugins" else 1])


def imports(path: Path) -> Iterator[tuple[str, str, int]]:
    """(imported module, imported name or nothing, line), wherever in the file it stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the import in full"
            yield from ((str(node.module), alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = ast.unparse(node.args[0])
            own = f"f'{'.'.join(path.relative_to(PACKAGE.parent).parts[:-1])}."
            assert name.startswith(("'", own)), f"{path}:{node.lineno}: {name}"
            if name.startswith("'"):
                yield name.strip("'"), "", node.lineno


def own_imports(path: Path) -> Iterator[tuple[str, str, int]]:
    """(module of this package, name, line); ``from sarag_rdf import assemble`` names a module."""
    for module, name, line in imports(path):
        if module == "sarag_rdf":
            yield (name, "", line) if name in MODULES else ("sarag_rdf", name, line)
        elif module.startswith("sarag_rdf."):
            inner = module.removeprefix("sarag_rdf.")
            assert inner in MODULES, f"{path}:{line}: there is no {module}"
            below = f"{inner}.{name}"
            yield (below, "", line) if below in MODULES else (inner, name, line)


def allowed(importer: str, imported: str) -> bool:
    return part(imported) == part(importer) or part(imported) in MAY_IMPORT[part(importer)]


def test_every_part_has_a_row() -> None:
    assert {part(module) for module in MODULES} == MAY_IMPORT.keys()


def test_the_table_points_down() -> None:
    """Parts can be put in an order in which each imports only earlier ones."""
    placed: set[str] = set()
    left = {name: needed - {"sarag_rdf"} for name, needed in MAY_IMPORT.items()}
    while left:
        ready = {name for name, needed in left.items() if needed <= placed}
        assert ready, f"these import each other: {sorted(left)}"
        placed |= ready
        left = {name: needed for name, needed in left.items() if name not in ready}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    wrong = [
        f"{MODULES[module].name}:{line} imports {imported}"
        for imported, _, line in own_imports(MODULES[module])
        if not allowed(module, imported)
    ]
    assert wrong == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Also within a part, where the table says nothing; a package stands for its `__init__`.

    No chain of imports has more than `FLOORS` modules.
    """
    left = {
        module: {found for found, _, _ in own_imports(path) if found != "sarag_rdf"} - {module}
        for module, path in MODULES.items()
    }
    floors = 0
    while ready := {module for module, needed in left.items() if not needed & left.keys()}:
        left = {module: needed for module, needed in left.items() if module not in ready}
        floors += 1
    assert left == {}
    assert floors <= FLOORS


@pytest.mark.parametrize("module", MODULES)
def test_private_names_stay_in_their_module(module: str) -> None:
    taken = [(found, name) for found, name, _ in own_imports(MODULES[module])]
    assert [pair for pair in taken if pair[1].startswith("_") and pair[1] != "__version__"] == []


@pytest.mark.parametrize("module", MODULES)
def test_packages_of_others_stay_where_they_belong(module: str) -> None:
    found = {name.partition(".")[0] for name, _, _ in imports(MODULES[module])}
    assert not found & BANNED
    strayed = {name for name in found & ONLY_IN.keys() if part(module) not in ONLY_IN[name]}
    assert strayed == set()


def test_packages_of_others_are_used_at_all() -> None:
    """Else the table above would hold for nothing."""
    found = {name.partition(".")[0] for path in MODULES.values() for name, _, _ in imports(path)}
    assert ONLY_IN.keys() - found <= {"torch"}


def test_no_part_outgrows_its_budget() -> None:
    """Whoever needs more lines raises the number, and says what was removed or why nothing was."""
    lines: dict[str, int] = {}
    for name, path in MODULES.items():
        lines[part(name)] = lines.get(part(name), 0) + len(path.read_text("utf-8").splitlines())
    assert {name: count for name, count in lines.items() if count > BUDGETS.get(name, 1)} == {}


def test_no_module_is_long_and_none_is_a_drawer_for_everything() -> None:
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name for name, count in lines.items() if count > 700} == set()
    names = {name for module in MODULES for name in module.split(".")}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


def classes_with(method: str, path: Path) -> list[str]:
    """Public classes that have a method of that name."""
    tree = tree_of(path)
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body)
    ]


@pytest.mark.parametrize(
    ("group", "methods"),
    [
        ("retrievers", ("retrieve", "ordered")),
        ("reasoners", ("answer", "step")),
        ("extractors", ("extract",)),
    ],
)
def test_nothing_else_in_the_file_of_a_strategy_is_one(
    group: str, methods: tuple[str, ...]
) -> None:
    """Strategies of one paper may share a file."""
    by_file: dict[Path, set[str]] = {}
    for plugin in plugins(group).values():
        class_ = plugin.load()
        by_file.setdefault(Path(inspect.getfile(class_)), set()).add(class_.__name__)
    for path, strategies in by_file.items():
        found = {name for method in methods for name in classes_with(method, path)}
        assert found == strategies
