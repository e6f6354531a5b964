"""The entailed graph follows every write."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table
from sarag_rdf.base.types import Source
from sarag_rdf.building.entailed_graph import entailment_errors
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.http_writes.updates import UpdateJob, update
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag, interruptible
from tests.sample_graph import BASE
from tests.typed_graph import EX, SOURCES, TypedExtractor, index_people

AXIOMS = f"""
@prefix ex: <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Chemist a owl:Class ; rdfs:subClassOf ex:Person . ex:Person rdfs:subClassOf ex:Agent .
ex:teacher owl:inverseOf ex:student ; rdfs:subPropertyOf ex:knows .
ex:knows a owl:SymmetricProperty .
"""
GRAPH = f"{BASE}graph/entailed"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, tmp_path)
        (tmp_path / "axioms.ttl").write_text(AXIOMS, encoding="utf-8")
        kg.ontologies.add(tmp_path / "axioms.ttl")
        yield kg


def entailed(kg: KnowledgeGraph) -> set[str]:
    """The entailed triples with short names."""
    result = kg.query(f"SELECT ?s ?p ?o {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")
    assert isinstance(result, Table)
    rows = [
        [term.value.rpartition("/")[2].rpartition("#")[2] or "" for term in row]
        for row in result.rows
    ]
    return {" ".join(row) for row in rows}


def test_nothing_is_entailed_unless_it_is_on(kg: KnowledgeGraph) -> None:
    assert not kg.ontologies.entailment().over
    assert entailed(kg) == set()


def test_what_follows_is_in_a_graph_of_its_own_and_in_queries(kg: KnowledgeGraph) -> None:
    status = kg.ontologies.entail()
    assert (status.over, status.triples) == (("documents",), len(entailed(kg)))
    assert "ilse_brandt type Agent" in entailed(kg)
    assert "ilse_brandt type Person" not in entailed(kg)  # that is derived from the domain
    assert {"emil_sand student ilse_brandt", "emil_sand knows ilse_brandt"} <= entailed(kg)
    result = kg.query(f"SELECT ?x {{ ?x a <{EX}Agent> }}")
    assert isinstance(result, Table)
    assert len(result.rows) == 2
    assert fsck(kg).in_order
    assert kg.validate().conforms


def test_it_follows_documents_ontologies_and_decisions(kg: KnowledgeGraph) -> None:
    kg.ontologies.entail()
    kg.delete(["emil.txt"])
    assert "emil_sand student ilse_brandt" not in entailed(kg)
    kg.index([SOURCES[1]], extractor=TypedExtractor())
    assert "emil_sand student ilse_brandt" in entailed(kg)
    kg.decisions.retype("Emil Sand", f"{EX}Chemist")
    assert "emil_sand type Agent" in entailed(kg)
    kg.ontologies.remove("axioms")
    assert "emil_sand type Agent" not in entailed(kg)
    assert "emil_sand student ilse_brandt" not in entailed(kg)
    assert fsck(kg).in_order


@pytest.mark.history
def test_after_any_history_it_is_a_fresh_closure(kg: KnowledgeGraph) -> None:
    kg.ontologies.entail()
    choose, extractor = random.Random(7), TypedExtractor()
    sentences = [part for source in SOURCES for part in source.text.split(". ")]
    for step in range(60):
        key = f"{choose.randrange(4)}.txt"
        if choose.random() < 0.35 and step > 3:
            if _has(kg, key):
                kg.delete([key])
        else:
            text = ". ".join(choose.sample(sentences, 3)).rstrip(".") + "."
            kg.index([Source(text, key=key)], extractor=extractor)
        if step % 10 == 0 or step > 50:
            with kg.session.read(latest=True) as snapshot:
                assert entailment_errors(snapshot.own) == (set(), set())
    assert fsck(kg).in_order


def _has(kg: KnowledgeGraph, key: str) -> bool:
    return bool(kg.query(f"ASK {{ <{BASE}source/{key}> ?p ?o }}"))


def test_whoever_writes_no_state_lacks_what_follows(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each transaction of each writer, as a process may be killed after any."""
    people = tmp_path / "people.ttl"
    people.write_text(f'{AXIOMS} ex:ada rdfs:label "Ada" ; ex:student ex:bob .', "utf-8")
    kg.import_graph(people, "rdf")
    apply, count = OxigraphStore.apply, 0

    def checked(self: OxigraphStore, change: Change) -> None:
        nonlocal count
        apply(self, change)
        assert entailment_errors(GraphReader(self, Minter(BASE))) == (set(), set())
        count += 1

    monkeypatch.setattr(OxigraphStore, "apply", checked)
    kg.ontologies.entail(["documents", "people"])
    assert {"bob teacher ada", "emil_sand student ilse_brandt"} <= entailed(kg)
    kg.delete(["emil.txt"])
    kg.index([SOURCES[1]], extractor=TypedExtractor())
    kg.decisions.retype("Emil Sand", f"{EX}Chemist")
    kg.decisions.merge("Ilse Brandt", "Emil Sand")
    kg.decisions.undo(None)
    kg.decisions.split("Emil Sand", ["emil.txt"], "teacher")
    assert "emil_sand~teacher knows ilse_brandt" in entailed(kg)
    people.write_text(f'{AXIOMS} ex:ada rdfs:label "Ada" ; ex:student ex:eva .', "utf-8")
    kg.import_graph(people, "rdf", replace=True)
    assert "eva teacher ada" in entailed(kg)
    source = Minter(BASE).source_graph(f"{BASE}source/emil.txt")
    update(UpdateJob(f"DROP GRAPH <{source}>", BASE), ServeSettings(tmp_path / "kg"))
    kg.reload()
    assert "emil_sand~teacher knows ilse_brandt" not in entailed(kg)
    kg.forget_import("people")
    kg.ontologies.remove("axioms")
    assert "ilse_brandt type Agent" not in entailed(kg)
    kg.ontologies.add(tmp_path / "axioms.ttl")
    kg.ontologies.entail(())
    assert count > 15


