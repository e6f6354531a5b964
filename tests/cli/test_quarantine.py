"""``sarag quarantine``, on what ``sarag index`` kept out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.building import evidence_quarantine
from sarag_rdf.cli.output import counted
from sarag_rdf.graph.store.shacl import parse_shapes
from sarag_rdf.kg import vectors
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import nquads

GOOD = "https://example.org/kg/source/ada.txt"
BAD = "https://example.org/kg/source/sub/cid.txt"
WRONG = "D\u001b[2Jn"


@dataclass
class Indexed:
    """How ``sarag index docs`` ended, and how to call it again."""

    code: int
    out: str
    err: str
    arguments: tuple[str, ...]


@pytest.fixture
def indexed(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    """A sound source and one whose extraction holds a control character, indexed into ./kg."""
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    texts = {"ada.txt": "Ada met Bea.", "sub/cid.txt": "Cid met Bea."}
    docs = []
    for name, text in texts.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        names = ["Bea", WRONG] if "Cid" in text else ["Bea"]
        docs.append({"passage": text, "extracted_entities": names, "extracted_triples": []})
    (tmp_path / "found.json").write_text(json.dumps({"docs": docs}))
    arguments = ("index", "docs", "--extractor", "openie:found.json")
    done = sarag(*arguments)
    return Indexed(done.code, done.out, done.err, arguments)


def test_index_tells_of_it_each_time(sarag: Sarag, indexed: Indexed, tmp_path: Path) -> None:
    told = [line for line in indexed.err.splitlines() if "sub/cid.txt" in line]
    assert len(told) == 1
    assert told[0].startswith("sarag: sub/cid.txt: does not conform and is in quarantine: ")
    assert told[0].isprintable()
    first = "1 added, 0 updated, 0 unchanged, 0 duplicates, 1 not indexed (1 in quarantine: "
    assert indexed.code == 0
    assert indexed.out.startswith(first + "sarag quarantine list)\n")
    before = nquads(tmp_path / "kg")
    again = sarag(*indexed.arguments, "--strict")
    assert again.code == 1
    assert told[0] in again.err.splitlines()
    assert again.out.startswith("0 added, 0 updated, 1 unchanged, 0 duplicates, 1 not indexed (1 ")
    dry = sarag(*indexed.arguments, "--dry-run")
    assert told[0] in dry.err.splitlines()
    assert "0 deleted, 1 unchanged, 0 duplicates, 0 not readable (1 in quarantine" in dry.out
    assert nquads(tmp_path / "kg") == before


def test_index_fails_if_all_is_in_quarantine(sarag: Sarag, indexed: Indexed) -> None:
    done = sarag("index", "docs/sub", "--kg", "other", "--extractor", "openie:found.json")
    assert done.code == 1
    assert done.out.startswith("0 added, 0 updated, 0 unchanged, 0 duplicates, 1 not indexed (1 in")


def test_list(sarag: Sarag, indexed: Indexed) -> None:
    done = sarag("quarantine", "list")
    assert (done.code, done.err) == (0, "")
    line, total = done.out.splitlines()
    assert line.startswith(f"{BAD}  ")
    assert total == "1 in quarantine"
    [data] = json.loads(sarag("quarantine", "list", "--json").out)
    assert data.keys() == {
        *("source", "title", "language", "sha256", "extraction", "when", "violations")
    }
    assert (data["source"], data["title"]) == (BAD, "Cid")
    assert f"  {data['violations']} violation" in line
    assert line.endswith(data["when"])


def test_show(sarag: Sarag, indexed: Indexed) -> None:
    done = sarag("quarantine", "show", "sub/cid.txt")
    assert (done.code, done.err) == (0, "")
    *lines, last = done.out.splitlines()
    assert done.out == sarag("quarantine", "show", BAD).out
    assert any("(found: D\\x1b[2Jn)" in line for line in lines)
    assert last.startswith(f"{BAD}: {counted(len(lines), 'violation')}, since ")
    data = json.loads(sarag("quarantine", "show", BAD, "--json").out)
    assert data["violations"] == len(data["results"]) == len(lines)
    fields = {"focus", "path", "message", "value", "component", "severity"}
    assert data["results"][0].keys() == fields
    assert {result["component"] for result in data["results"]} == {"PatternConstraintComponent"}
    assert WRONG in {result["value"] for result in data["results"]}


def test_show_report_and_content(sarag: Sarag, indexed: Indexed) -> None:
    turtle = sarag("quarantine", "show", BAD, "--turtle")
    report = rdflib.Graph().parse(data=turtle.out, format="turtle")
    conforms = report.value(None, rdflib.SH.conforms, rdflib.Literal(False))
    assert conforms is not None
    content = sarag("quarantine", "show", BAD, "--content")
    found = list(ox.parse(content.out, format=ox.RdfFormat.N_TRIPLES))
    assert WRONG in {getattr(quad.object, "value", "") for quad in found}
    mentions = {quad.object for quad in found if quad.predicate == SARAG.useOf}
    assert mentions == {quad.subject for quad in found if quad.object == SARAG.Mention}
    sarag("quarantine", "show", BAD, "--content", "--turtle").fails(2, "mutually exclusive")


def test_retry(sarag: Sarag, indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    done = sarag("quarantine", "retry")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{BAD}: still does not conform",
        "0 added, 1 still in quarantine",
    ]
    assert json.loads(sarag("quarantine", "retry", "--json").out) == {
        "admitted": [],
        "rejected": [BAD],
    }
    lenient = ox.parse(path=ontology_path("shapes.ttl"), format=ox.RdfFormat.TURTLE)
    triples = [quad.triple for quad in lenient if "Derived" not in str(quad.subject)]
    evidence_alone = parse_shapes("".join(f"{triple} .\n" for triple in triples).encode())
    monkeypatch.setattr(evidence_quarantine, "read_shapes", lambda *_: evidence_alone)
    done = sarag("quarantine", "retry", "sub/cid.txt")
    assert (done.code, done.out) == (0, "1 added, 0 still in quarantine\n")
    assert json.loads(sarag("stats", "--json").out)["sources"] == 2
    assert sarag("quarantine", "list").out == "0 in quarantine\n"
    assert sarag(*indexed.arguments).out.startswith("0 added, 0 updated, 2 unchanged")


def test_drop(sarag: Sarag, indexed: Indexed) -> None:
    sarag("quarantine", "drop").fails(2, "--all")
    sarag("quarantine", "drop", BAD, "--all").fails(2, "--all")
    sarag("quarantine", "drop", GOOD).fails(2, "sarag quarantine list")
    assert json.loads(sarag("stats", "--json").out)["quarantined sources"] == 1
    done = sarag("quarantine", "drop", BAD, "--json")
    assert (done.code, json.loads(done.out)) == (0, {"dropped": [BAD]})
    counts = json.loads(sarag("stats", "--json").out)
    assert (counts["quarantined sources"], counts["sources"]) == (0, 1)
    assert sarag("quarantine", "drop", "--all").out == "0 dropped\n"


def test_what_is_not_there(sarag: Sarag, indexed: Indexed) -> None:
    for command in ("show", "retry", "drop"):
        sarag("quarantine", command, "nowhere.txt").fails(2, "no source nowhere.txt", "list")
    for arguments in (["list"], ["show", BAD], ["retry"], ["drop", "--all"]):
        sarag("quarantine", *arguments, "--kg", "nothing").fails(1, "no graph at nothing")


def test_both_engines_validate_what_is_in(sarag: Sarag, indexed: Indexed) -> None:
    done = sarag("validate")
    assert done.code == 0
    for engine in ("shacl", "pyshacl"):
        assert sarag("validate", "--engine", engine) == done
    sarag("validate", "--engine", "other").fails(2, "'shacl', 'pyshacl'")
