"""Wikidata5M's lists and texts become truthy Wikibase RDF; the slice is made up, in its format."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.papers.wikidata5m import converted
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag

WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
SLICE = {
    "wikidata5m_all_triplet.txt": "Q101\tP11\tQ102\nQ102\tP12\tQ103\nQ101\tP13\tQ103\n",
    "wikidata5m_text.txt": 'Q101\tOrbis is a club, "the best" \\ of all.\nQ102\tUlm is a town.\n',
    "wikidata5m_entity.txt": "Q101\tOrbis\tClub Orbis\tOrbis\nQ102\tUlm\nQ103\tDanube\tDonau\n",
    "wikidata5m_relation.txt": "P11\tseat\theadquarters\nP12\tlies on\n",
}
QUESTION = "Which river flows through the seat of Orbis?"


def written(folder: Path, **changes: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in SLICE.items():
        (folder / name).write_text(changes.get(name.split("_")[-1].removesuffix(".txt"), text))
    return folder


@pytest.fixture
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as opened:
        yield opened


def triples(folder: Path) -> set[tuple[str, str, str]]:
    with converted(folder, 200) as path:
        found = ox.parse(gzip.decompress(path.read_bytes()), format=ox.RdfFormat.N_TRIPLES)
        return {(str(t.subject), str(t.predicate), str(t.object)) for t in found}


def test_every_line_is_a_triple(tmp_path: Path) -> None:
    rdfs, skos = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
    wikibase, rdf = "http://wikiba.se/ontology#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    wanted = {
        (f"<{WD}Q101>", f"<{rdfs}label>", '"Orbis"@en'),
        (f"<{WD}Q101>", f"<{skos}altLabel>", '"Club Orbis"@en'),
        (f"<{WD}Q102>", f"<{rdfs}label>", '"Ulm"@en'),
        (f"<{WD}Q103>", f"<{rdfs}label>", '"Danube"@en'),
        (f"<{WD}Q103>", f"<{skos}altLabel>", '"Donau"@en'),
        (f"<{WD}Q101>", "<http://schema.org/description>",
         '"Orbis is a club, \\"the best\\" \\\\ of all."@en'),
        (f"<{WD}Q102>", "<http://schema.org/description>", '"Ulm is a town."@en'),
        (f"<{WD}P11>", f"<{rdfs}label>", '"seat"@en'),
        (f"<{WD}P11>", f"<{skos}altLabel>", '"headquarters"@en'),
        (f"<{WD}P12>", f"<{rdfs}label>", '"lies on"@en'),
        (f"<{WD}Q101>", f"<{WDT}P11>", f"<{WD}Q102>"),
        (f"<{WD}Q102>", f"<{WDT}P12>", f"<{WD}Q103>"),
        (f"<{WD}Q101>", f"<{WDT}P13>", f"<{WD}Q103>"),
    }  # fmt: skip
    for relation in ("P11", "P12", "P13"):  # the last has no name
        wanted |= {
            (f"<{WD}{relation}>", f"<{rdf}type>", f"<{wikibase}Property>"),
            (f"<{WD}{relation}>", f"<{wikibase}propertyType>", f"<{wikibase}WikibaseItem>"),
            (f"<{WD}{relation}>", f"<{wikibase}directClaim>", f"<{WDT}{relation}>"),
        }
    assert triples(written(tmp_path / "slice")) == wanted


def test_it_is_searched_like_a_wikibase(kg: KnowledgeGraph, tmp_path: Path) -> None:
    report = kg.import_graph(written(tmp_path / "slice"), "wikidata5m", name="w5m")
    assert (report.kind, report.triples) == ("wikibase-truthy", 22)
    found = kg.search(QUESTION)
    assert {d.document.title for d in found.documents} == {"Orbis", "Ulm", "Danube"}
    texts = {link.text for link in kg.search(QUESTION, retriever="khop", n=2).subgraph.links}
    assert texts <= {"Orbis seat Ulm", "Ulm lies on Danube", "Orbis P13 Danube"}
    [orbis] = [d for d in found.documents if d.document.title == "Orbis"]
    assert "Orbis seat Ulm" in orbis.document.text
    again = kg.import_graph(tmp_path / "slice", "wikidata5m", name="w5m")
    assert again.already


def test_packed_files_and_several_lists_of_triples(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain")
    packed = tmp_path / "packed"
    packed.mkdir()
    for name, text in SLICE.items():
        if "triplet" in name:
            first, rest = text.split("\n", 1)
            (packed / "wikidata5m_transductive_train.txt").write_text(first + "\r\n\n")
            (packed / "wikidata5m_transductive_valid.txt").write_text(rest)
        else:
            (packed / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert triples(packed) == triples(plain)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"triplet": "Q1\tP2\tQ3\nQ1 P2 Q3\n"}, "line 2 of .* is not the ids of an entity, a rel"),
        ({"triplet": "Q1\tP2\tQ3\tQ4\n"}, "line 1 of"),
        ({"triplet": "Q1\tQ2\tQ3\n"}, "line 1 of"),
        ({"triplet": "http://x\tP2\tQ3\n"}, "line 1 of"),
        ({"text": "Q1\t\n"}, "is not the id of an entity and a text"),
        ({"entity": "Orbis\tQ1\n"}, "is not an id and names"),
        ({"relation": "P1\n"}, "is not an id and names"),
    ],
)
def test_lines_of_another_form(
    kg: KnowledgeGraph, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        kg.import_graph(written(tmp_path / "slice", **changes), "wikidata5m")
    assert kg.imports() == []


def test_what_is_missing(tmp_path: Path) -> None:
    folder = written(tmp_path / "slice")
    for name in ("wikidata5m_entity.txt", "wikidata5m_relation.txt", "wikidata5m_all_triplet.txt"):
        (folder / name).unlink()
    with pytest.raises(InputError, match="no file with triples and names of entities in "):
        triples(folder)
    with pytest.raises(UsageError, match="is not a folder"):
        triples(folder / "wikidata5m_text.txt")
    (folder / "entity.txt").write_bytes(b"Q1\tOrbis\nQ2\t\xff\n")
    (folder / "triples.txt").write_text("Q1\tP1\tQ2\n")
    with pytest.raises(InputError, match=r"line 2 of .*entity.txt is not UTF-8"):
        triples(folder)


def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    def peak(lines: int) -> int:
        many = "".join(f"Q{n}\tP{n % 9 + 1}\tQ{n + 1}\n" for n in range(1, lines))
        folder = written(tmp_path / str(lines), triplet=many)
        del many
        tracemalloc.start()
        with converted(folder, 200):
            size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(10_000) < 1.2 * peak(1_000) + 50_000


def test_on_the_command_line(sarag: Sarag, tmp_path: Path) -> None:
    written(tmp_path / "slice")
    arguments = ("--as", "wikidata5m", "--kg", tmp_path / "kg", "--no-vectors")
    done = sarag("import", tmp_path / "slice", *arguments)
    assert (done.code, done.out.splitlines()[0]) == (
        0, "slice: 22 triples imported as wikibase-truthy",
    )  # fmt: skip
    done = sarag("import", tmp_path / "other", *arguments)
    assert done.code == 2
    assert "is not a folder: give the folder with the files" in done.err