def test_without_a_reasoner_nothing_is_decided(
    kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg.ontologies.entail()
    kg.close()
    table = tmp_path / "phrases.tsv"
    table.write_text("phrase\tproperty\nmet\tteacher\n", encoding="utf-8")
    before = set(OxigraphStore.open(tmp_path / "kg" / "store").quads())
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "reasonable", None)
        done = sarag("ontology", "accept", table, "--kg", tmp_path / "kg")
        done.fails(1, "pip install 'sarag-rdf[entailment]'", "sarag ontology entail --off")
        assert set(OxigraphStore.open(tmp_path / "kg" / "store").quads()) == before
        found = sarag("fsck", "--kg", tmp_path / "kg")
        assert (found.code, "entailment: not checked" in found.out) == (1, True), found
        sarag("ontology", "entail", "--off", "--kg", tmp_path / "kg")
        assert sarag("ontology", "accept", table, "--kg", tmp_path / "kg").code == 0


def test_what_exceeds_a_limit_is_one_line(
    kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg.ontologies.entail()
    kg.close()
    before = set(OxigraphStore.open(tmp_path / "kg" / "store").quads())
    monkeypatch.setattr("sarag_rdf.building.entailment.MAX_TRIPLES", len(entailed(kg)) - 1)
    done = sarag("retype", "Emil Sand", f"{EX}Chemist", "--kg", tmp_path / "kg")
    done.fails(1, "entailed triples, so this change was not made: turn entailment off")
    assert set(OxigraphStore.open(tmp_path / "kg" / "store").quads()) == before
    found = sarag("fsck", "--kg", tmp_path / "kg")
    assert (found.code, "not checked: there are more than" in found.out) == (1, True), found


@pytest.mark.skipif(sys.platform != "linux", reason="optional: it needs /proc")
def test_ctrl_c_ends_the_reasoner(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """A chain of a transitive property, about which the reasoner works for half a minute."""
    kg.close()
    chain = "".join(f"<urn:{n}> ex:before <urn:{n + 1}> .\n" for n in range(1000))
    axiom = 'ex:before a owl:TransitiveProperty . <urn:0> rdfs:label "first" .\n'
    (tmp_path / "chain.ttl").write_text(f"{AXIOMS}{axiom}{chain}", encoding="utf-8")
    where = ("--kg", str(tmp_path / "kg"))
    command = [sys.executable, "-m", "sarag_rdf"]
    load = [*command, "import", "chain.ttl", "--as", "rdf", "--no-vectors", *where]
    subprocess.run(load, cwd=tmp_path, check=True, capture_output=True)
    before = set(OxigraphStore.open(tmp_path / "kg" / "store").quads())
    with subprocess.Popen(
        [*command, "ontology", "entail", "--over", "chain", *where],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=interruptible,
    ) as process:  # fmt: skip
        end = time.monotonic() + 120
        while not (children := _reasoners(process.pid)):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in complaint) == (130, True), complaint
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert set(OxigraphStore.open(tmp_path / "kg" / "store").quads()) == before


def _reasoners(parent: int) -> list[str]:
    """The children of a process that take more than 120 MB of memory."""
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
    sizes = {
        child: Path(f"/proc/{child}/statm").read_text(encoding="ascii") for child in text.split()
    }
    return [child for child, pages in sizes.items() if int(pages.split()[1]) > 30_000]


def test_a_damaged_graph_is_repaired(kg: KnowledgeGraph) -> None:
    kg.ontologies.entail()
    before = entailed(kg)
    node = NamedNode(f"{EX}stray")
    with kg.session.write() as reader:
        reader.store.apply(
            Change(
                (),
                tuple(reader.store.quads(GRAPH))[:1],
                (ox.Quad(node, node, node, NamedNode(GRAPH)),),
            )
        )
    [finding] = fsck(kg).findings
    assert "1 entailed triple is missing, 1 does not follow" in str(finding)
    assert fsck(kg, repair=True).in_order
    assert entailed(kg) == before


def test_an_export_restores_it(kg: KnowledgeGraph, tmp_path: Path) -> None:
    kg.ontologies.entail()
    with (tmp_path / "all.trig").open("wb") as stream:
        kg.export("trig", stream)
    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        copy.restore(tmp_path / "all.trig")
        assert entailed(copy) == entailed(kg)
        assert copy.ontologies.entailment() == kg.ontologies.entailment()
        copy.delete(["emil.txt"])
        assert "emil_sand student ilse_brandt" not in entailed(copy)


def test_imported_graphs_by_their_own_schema(kg: KnowledgeGraph, tmp_path: Path) -> None:
    turtle = (
        AXIOMS
        + f"""
    <{EX}ada> rdfs:label "Ada" ; ex:student <{EX}bob> . <{EX}bob> rdfs:label "Bob" .
    """
    )
    (tmp_path / "friends.ttl").write_text(turtle, encoding="utf-8")
    kg.import_graph(tmp_path / "friends.ttl", "rdf")
    assert kg.ontologies.entail(["friends"]).over == ("friends",)
    assert {"bob teacher ada", "ada knows bob", "bob knows ada"} <= entailed(kg)
    ask = f"ASK {{ <{EX}ada> <{EX}knows> <{EX}bob> }}"
    assert kg.query(ask, over=["friends"])
    assert kg.ontologies.entail(["documents"]).over == ("documents",)
    assert not kg.query(ask, over=["friends"])


def test_what_cannot_be_entailed(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no such part: 'x': use documents"):
        kg.ontologies.entail(["x"])
    with sarag_rdf.open(tmp_path / "plain", embedder=HashEmbedder(), endpoint=None) as plain:
        plain.index(SOURCES, extractor=TypedExtractor(typed=False))
        with pytest.raises(UsageError, match="nothing follows from the ontologies"):
            plain.ontologies.entail()
        assert not plain.ontologies.entailment().over
    monkeypatch.setitem(__import__("sys").modules, "reasonable", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[entailment\]'"):
        kg.ontologies.entail()
    assert not kg.ontologies.entailment().over
    assert fsck(kg).in_order  # which needs no reasoner while entailment is off


def test_on_the_command_line(kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag) -> None:
    kg.close()
    done = sarag("ontology", "entail", "--kg", tmp_path / "kg")
    assert done.code == 0, done
    assert "entailed triples; they follow each write" in done.out
    assert (
        sarag("ontology", "entail", "--off", "--kg", tmp_path / "kg").out == "entailment is off\n"
    )
