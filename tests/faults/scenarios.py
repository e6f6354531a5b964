"""What is interrupted: a command, the folder that it begins with, and what must come of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.command import ROOT
from tests.faults.corpus import openie_corpus, triples
from tests.forked import run_forked

COMMIT_DOCUMENTS = 40
DOCUMENTS = 100
"""Three commits, and as many to remove."""
_SPACY = ("warsaw.md", "vistula.md", "marie-curie.md", "gdansk.md", "ulm.md", "danube.md")
OPENIE = ("--extractor", "openie:openie.json")

Prepare = Callable[[Path, "Sarag"], None]


@dataclass(frozen=True)
class Sarag:
    """Runs commands of `sarag` in a folder, to their end."""

    work: Path
    env: dict[str, str]

    def __call__(self, *arguments: str) -> str:
        done = run_forked(*arguments, cwd=self.work, env=self.env)
        assert done.code == 0, (arguments, done)
        return done.out


@dataclass(frozen=True)
class Scenario:
    """A command that is interrupted; `weight` says how often.

    `bar` names the progress that tells of documents in the graph. The next run may fail with the
    words `nothing_left` if there was nothing left to do.
    """

    name: str
    prepare: Prepare
    command: Sequence[str]
    bar: str = ""
    nothing_left: str = ""
    over: str = ""
    weight: int = 1


def _new_documents(work: Path, sarag: Sarag) -> None:
    openie_corpus(work, count=DOCUMENTS)


def _changed_documents(work: Path, sarag: Sarag) -> None:
    openie_corpus(work, count=DOCUMENTS)
    sarag("index", "docs", *OPENIE)
    openie_corpus(work, count=DOCUMENTS, changed=DOCUMENTS)


def _old_documents(work: Path, sarag: Sarag) -> None:
    openie_corpus(work, count=DOCUMENTS + 8, old=DOCUMENTS)
    sarag("index", "docs", *OPENIE)


def _other_folder(work: Path, sarag: Sarag) -> None:
    """Of 100 documents 50 are changed, 30 are gone, and 90 are new."""
    openie_corpus(work, count=DOCUMENTS)
    sarag("index", "docs", *OPENIE)
    openie_corpus(work, count=DOCUMENTS + 90, changed=50)
    for number in range(50, 80):
        (work / "docs" / f"{number:04}.txt").unlink()


def _texts(work: Path, sarag: Sarag) -> None:
    (work / "texts").mkdir()
    for name in _SPACY:
        shutil.copy(ROOT / "examples" / "corpus" / name, work / "texts")


def _items(count: int) -> Prepare:
    def prepare(work: Path, sarag: Sarag) -> None:
        triples(work / "items.nt", count)

    return prepare


def _beside_documents(work: Path, sarag: Sarag) -> None:
    openie_corpus(work, count=40)
    sarag("index", "docs", *OPENIE)
    triples(work / "items.nt", 1500)


def _exported(work: Path, sarag: Sarag) -> None:
    openie_corpus(work, count=100)
    sarag("index", "docs", *OPENIE)
    sarag("export", "--format", "nquads", "--output", "export.nq")
    shutil.rmtree(work / "kg")
    (work / "kg").mkdir()


AXIOMS = """
@prefix : <https://example.org/deeds#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:taught a owl:ObjectProperty ; rdfs:label "taught" ; rdfs:subPropertyOf :met .
:met a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:label "met" ; rdfs:subPropertyOf :near .
:wasIn a owl:ObjectProperty ; rdfs:label "was in" ; owl:inverseOf :saw .
:near a owl:ObjectProperty , owl:TransitiveProperty ; rdfs:label "near" .
:saw a owl:ObjectProperty ; rdfs:label "saw" .
"""
_PHRASES = "phrase\tproperty\ntaught\ttaught\nmet\tmet\nwas in\twas in\n"


def _entailed(work: Path, sarag: Sarag) -> None:
    """Of 100 documents 40 are in the graph, with statements from which others follow."""
    openie_corpus(work, count=40)
    (work / "deeds.ttl").write_text(AXIOMS, encoding="utf-8")
    (work / "phrases.tsv").write_text(_PHRASES, encoding="utf-8")
    sarag("index", "docs", *OPENIE)
    sarag("ontology", "add", "deeds.ttl")
    sarag("ontology", "entail")
    sarag("ontology", "accept", "phrases.tsv")
    openie_corpus(work, count=DOCUMENTS)


def _all_entailed(work: Path, sarag: Sarag) -> None:
    _entailed(work, sarag)
    sarag("index", "docs", *OPENIE)


def _without_caches(work: Path, sarag: Sarag) -> None:
    _new_documents(work, sarag)
    sarag("index", "docs", *OPENIE)
    shutil.rmtree(work / "kg" / "cache")


QUESTIONS = ("Who founded something in Ulm?", "Ada Number7", "Where was Boris?")

SCENARIOS = (
    Scenario("index", _new_documents, ("index", "docs", *OPENIE), "indexing documents", weight=3),
    Scenario(
        "index-spacy",
        _texts,
        ("index", "texts", "--extractor", "spacy", "--words", "5", "--overlap", "0"),
        "indexing documents",
    ),
    Scenario("update", _changed_documents, ("update", "docs", *OPENIE), weight=3),
    Scenario("sync", _other_folder, ("sync", "docs", "--yes", *OPENIE), weight=3),
    Scenario(
        "delete",
        _old_documents,
        ("delete", "old/"),
        nothing_left="no such source in the graph: 'old/'",
        weight=3,
    ),
    Scenario("import", _items(1500), ("import", "items.nt", "--as", "rdf"), weight=2),
    Scenario("import-beside", _beside_documents, ("import", "items.nt", "--as", "rdf"), weight=1),
    Scenario(
        "import-in-parts",
        _items(130_000),
        ("import", "items.nt", "--as", "rdf", "--no-vectors"),
        over="nothing",
    ),
    Scenario("restore", _exported, ("import", "export.nq", "--as", "sarag"), weight=2),
    Scenario("entailed", _entailed, ("index", "docs", *OPENIE), "indexing documents", weight=3),
    Scenario(
        "no-longer-entailed",
        _all_entailed,
        ("ontology", "accept", "--undo-all"),
        nothing_left="no decision: see sarag ontology accept --list",
        weight=2,
    ),
    Scenario("caches", _without_caches, ("search", QUESTIONS[0]), weight=3),
)
