"""Every benchmark: its page's commands run to their end, on the smallest size and made-up data.

The commands of a page run one after the other in a folder of their own, which has the files that
the pages name; a measurement that is the same on the smallest size runs once. What they measure
there says nothing; figures are on the pages.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sarag_rdf.base.ports import Reply
from sarag_rdf.base.types import Usage
from sarag_rdf.cli import main
from sarag_rdf.kg import vectors
from sarag_rdf.models.caches import SqliteCache
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT

pytestmark = pytest.mark.guide

FOLDER = ROOT / "benchmarks"
PAGES = sorted(FOLDER.glob("*.md"))
SCRIPTS = sorted(
    {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    | {path.parent.name for path in FOLDER.glob("*/__main__.py")}
)
SMALLEST = {
    "--copies": 1, "--count": 1, "--documents": 4, "--edges": 60, "--limit": 1, "--linked": 60,
    "--n": 400, "--names": 300, "--requests": 2,
    "--runs": 1, "--sizes": 4, "--sources": 2,
}  # fmt: skip
"""The largest value that an option with numbers keeps."""
FURTHER = {
    "ablation": (),
    "endpoint": ("--questions", "1", "--warm", "1"),
    "checksums": ("1",),
    "conversion": ("--kinds", "txt,html", "--files", "3"),
    "vector_libraries": ("--engines", "ours", "--runs", "1"),
    "peers": ("--peers", "sarag,vectors"),
    "load": ("--kinds", "sparql,page", "--clients", "2", "--writes", "0"),
    "noise": ("--shares", "0.2", "--methods", "sarag"),
    "scale": ("--questions", "1", "--sparql", "1"),
    "steering": ("--limit", "2"),
    "tables": ("--rows", "5"),
    "vectors": ("--count", "400", "--width", "8"),
    "vector_engines": ("--engine", "ours", "--engine", "qdrant local"),
    "vector_engines faults": ("--count", "1000", "--engine", "ours", "--engine", "qdrant local"),
    "workers": ("--workers", "1"),
}
"""Arguments that make what a command, or one of its parts, leaves at its default small."""
WITHOUT = ("--chromium", "--package")
"""A browser has tests of its own, and the library's files stay as they are."""
FIRST_OF = ("--ontologies",)
"""Options with a list, of which the first value is enough."""
REVISION = re.compile("[0-9a-f]{7}")
"""Of several revisions, too."""
SETS = ("musique", "hotpot", "2wiki")
"""Several data sets, on the page that compares settings on them."""
URL = "http://127.0.0.1:9/v1"


