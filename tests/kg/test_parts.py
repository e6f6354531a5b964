"""Parts of a graph as exports; RDF 1.2; what is exported can be loaded again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import RDF, SARAG, SKOS
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.kg.consumers import CONSUMERS, FORMATS
from tests.sample_graph import crooked_graph, graph_of, insert, make_graph, quads_of

MINTER = Minter()
IMPORTED = MINTER.imported_graph("rivers")
QUARANTINE = MINTER.graph("quarantine") + "abc"
LINK = ox.Quad(
    ox.NamedNode(MINTER.entity("ada")),
    SKOS.exactMatch,
    ox.NamedNode("https://other.example/ada"),
    ox.NamedNode(MINTER.links_graph),
)
RDF12 = ("turtle", "trig", "ntriples", "nquads")


def quad(graph: str, name: str = "x") -> ox.Quad:
    node = ox.NamedNode(f"https://other.example/{name}")
    return ox.Quad(node, SKOS.prefLabel, ox.Literal(name), ox.NamedNode(graph))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a link, an imported graph, and one in quarantine."""
    made = make_graph(tmp_path_factory.mktemp("parts") / "kg")
    insert(made, LINK, quad(IMPORTED), quad(QUARANTINE))
    return made


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as made:
        yield made


def export(kg: KnowledgeGraph, format_: str = "nquads", **options: Any) -> bytes:
    buffer = io.BytesIO()
    kg.export(format_, buffer, **options)
    return buffer.getvalue()


def quads(kg: KnowledgeGraph, format_: str = "nquads", **options: Any) -> list[ox.Quad]:
    return list(ox.parse(export(kg, format_, **options), FORMATS[format_]))


def graphs(kg: KnowledgeGraph, **options: Any) -> set[str]:
    return {graph_of(quad) for quad in quads(kg, **options)}


def test_all_is_written_but_what_was_imported_or_is_in_quarantine(
    kg: KnowledgeGraph, folder: Path
) -> None:
    there = quads_of(folder)
    kept = [q for q in there if graph_of(q) not in (IMPORTED, QUARANTINE)]
    assert len(kept) == len(there) - 2
    assert set(quads(kg)) == set(kept)
    assert set(quads(kg, imported=True)) == {*kept, quad(IMPORTED)}


def test_documents_are_the_graphs_of_the_sources(kg: KnowledgeGraph) -> None:
    found = graphs(kg, documents=True)
    assert len(found) == 3
    assert all(name.startswith(MINTER.graph("sources")) for name in found)
    assert graphs(kg, documents=True, imported=True) == found | {IMPORTED}


@pytest.mark.parametrize("format_", ["nquads", "ntriples"])
def test_entities_are_what_the_traversed_graph_says_of_them(
    kg: KnowledgeGraph, folder: Path, format_: str
) -> None:
    found = {q.triple for q in quads(kg, format_, entities=True)}
    traversed = [q.triple for q in quads_of(folder) if graph_of(q) == MINTER.kg_graph]
    entities = {t.subject for t in traversed if t.object == SARAG.Entity}
    assert found == {t for t in traversed if t.subject in entities}
    assert len(found) < len(traversed)
    assert {t.predicate for t in found} >= {RDF.type, SKOS.prefLabel, SARAG.relatedTo}


@pytest.mark.parametrize("format_", ["nquads", "ntriples"])
def test_parts_are_added_to_each_other(kg: KnowledgeGraph, format_: str) -> None:
    entities = {q.triple for q in quads(kg, format_, entities=True)}
    documents = {q.triple for q in quads(kg, format_, documents=True)}
    both = quads(kg, format_, entities=True, documents=True)
    assert {q.triple for q in both} == entities | documents
    with_link = {q.triple for q in quads(kg, format_, entities=True, graphs=[MINTER.links_graph])}
    assert with_link == entities | {LINK.triple}
    whole = {q.triple for q in quads(kg, format_, entities=True, graphs=[MINTER.kg_graph])}
    assert whole > entities


