"""Wikibase graphs come in: real files, our own exports, and another graph by way of an export."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Retrieved
from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.data_folder import data_folder
from tests.sample_graph import CapitalExtractor

TEXTS = ("Ada was born in Ormund. Bea met Ada.", "Ormund lies on the Sel.", "Sel meets Ormund.")
NAMES = {"Ada", "Bea", "Ormund", "Sel"}


def opened(folder: Path, *over: str) -> KnowledgeGraph:
    return sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None, over=over)


def facts(folder: Path, name: str) -> tuple[set[str], set[tuple[str, str, str]]]:
    """Names of the entities of one part, and its relationships as (subject, object, text)."""
    with opened(folder) as kg:
        with kg.session.read() as snapshot:
            reader = select_parts(snapshot.reader, [name])
        names = {entity.value: text.value for entity, text in reader.rows("entity-texts")}
        texts = {item.value: text.value for item, text, _ in reader.rows("relationship-texts")}
        ends = [*reader.rows("relationship-ends")]
    return set(names.values()), {
        (names[s.value], names[o.value], texts[r.value]) for r, s, o in ends
    }


def exported(folder: Path, format_: str, *over: str) -> Path:
    path = folder / f"export.{'json' if format_ == 'wikibase-json' else 'nt'}"
    with opened(folder) as kg, path.open("wb") as output:
        kg.export(format_, output, over=over or ["documents"])
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as kg:
        kg.index([sarag_rdf.Source(text) for text in TEXTS], extractor=CapitalExtractor())
    return tmp_path


def test_our_own_export_comes_back(folder: Path) -> None:
    path = exported(folder, "wikibase")
    with opened(folder) as kg:
        report = kg.import_graph(path, "wikibase", name="back")
        assert report.kind == "wikibase"
        assert report.triples == len(set(ox.parse(path=str(path))))
    before, after = facts(folder, "documents"), facts(folder, "back")
    assert before[0] == NAMES
    assert after[0] >= NAMES
    assert {fact for fact in after[1] if {fact[0], fact[1]} <= NAMES} == before[1]
    assert len(before[1]) == 4


def test_our_own_json_comes_back(folder: Path) -> None:
    """JSON says nothing of what a property means, so texts are made of the labels."""
    path = exported(folder, "wikibase-json")
    with opened(folder) as kg:
        entities = "https://example.org/kg/wikibase/entity/"
        kg.import_graph(path, "wikibase", name="back", entity_base=entities)
    names, found = facts(folder, "back")
    assert names >= NAMES
    assert {
        ("Ada", "Ormund", "Ada related to Ormund"),
        ("Bea", "Ada", "Bea related to Ada"),
    } <= found
    between = {fact[:2] for fact in facts(folder, "documents")[1]}
    assert {fact[:2] for fact in found if {fact[0], fact[1]} <= NAMES} == between


def test_json_is_filtered(folder: Path) -> None:
    path = exported(folder, "wikibase-json")
    with opened(folder) as kg:
        plain = kg.import_graph(path, "wikibase", name="whole").triples
        fewer = kg.import_graph(path, "wikibase", name="few", properties=["P1"]).triples
        assert 0 < fewer < plain
        with pytest.raises(UsageError, match="apply only to Wikibase JSON dumps"):
            kg.import_graph(exported(folder, "wikibase"), "wikibase", name="x", types=["Q5"])


def test_a_dump_that_is_cut_leaves_nothing(folder: Path) -> None:
    path = exported(folder, "wikibase-json")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with opened(folder) as kg:
        with pytest.raises(InputError, match=r"export.json, line \d+, byte \d+"):
            kg.import_graph(path, "wikibase")
        assert kg.imports() == []


# ------------------------------------------------------------------------------- Real files


def test_a_real_item(tmp_path: Path) -> None:
    with opened(tmp_path) as kg:
        kg.import_graph(data_folder("wikidata") / "qwikidata_Q42.json", "wikibase", name="q42")
        kg.import_graph(
            data_folder("wikidata") / "kgtk_Q57160439_truthy.ttl", "wikibase", name="paper"
        )
        kinds = [(i.name, i.kind) for i in kg.imports()]
        assert kinds == [("paper", "wikibase-truthy"), ("q42", "wikibase")]
    with opened(tmp_path, "q42") as kg:
        found = kg.search("Who was Douglas Noel Adams?", limit=3)
        (page,) = found.documents
        assert (page.document.title, page.document.text) == ("Douglas Adams", "author and humorist")
        assert page.document.iri == "http://www.wikidata.org/entity/Q42"
        assert found.seeds[0].reason == "named in the question"  # By another name of his.
        answer = kg.query(
            "PREFIX wd: <http://www.wikidata.org/entity/> "
            "PREFIX wdt: <http://www.wikidata.org/prop/direct/> "
            "PREFIX p: <http://www.wikidata.org/prop/> "
            "PREFIX ps: <http://www.wikidata.org/prop/statement/> "
            "SELECT DISTINCT ?o { wd:Q42 wdt:P31 ?o . wd:Q42 p:P31/ps:P31 ?o }"
        )
        assert [row[0].value for row in answer.rows] == ["http://www.wikidata.org/entity/Q5"]  # type: ignore[union-attr]


def movies(lines: int) -> str:
    """The first lines of a real graph of movies as N-Triples with labels."""
    base, label = "https://movies.example.org/", "http://www.w3.org/2000/01/rdf-schema#label"
    text = (data_folder("metaqa") / "kb.tsv").read_text(encoding="utf-8")
    triples = [line.split("\t") for line in text.splitlines()[:lines]]

    def named(kind: str, name: str) -> ox.NamedNode:
        return ox.NamedNode(f"{base}{kind}/{quote(name, safe='')}")

    made = set()
    for head, relation, tail in triples:
        ends = [named("entity", head), named("property", relation), named("entity", tail)]
        made.add(ox.Triple(*ends))
        for node, name in zip(ends, (head, relation, tail), strict=True):
            made.add(ox.Triple(node, ox.NamedNode(label), ox.Literal(name, language="en")))
    return "".join(f"{triple} .\n" for triple in sorted(made, key=str))


def told(found: Retrieved) -> dict[tuple[str, str], float]:
    """Documents by what they say; which of equally good ones are looked at goes by IRI."""
    return {(d.document.title, d.document.text): d.score for d in found.documents}


def test_a_real_graph_gives_the_same_by_way_of_its_wikibase_export(tmp_path: Path) -> None:
    path = tmp_path / "movies.nt"
    path.write_text(movies(1500), encoding="utf-8")
    with opened(tmp_path) as kg:
        kg.import_graph(path, "rdf")
    with opened(tmp_path) as kg:
        kg.import_graph(exported(tmp_path, "wikibase", "movies"), "wikibase", name="again")
    plain, again = facts(tmp_path, "movies"), facts(tmp_path, "again")
    assert plain == again
    assert len(plain[1]) > 1400
    for question in ("Who directed 12 Angry Men?", "Which movies did Henry Fonda star in?"):
        results = []
        for name in ("movies", "again"):
            with opened(tmp_path, name) as kg:
                results.append(told(kg.search(question, n=1)))
        first, second = results
        best = sorted(first, key=lambda page: -first[page])[:100]
        assert {page: second[page] for page in best} == pytest.approx(
            {page: first[page] for page in best}, abs=0.01
        )


def test_a_question_is_answered_across_a_link_to_a_real_graph(tmp_path: Path) -> None:
    path = tmp_path / "movies.nt"
    path.write_text(movies(1500), encoding="utf-8")
    text, question = "Lumet was born in Philadelphia.", "Where was who directed 12 Angry Men born?"
    with opened(tmp_path) as kg:
        sources = [sarag_rdf.Source(text), sarag_rdf.Source("Omaha is flat.")]
        kg.index(sources, extractor=CapitalExtractor())
        kg.import_graph(path, "rdf")
        before = {d.document.text: d.activation for d in kg.search(question, k=0).documents}
        item = "https://movies.example.org/entity/Sidney%20Lumet"
        lumet = Minter().entity("lumet")
        kg.links.accept([Match(lumet, EXACT, item, SEMAPV.ManualMappingCuration.value)])
    with opened(tmp_path) as kg:
        found = kg.search(question, k=0)
    assert before.get(text, 0.0) == 0.0
    document = next(d for d in found.documents if d.document.text == text)
    assert document.activation > 0.0
    named = [found.names.get(step.relationship) for step in document.chain]
    assert "is the same as" in named
    assert found.names[document.chain[0].origin] == "12 Angry Men"
    assert any(name and name.startswith("12 Angry Men directed by") for name in named)