def blocks(page: Path) -> Iterator[list[str]]:
    """The lines with commands in each block of a page."""
    for kind, text in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        if kind == "sh":
            yield text.splitlines()
        elif kind == "console":
            commands = re.findall(r"^\$ ((?:.*\\\n)*.*)", text, re.M)
            yield [line for command in commands for line in command.splitlines()]


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page as words, with its variables replaced."""
    variables: dict[str, str] = {}
    for lines in blocks(page):
        pending = ""
        for line in lines:
            pending += line.removesuffix("\\") + ("" if line.endswith("\\") else "\n")
            try:
                words = shlex.split(pending, comments=True)
            except ValueError:  # the end of a quoted text is on a later line
                continue
            if line.endswith("\\") or not words:
                continue
            pending = ""
            values = [re.sub(r"\$(\w+)", lambda match: variables[match[1]], word) for word in words]
            if re.fullmatch(r"\w+=\S*", values[0]) and len(values) == 1:
                name, _, value = values[0].partition("=")
                variables[name] = value
            else:
                yield values


def smallest(words: Sequence[str]) -> list[str]:
    """A command with numbers that are as small as they may be."""
    values: list[str] = []
    option = ""
    for word in words:
        if word.startswith("--"):
            option = word
        limit = SMALLEST.get(option)
        small = str(min(int(word), limit)) if limit and word.isdecimal() else word
        small = word.partition(",")[0] if option in FIRST_OF else small
        is_further = REVISION.fullmatch(word) and REVISION.fullmatch(values[-1])
        if [small] != values[-1:] and word not in WITHOUT and not is_further:
            values.append(URL if word == "URL" else small)
    return values


class First:
    """An `sarag_rdf.base.ports.LLM` that gives the first value that each schema admits."""

    model = "first"
    settings: Mapping[str, str] = {}

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        return Reply(first(schema), Usage(1, 0, len(prompt.split()), 1))


def first(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return first(schema["anyOf"][0])
    match schema["type"]:
        case "object":
            return {name: first(value) for name, value in schema["properties"].items()}
        case "array":
            return [first(schema["items"])] if schema.get("maxItems", 1) else []
        case "string":
            return "Ulm"
        case "boolean":
            return True
        case _:
            return schema.get("minimum", 1)


# ------------------------------------------------------------------------------- Data

PASSAGES = [
    {"title": "Ada Holt", "text": "Ada Holt founded Orbis in 1901. She was born in Ulm."},
    {"title": "Orbis", "text": "Orbis is a company in Ulm. Ivo Brand directs Orbis."},
    {"title": "Ulm", "text": "Ulm is a town on the Danube. Ivo Brand was born in Ulm."},
]
TRIPLES = [
    [["Ada Holt", "founded", "Orbis"], ["Ada Holt", "was born in", "Ulm"]],
    [["Orbis", "is in", "Ulm"], ["Ivo Brand", "directs", "Orbis"]],
    [["Ulm", "lies on", "Danube"], ["Ivo Brand", "was born in", "Ulm"]],
]
FILMS = [
    ("The Kite", "directed_by", "Ada Holt"), ("The Kite", "starred_actors", "Ivo Brand"),
    ("The Kite", "in_language", "Dutch"), ("Salt", "directed_by", "Ada Holt"),
    ("Salt", "starred_actors", "Ivo Brand"), ("Salt", "release_year", "1999"),
    ("Salt", "in_language", "Dutch"), ("The Kite", "release_year", "1999"),
]  # fmt: skip
HOPS = {
    1: [
        ("who directed [Salt]", "Ada Holt", "movie_to_director"),
        ("what language is [The Kite] in", "Dutch", "movie_to_language"),
    ],
    2: [
        ("who acted in films directed by [Ada Holt]", "Ivo Brand", "director_to_movie_to_actor"),
        ("what are the languages of films with [Ivo Brand]", "Dutch", "actor_to_movie_to_language"),
    ],
    3: [
        (
            "when were films released with the actors of [Salt]",
            "1999",
            "movie_to_actor_to_movie_to_year",
        ),
        (
            "who directed films with the actors of [The Kite]",
            "Ada Holt",
            "movie_to_actor_to_movie_to_director",
        ),
    ],
}
"""Question, answers and path type by number of hops."""


def musique() -> list[dict[str, Any]]:
    return [
        {
            "id": f"2hop__{number}",
            "question": question,
            "answer": answer,
            "answer_aliases": [],
            "question_decomposition": [{"question": question, "answer": answer}],
            "paragraphs": [
                {"title": p["title"], "paragraph_text": p["text"], "is_supporting": place < 2}
                for place, p in enumerate(PASSAGES)
            ],
        }
        for number, (question, answer) in enumerate(
            [("Where was the founder of Orbis born?", "Ulm"), ("Who directs Orbis?", "Ivo Brand")]
        )
    ]


def openie() -> dict[str, Any]:
    docs = [
        {
            **passage,
            "passage": f"{passage['title']}\n{passage['text']}",
            "extracted_entities": sorted({name for s, _, o in triples for name in (s, o)}),
            "extracted_triples": triples,
        }
        for passage, triples in zip(PASSAGES, TRIPLES, strict=True)
    ]
    return {"docs": docs}


def text2kgbench(folder: Path) -> None:
    """Two suites of two ontologies each, with sentences of one subject."""
    for suite, first in (("dbpedia_webnlg", "3_airport"), ("wikidata_tekgen", "3_sport")):
        for ontology in (first, "2_person"):
            name = ontology.partition("_")[2]
            content = {
                "title": name,
                "id": f"ont_{ontology}",
                "concepts": [
                    {"qid": "Town", "label": "Town"},
                    {"qid": "Person", "label": "Person"},
                ],
                "relations": [
                    {"pid": "born", "label": "birthPlace", "domain": "Person", "range": "Town"},
                    {"pid": "year", "label": "birthDate", "domain": "Person", "range": "date"},
                ],
            }
            write(folder / suite / "ontologies" / f"{ontology}_ontology.json", content)
            for part in ("train", "ground_truth"):
                rows = [
                    {
                        "id": f"ont_{ontology}_{part}_{place}",
                        "sent": f"{person} was born in {town} on 4 May {1900 + place}.",
                        "triples": [
                            {"sub": person, "rel": "birthPlace", "obj": town},
                            {"sub": person, "rel": "birthDate", "obj": f"{1900 + place}-05-04"},
                        ],
                    }
                    for place, (person, town) in enumerate(
                        [("Ada Holt", "Ulm"), ("Ivo Brand", "Bonn"), ("Eva Lind", "Kiel")] * 8
                    )
                ]
                path = folder / suite / part / f"ont_{ontology}_{part}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def embeddings(path: Path) -> None:
    """The cache of a graph with vectors of eight numbers."""
    path.parent.mkdir(parents=True)
    vectors = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    with closing(SqliteCache(path, what="embeddings")) as cache:
        cache.put_many({str(row).encode(): vector.tobytes() for row, vector in enumerate(vectors)})


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the pages name, as the working folder; no model is asked."""
    (tmp_path / "examples" / "corpus").mkdir(parents=True)
    for path in sorted((ROOT / "examples" / "corpus").rglob("*.md"))[::4]:
        shutil.copy(path, tmp_path / "examples" / "corpus")
    (tmp_path / "benchmarks").mkdir()
    for name in (
        *("movie-phrases.ttl", "resolution.tsv"),
        *("questions-lookup.json", "questions-typed.json"),
    ):
        (tmp_path / "benchmarks" / name).symlink_to(FOLDER / name)
    pattern = 'SELECT ?answer WHERE { ?who "founded" "Orbis" . ?who "was born in" ?answer }'
    write(tmp_path / "benchmarks" / "patterns-musique.json", {"2hop__0": pattern})
    for name in ("corpus.json", "CORPUS.json", *(f"{name}.json" for name in SETS)):
        write(tmp_path / name, PASSAGES)
    sets = (f"{name}-questions.json" for name in SETS)
    for name in ("questions.json", "comparisons.json", "questions_dev50.json", *sets):
        write(tmp_path / name, musique())
    for name in ("gpt-3.5.json", "openie_gpt-3.5-turbo-1106.json", "FILE"):
        write(tmp_path / name, openie())
    metaqa = tmp_path / "FOLDER"
    metaqa.mkdir()
    (metaqa / "kb.tsv").write_text("".join("\t".join(row) + "\n" for row in FILMS))
    for hops, rows in HOPS.items():
        lines = ["question\tanswers\tpath_type", *map("\t".join, rows)]
        (metaqa / f"questions_dev300_{hops}hop.tsv").write_text("\n".join(lines) + "\n")
    for path in metaqa.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "WORK").mkdir()
    text2kgbench(tmp_path / "text2kgbench")
    embeddings(tmp_path / "KG" / "cache" / "embeddings.sqlite")
    for name in ("3_airport", "2_person"):
        path = tmp_path / "vicuna" / f"ont_{name}_test.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"id": f"ont_{name}_ground_truth_0", "triples": []}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    embed = HashEmbedder().embed
    monkeypatch.setattr(SentenceTransformerEmbedder, "embed", lambda _, texts: embed(texts))
    monkeypatch.setattr(vectors, "make_llm", lambda *_: First())
    return tmp_path