def test_any_graph_but_one_in_quarantine_can_be_named(kg: KnowledgeGraph) -> None:
    assert quads(kg, graphs=[MINTER.links_graph]) == [LINK]
    assert set(quads(kg, graphs=[MINTER.links_graph, IMPORTED])) == {LINK, quad(IMPORTED)}
    with pytest.raises(UsageError, match=f"no such graph: <{QUARANTINE}>; did you mean one of <"):
        export(kg, graphs=[QUARANTINE])
    with pytest.raises(
        UsageError, match=f"graph/lynks>; did you mean one of <{MINTER.links_graph}>"
    ):
        export(kg, graphs=[MINTER.base + "graph/lynks"])


# ------------------------------------------------------------------------------ RDF 1.2


@pytest.mark.parametrize("format_", RDF12)
def test_relationships_are_reifiers(kg: KnowledgeGraph, format_: str) -> None:
    plain, found = quads(kg, format_), quads(kg, format_, rdf12=True)
    assert len(found) == len(set(found))
    added = set(found) - set(plain)
    assert set(plain) <= set(found)
    relationships = {q.subject for q in plain if q.object == SARAG.Relationship}
    assert {q.subject for q in added} == relationships
    assert len(added) == len(relationships) > 5
    there = {q.triple for q in plain}
    ends = {(t.subject, t.predicate): t.object for t in there}
    for new in added:
        assert new.predicate == RDF.reifies
        assert isinstance(new.object, ox.Triple)
        assert new.object in there, "what is reified is said, too"
        assert new.object.predicate == SARAG.relatedTo
        assert new.object.subject == ends[new.subject, SARAG.subject]
        assert new.object.object == ends[new.subject, SARAG.object]


def test_reifiers_go_with_entities(kg: KnowledgeGraph) -> None:
    plain, found = quads(kg, entities=True), quads(kg, entities=True, rdf12=True)
    assert {q.predicate for q in set(found) - set(plain)} == {RDF.reifies}


def test_what_cannot_carry_reifiers_is_refused(kg: KnowledgeGraph) -> None:
    for format_ in ("jsonld", "rdfxml"):
        with pytest.raises(UsageError, match=f"{format_} does not support RDF 1.2: use one of"):
            export(kg, format_, rdf12=True)
    with pytest.raises(UsageError, match="not in the selected parts: add --entities"):
        export(kg, rdf12=True, documents=True)


# --------------------------------------------------------------------------- Round trip


@pytest.mark.parametrize("format_", ["trig", "nquads"])
def test_what_is_exported_can_be_loaded_again(tmp_path: Path, format_: str) -> None:
    """The same quads, and from them the same bytes."""
    folder = crooked_graph(tmp_path / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        data, counts = export(kg, format_), kg.stats()
    (tmp_path / "again").mkdir()
    store = ox.Store(str(tmp_path / "again" / "store"))
    store.load(data, FORMATS[format_])
    store.flush()
    del store
    with sarag_rdf.open(tmp_path / "again", embedder=HashEmbedder(), endpoint=None) as kg:
        assert (export(kg, format_), kg.stats()) == (data, counts)
    assert quads_of(tmp_path / "again") == quads_of(folder)


@pytest.mark.interop
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_parts_are_read_by_others(kg: KnowledgeGraph, tmp_path: Path, consumer: str) -> None:
    file = tmp_path / "part.nt"
    file.write_bytes(export(kg, "ntriples", entities=True))
    assert len(CONSUMERS[consumer][0](file, "ntriples")) == len(quads(kg, entities=True))


# ------------------------------------------------------------------------- Command line


def test_command_line(sarag: Sarag, folder: Path) -> None:
    links = sarag("export", "--kg", folder, "--format", "nquads", "--graph", MINTER.links_graph)
    assert (links.code, links.out) == (0, f"{LINK} .\n")
    both = sarag("export", "--kg", folder, "--format", "nquads", "--entities", "--imported")
    assert IMPORTED in both.out
    assert MINTER.graph("sources") not in both.out
    sarag("export", "--kg", folder, "--graph", "https://example.org/no").fails(2, "no such graph")
    sarag("export", "--kg", folder, "--rdf12", "--format", "rdfxml").fails(2, "does not support")
    turtle = sarag("export", "--kg", folder, "--rdf12")
    assert "<<( entity:ada sarag:relatedTo entity:" in turtle.out
