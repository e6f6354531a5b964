"""A graph as Wikibase RDF, Wikibase JSON and QuickStatements: what others read there."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from wikibaseintegrator.entities import ItemEntity, PropertyEntity

import sarag_rdf
from sarag_rdf.base.errors import StoreError, UsageError
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import OWL, SARAG, SKOS
from sarag_rdf.extraction.spacy_extractor import load_pipeline
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.wikibase.dump import read_entities
from sarag_rdf.plugins.wikibase.numbers import WikibaseIds
from sarag_rdf.plugins.wikibase.rdf import dump_triples
from sarag_rdf.plugins.wikibase.typed_properties import canonical_phrase
from sarag_rdf.testing.fakes import HashEmbedder
from tests.kg.consumers import CONSUMERS
from tests.sample_graph import (
    BASE,
    CROOKED_NAMES,
    CapitalExtractor,
    crooked_graph,
    files_of,
    insert,
    make_graph,
    quads_of,
)
from tests.wikibase.engines import by_wikibase_sdk
from tests.wikibase.idioms import VOCABULARY
from tests.wikibase.imported import NAME, imported_graph
from tests.wikibase.typed import typed_values_graph

FORMATS = ("wikibase", "wikibase-json", "quickstatements")
GRAPHS = ("sample", "crooked", "typed", "imported", "corpus")
CORPUS = Path(__file__).parent.parent.parent / "examples" / "corpus"
WD = f"{BASE}wikibase/entity/"


def exported(folder: Path, format_: str, **options: Any) -> bytes:
    output = io.BytesIO()
    if folder.name == "imported":
        options.setdefault("over", [NAME])
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.export(format_, output, **options)
    return output.getvalue()


def documents(folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """Entity documents by id."""
    return {held["id"]: held for held in json.loads(exported(folder, "wikibase-json", **options))}


def labelled(found: dict[str, dict[str, Any]], label: str, *, source: bool = False) -> Any:
    """The item of that label: an entity, or a source."""
    (held,) = (
        held
        for held in found.values()
        if held["type"] == "item"
        and held["labels"].get("en", {}).get("value") == label
        and held["descriptions"]["en"]["value"].startswith("source: ") == source
    )
    return held


def value(snak: dict[str, Any]) -> Any:
    return snak["datavalue"]["value"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sample graph, one of crooked names, and a corpus that a real extractor read."""
    base = tmp_path_factory.mktemp("graphs")
    made = {
        "sample": make_graph(base / "sample"),
        "crooked": crooked_graph(base / "crooked"),
        "typed": typed_values_graph(base / "typed"),
        "imported": imported_graph(base / "imported"),
    }
    try:
        load_pipeline()
    except sarag_rdf.base.errors.MissingDependencyError:
        return made
    files = [CORPUS / name for name in ("vistula.md", "gdansk.md", "marie-curie.md")]
    with sarag_rdf.open(base / "corpus", embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.index([file for file in files if file.is_file()]).added >= 2
    return {**made, "corpus": base / "corpus"}


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Path:
    if request.param not in folders:
        pytest.skip("the spaCy model is not installed")
    return folders[request.param]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return make_graph(tmp_path / "kg")


# --------------------------------------------------------------------------- Other readers


@pytest.mark.interop
@pytest.mark.parametrize("syntax", ["ntriples", "turtle"])
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_every_reader_finds_the_same_triples(
    graph: Path, consumer: str, syntax: str, tmp_path: Path
) -> None:
    file = tmp_path / "dump"
    file.write_bytes(exported(graph, "wikibase", syntax=syntax, typed=2))
    expected = list(ox.parse(path=str(file), format=ox.RdfFormat.TURTLE))
    read, _ = CONSUMERS[consumer]
    found = read(file, syntax)
    assert len(found) == len(expected) == len(set(expected))
    assert unsigned(found) == unsigned(expected)
    assert not any(isinstance(q.subject, ox.BlankNode) for q in expected)


def unsigned(quads: list[ox.Quad]) -> set[str]:
    """Numbers without a plus, which rdflib drops where Turtle writes them without quotes."""
    return {str(quad).replace('"+', '"') for quad in quads}


@pytest.mark.interop
def test_wikibase_integrator_reads_every_document(graph: Path) -> None:
    for id_, held in documents(graph, typed=2).items():
        kind = ItemEntity if held["type"] == "item" else PropertyEntity
        entity = kind().from_json(json.loads(json.dumps(held)))
        again = entity.get_json()
        assert entity.id == id_
        assert {key: again[key] for key in ("labels", "descriptions", "aliases")} == {
            key: held[key] for key in ("labels", "descriptions", "aliases")
        }
        assert plain(again["claims"]) == plain(held["claims"])


def plain(content: Any) -> Any:
    """Without hashes, which that library leaves out."""
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items() if key != "hash"}
    return [plain(value) for value in content] if isinstance(content, list) else content