def run(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command in this process."""
    if words[0] == "sarag":
        assert main._run(list(words[1:])) == 0, words
        return
    if words[:2] == ["python", "-c"]:
        exec(words[2], {})
        return
    module, script = words[2], words[2].rpartition(".")[2]
    further = FURTHER.get(" ".join([script, *words[3:4]]), FURTHER.get(script, ()))
    arguments = [*words[3:], *further]
    for name in (module, f"{module}.__main__"):
        sys.modules.pop(name, None)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert not end.code, (words, end.code)


def is_measurement(words: Sequence[str]) -> bool:
    """Whether a command is one of the project's own; tests are run elsewhere."""
    return words[0] == "sarag" or (words[0] == "python" and words[2] != "pytest")


# ------------------------------------------------------------------------------ Tests


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[list[str]] = []
    for words in commands(page):
        command = smallest(words[1:] if words[0] == "time" else words)
        if is_measurement(command) and command not in measured:
            run(command, monkeypatch)
            measured += [command] if command[0] == "python" else []


def documented() -> set[str]:
    """The scripts that the documentation names and no page has a command of."""
    on_pages = {words[2] for page in PAGES for words in commands(page) if len(words) > 2}
    texts = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    named = {name for text in texts for name in re.findall(r"python -m benchmarks\.(\w+)", text)}
    return {name for name in named if f"benchmarks.{name}" not in on_pages}


@pytest.mark.parametrize("script", sorted(documented()))
def test_a_script_that_the_documentation_names_runs(
    script: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["python", "-m", f"benchmarks.{script}"], monkeypatch)


def source_of(script: str) -> str:
    """The code of a script, or of the package that is run."""
    package = FOLDER / script / "__main__.py"
    return (package if package.exists() else FOLDER / f"{script}.py").read_text("utf-8")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_can_be_imported_and_is_used(script: str) -> None:
    """Each is named by a command of a page or of the documentation, or imported by another."""
    importlib.import_module(f"benchmarks.{script}")
    named = {words[2] for page in PAGES for words in commands(page) if len(words) > 2}
    named |= {f"benchmarks.{name}" for name in documented()}
    for other in SCRIPTS:
        for node in ast.walk(ast.parse(source_of(other))):
            if isinstance(node, ast.ImportFrom) and other != script:
                named.add(str(node.module))
    assert f"benchmarks.{script}" in named, "remove it, or give its command on a page"
    started = re.findall(r"python benchmarks/\w+", source_of(script))
    assert started == [], "start it as the others: python -m benchmarks.NAME"