@pytest.mark.interop
def test_qwikidata_reads_every_document(graph: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it has not changed for long
        from qwikidata.entity import WikidataItem, WikidataProperty
    for id_, held in documents(graph, typed=2).items():
        kind = WikidataItem if held["type"] == "item" else WikidataProperty
        entity = kind(held)
        assert entity.entity_id == id_
        groups = entity.get_claim_groups()
        assert {key: len(groups[key]) for key in held["claims"]} == {
            key: len(group) for key, group in held["claims"].items()
        }
        for key, group in held["claims"].items():
            for claim, statement in zip(groups[key], group, strict=True):
                wanted = {k: len(snaks) for k, snaks in statement.get("qualifiers", {}).items()}
                assert {k: len(q) for k, q in claim.qualifiers.items()} == wanted


@pytest.mark.interop
def test_wikibase_sdk_reads_every_document(graph: Path, tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_bytes(exported(graph, "wikibase-json", typed=2))
    expected = {entity.id: entity.data for entity in read_entities(file)}
    found = {held["id"]: held for held in by_wikibase_sdk(file)}
    assert found.keys() == expected.keys()
    for id_, held in found.items():
        labels = {code: text["value"] for code, text in expected[id_]["labels"].items()}
        assert held["labels"] == labels
        for key, group in expected[id_]["claims"].items():
            assert [claim["id"] for claim in held["claims"][key]] == [s["id"] for s in group]
            assert all(claim["value"] is not None for claim in held["claims"][key])


def test_the_json_says_what_the_rdf_says(graph: Path, tmp_path: Path) -> None:
    """The dump of documents is read back, and turned into RDF as any dump is."""
    file = tmp_path / "dump.json"
    file.write_bytes(exported(graph, "wikibase-json", typed=2))
    made = list(dump_triples(read_entities(file), VOCABULARY))
    rdf = {q.triple for q in ox.parse(exported(graph, "wikibase", typed=2), ox.RdfFormat.N_TRIPLES)}
    assert len(made) == len(set(made))
    assert set(made) < rdf
    beside = {t.predicate for t in rdf - set(made)}
    assert OWL.equivalentProperty in beside
    assert {str(t.subject) for t in rdf - set(made) if t.predicate == OWL.imports} == {
        "<http://wikiba.se/ontology#Dump>",
        f"<{BASE}wikibase/dump>",
    }


# -------------------------------------------------------------------------------- Content


def test_an_entity_is_an_item_with_statements_and_sources(sample: Path) -> None:
    found = documents(sample)
    item, source = labelled(found, "Orbis"), labelled(found, "Ada", source=True)
    assert (
        item["descriptions"]["en"]["value"]
        == "named thing: Ada founded Orbis. Orbis has its seat in Ulm."
    )
    (statement,) = item["claims"]["P1"]
    assert value(statement["mainsnak"])["id"] == labelled(found, "Ulm")["id"]
    qualifiers = {
        key: snaks[0]["datavalue"]["value"] for key, snaks in statement["qualifiers"].items()
    }
    assert qualifiers == {
        "P3": {"text": "Orbis has its seat in Ulm.", "language": "en"},
        "P4": {"text": "with", "language": "en"},
        "P5": {"amount": "+1", "unit": "1"},
    }
    (reference,) = statement["references"]
    assert reference["snaks"]["P6"][0]["datavalue"]["value"]["id"] == source["id"]
    assert reference["snaks"]["P7"][0]["datavalue"]["value"].startswith(f"{BASE}doc/")
    assert re.fullmatch(
        rf"{item['id']}\$[0-9A-F]{{8}}(-[0-9A-F]{{4}}){{3}}-[0-9A-F]{{12}}", statement["id"]
    )
    assert source["claims"]["P9"][0]["mainsnak"]["datavalue"]["value"] == f"{BASE}source/ada.txt"
    assert len(source["claims"]["P10"][0]["mainsnak"]["datavalue"]["value"]) == 64


def test_a_wikibase_would_take_the_texts(graph: Path) -> None:
    """One line of 250 characters at most, and no two of one label and description."""
    seen, labels = set(), set()
    for held in documents(graph, typed=1).values():
        for key in ("labels", "descriptions"):
            for code, text in held[key].items():
                assert text["language"] == code
                assert 0 < len(text["value"]) <= 250
                assert text["value"] == " ".join(text["value"].split())
        for code, text in held["descriptions"].items():
            both = (held["type"], code, held["labels"].get(code, {}).get("value"), text["value"])
            assert both not in seen
            seen.add(both)
        if held["type"] == "property":
            for code, text in held["labels"].items():
                assert (code, text["value"]) not in labels
                labels.add((code, text["value"]))


def test_crooked_names_keep_their_characters(folders: dict[str, Path]) -> None:
    found = documents(folders["crooked"])
    labels = {held["labels"]["en"]["value"] for held in found.values() if held["labels"]}
    assert {" ".join(name.split()) for name in CROOKED_NAMES} <= labels
    texts = {
        snak["datavalue"]["value"]["text"]
        for held in found.values()
        for statement in held["claims"].get("P1", [])
        for snak in statement["qualifiers"]["P4"]
    }
    assert f"met {CROOKED_NAMES[1]}" in texts


def test_recurring_phrases_have_properties_of_their_own(sample: Path) -> None:
    assert "P11" not in documents(sample)
    assert "P11" not in documents(sample, typed=7)
    found = documents(sample, typed=6)
    assert found["P11"]["labels"] == {"en": {"language": "en", "value": "with"}}
    item = labelled(found, "Orbis")
    generic, typed = item["claims"]["P1"][0], item["claims"]["P11"][0]
    assert typed["mainsnak"]["datavalue"] == generic["mainsnak"]["datavalue"]
    assert typed["qualifiers"] == generic["qualifiers"]
    assert typed["id"] != generic["id"]


def test_phrases_that_say_the_same() -> None:
    told = ["was born in", "Is born in", "were born in the", "WAS BORN IN"]
    assert {canonical_phrase(phrase) for phrase in told} == {"be born in"}
    assert canonical_phrase("has a seat in") == canonical_phrase("had seat in") != "have in"


def test_links_are_exact_matches(sample: Path) -> None:
    entity = value(labelled(documents(sample), "Ulm")["claims"]["P9"][0]["mainsnak"])
    target = ox.NamedNode("http://www.wikidata.org/entity/Q3012")
    graph = ox.NamedNode(f"{BASE}graph/links")
    insert(sample, ox.Quad(ox.NamedNode(entity), SKOS.exactMatch, target, graph))
    (match,) = labelled(documents(sample), "Ulm")["claims"]["P8"]
    assert value(match["mainsnak"]) == target.value


def test_no_property_of_wikidata_is_made_up(graph: Path) -> None:
    """Only the ontology says which properties are equal to those of Wikidata."""
    for line in exported(graph, "wikibase", typed=1).splitlines():
        if b"www.wikidata.org/prop" in line:
            assert b" <http://www.w3.org/2002/07/owl#equivalentProperty> " in line
            assert graph.name in ("typed", "imported", "corpus")


def test_own_properties_say_what_they_mean(sample: Path) -> None:
    triples = {q.triple for q in ox.parse(exported(sample, "wikibase"), ox.RdfFormat.N_TRIPLES)}
    same = {
        (str(t.subject), str(t.object)) for t in triples if t.predicate == OWL.equivalentProperty
    }
    prop = f"{BASE}wikibase/prop/"
    for id_, role, term in (("P1", "direct", SARAG.relatedTo), ("P3", "qualifier", SARAG.text)):
        assert (f"<{WD}{id_}>", str(term)) in same
        assert (f"<{prop}{role}/{id_}>", str(term)) in same


def test_namespace_and_flavor(sample: Path) -> None:
    told = exported(sample, "wikibase", namespace="https://data.example.org/w", flavor="truthy")
    assert b"<https://data.example.org/w/entity/Q1>" in told
    assert b"<https://data.example.org/w/prop/direct/P1>" in told
    assert b"entity/statement/" not in told
    with pytest.raises(UsageError, match="invalid base of IRIs"):
        exported(sample, "wikibase", namespace="mine")
    with pytest.raises(UsageError, match="unknown export format 'wiki'"):
        exported(sample, "wiki")


# -------------------------------------------------------------------------------- Numbers


@pytest.mark.parametrize("format_", FORMATS)
def test_two_exports_have_the_same_bytes(graph: Path, format_: str) -> None:
    assert exported(graph, format_) == exported(graph, format_)


def test_numbers_stay_when_the_graph_grows_and_shrinks(sample: Path) -> None:
    before = documents(sample)
    more = Source("Abel met Zora in Ulm.", "Abel", "abel.txt")
    with sarag_rdf.open(sample, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([more], extractor=CapitalExtractor())
    after = documents(sample)
    added = sorted(after.keys() - before.keys(), key=lambda id_: int(id_[1:]))
    assert added == [f"Q{number}" for number in range(len(before) - 9, len(before) - 9 + 4)][:3]
    for id_, held in before.items():
        assert after[id_]["labels"] == held["labels"]
        kept = {s["id"] for group in held["claims"].values() for s in group}
        assert kept <= {s["id"] for group in after[id_]["claims"].values() for s in group}
    with sarag_rdf.open(sample, embedder=HashEmbedder(), endpoint=None) as kg:
        changed = replace(more, text="Abel met Yuri in Ulm.")
        kg.index([changed], extractor=CapitalExtractor())
    last = documents(sample)
    gone = labelled(after, "Zora")["id"]
    assert gone not in last
    assert labelled(last, "Yuri")["id"] not in after


def test_only_new_numbers_are_written(sample: Path) -> None:
    before = set(quads_of(sample))
    exported(sample, "wikibase")
    first = set(quads_of(sample))
    assert {q.predicate for q in first - before} == {SARAG.wikibaseId}
    assert {q.graph_name for q in first - before} == {ox.NamedNode(f"{BASE}graph/wikibase-numbers")}
    files = files_of(sample)
    exported(sample, "wikibase-json")
    assert files_of(sample) == files
    with sarag_rdf.open(sample, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.validate().conforms


def test_damaged_numbers_are_an_error() -> None:
    with pytest.raises(StoreError, match=r"'X1' of .* is not a Wikibase id"):
        WikibaseIds([("urn:a", "X1")])
    with pytest.raises(StoreError, match="same Wikibase id"):
        WikibaseIds([("urn:a", "Q1"), ("urn:b", "Q1")])


# ------------------------------------------------------------------------ QuickStatements


def commands(folder: Path, **options: Any) -> list[list[str]]:
    text = exported(folder, "quickstatements", **options).decode()
    assert text.endswith("\n")
    return [line.split("\t") for line in text.splitlines()]


QUICKSTATEMENTS_VALUE = (
    r'Q\d+|-?[\d.]+(U\d+)?|([\w-]+:)?".*"|@-?[\d.]+/-?[\d.]+|[+-]\d+-\d\d-\d\dT00:00:00Z/\d+'
)


def test_commands_make_each_item_and_then_its_statements(graph: Path) -> None:
    found = commands(graph)
    items = [held for id_, held in documents(graph).items() if id_.startswith("Q")]
    assert sum(line == ["CREATE"] for line in found) == len(items)
    first = next(place for place, line in enumerate(found) if line[0].startswith("Q"))
    assert all(line[0] in ("CREATE", "LAST") for line in found[:first])
    assert all(re.fullmatch(r"Q\d+", line[0]) for line in found[first:])
    for line in found[first:]:
        names, values = line[1::2], line[2::2]
        assert len(names) == len(values)
        assert all(re.fullmatch(r"[PS]\d+", name) for name in names)
        assert all(re.fullmatch(QUICKSTATEMENTS_VALUE, value) for value in values)
        assert [n for n in names if n[0] == "P"] == names[: sum(n[0] == "P" for n in names)]


def test_a_table_gives_the_ids_of_the_target(sample: Path, tmp_path: Path) -> None:
    table = tmp_path / "ids.tsv"
    table.write_text("# own\ttarget\nP1\tP2860\nP3\tP1683\nP6\tP248\n")
    found = commands(sample, table=table)
    used = {name for line in found if line[0].startswith("Q") for name in line[1::2]}
    assert {"P2860", "P1683", "S248", "P2", "P9"} <= used
    assert not {"P1", "P3", "S6"} & used
    own = [id_ for id_ in documents(sample) if id_.startswith("Q")]
    table.write_text("".join(f"{id_}\tQ{int(id_[1:]) + 1000}\n" for id_ in own))
    moved = commands(sample, table=table)
    assert ["CREATE"] not in moved
    assert {line[0] for line in moved} == {f"Q{int(id_[1:]) + 1000}" for id_ in own}


def test_new_items_must_get_their_own_numbers(sample: Path, tmp_path: Path) -> None:
    own = [id_ for id_ in documents(sample) if id_.startswith("Q")]
    table = tmp_path / "ids.tsv"
    table.write_text("".join(f"{id_}\t{id_}\n" for id_ in own[1:]))
    with pytest.raises(UsageError, match="all items in the target"):
        commands(sample, table=table)


@pytest.mark.parametrize("line", ["P1 P2", "P1\tQ2", "P0\tP1", "P1\t"])
def test_a_bad_table_is_an_error(sample: Path, tmp_path: Path, line: str) -> None:
    table = tmp_path / "ids.tsv"
    table.write_text(f"P2\tP31\n{line}\n")
    with pytest.raises(sarag_rdf.base.errors.InputError, match="line 2"):
        commands(sample, table=table)


# ------------------------------------------------------------------------------- Way back


@pytest.fixture
def imported(sample: Path, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    file = tmp_path / "own.nt"
    file.write_bytes(exported(sample, "wikibase"))
    with sarag_rdf.open(tmp_path / "back", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "wikibase", name="own")
        yield kg


def test_an_export_that_is_imported_says_the_same(sample: Path, imported: KnowledgeGraph) -> None:
    """The same entities, relations and texts as the graph that was exported."""
    with sarag_rdf.open(sample, embedder=HashEmbedder(), endpoint=None) as kg:
        with kg.session.read() as snapshot:
            told = snapshot.reader
        names = {row[0].value: row[1].value for row in told.rows("entity-texts")}
        texts = {(row[0].value): row[1].value for row in told.rows("relationship-texts")}
        expected = {
            (names[s.value], texts[r.value], names[o.value])
            for r, s, o in told.rows("relationship-ends")
        }
    with imported.session.read() as snapshot:
        back = snapshot.searched
    labels = {row[0].value: row[1].value for row in back.rows("entity-texts")}
    assert set(names.values()) <= set(labels.values())
    again = {row[0].value: row[1].value for row in back.rows("relationship-texts")}
    ends = {
        (labels[s.value], again[r.value], labels[o.value])
        for r, s, o in back.rows("relationship-ends")
    }
    assert expected <= ends
    assert all("instance of" in text for _, text, _ in ends - expected)


def test_an_imported_graph_is_exported_in_the_same_way(
    imported: KnowledgeGraph,
) -> None:
    output = io.BytesIO()
    imported.export("wikibase-json", output, over=["own"])
    found = {held["id"]: held for held in json.loads(output.getvalue())}
    labels = {held["labels"]["en"]["value"] for held in found.values() if "en" in held["labels"]}
    assert {"Ada", "Orbis", "Ulm", "Danube", "Boris", "Tulcea"} <= labels
    properties = [h for h in found.values() if h["type"] == "property" and h["id"] not in OWN]
    (related,) = (h for h in properties if "related to (" in h["labels"]["en"]["value"])
    assert related["datatype"] == "wikibase-item"
    (orbis,) = (h for h in found.values() if h["labels"].get("en", {}).get("value") == "Orbis")
    texts = {
        snak["datavalue"]["value"]["text"]
        for group in orbis["claims"].values()
        for statement in group
        for snak in statement.get("qualifiers", {}).get("P3", [])
    }
    assert "Orbis has its seat in Ulm." in texts
    assert "P1" not in orbis["claims"]


OWN = {f"P{number}" for number in range(1, 11)}


def test_equal_hashes_are_not_equal_descriptions(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = exported(sample, "wikibase-json")
    monkeypatch.setattr("sarag_rdf.plugins.wikibase.items.hash", lambda _: 1, raising=False)
    assert exported(sample, "wikibase-json") == before


def test_the_license_of_the_data_is_that_of_the_dump(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    assert b"#license>" not in exported(folder, "wikibase")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.say(license="https://license.example/1")
    triples = ox.parse(exported(folder, "wikibase"), format=ox.RdfFormat.N_TRIPLES)
    licensed = {t.subject.value for t in triples if t.predicate.value.endswith("#license")}
    assert licensed == {"http://wikiba.se/ontology#Dump", f"{BASE}wikibase/dump"}
