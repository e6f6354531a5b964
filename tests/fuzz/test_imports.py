"""Files of RDF to be imported or restored, dumps of Wikibase, tables of links, caches."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sarag_rdf
from sarag_rdf.base.errors import InputError, SaragError, UsageError
from sarag_rdf.building.link_records import read_table
from sarag_rdf.graph.vectors import vector_store
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fuzz.cases import case
from tests.fuzz.hostile import (
    Edits,
    assert_sound,
    edited,
    edits,
    evidence,
    graph,
    is_line,
    mutated,
    quads,
    texts,
)
from tests.sample_graph import files_of, make_graph

_SKOS = b"http://www.w3.org/2004/02/skos/core#"
TURTLE = (
    b"@prefix s: <"
    + _SKOS
    + b"> .\n@base <http://t.example/> .\n<a> a s:Concept ; s:prefLabel 'Ada'@en,"
    b' """Ad\na"""@de-AT ; s:broader <b> ; s:note 1.5e3, true , [ s:x ( 1 _:b ) ] .\n'
    b'<b> s:prefLabel "B" .\n'
)
SEEDS = {
    ".ttl": TURTLE,
    ".nt": b"<urn:a> <" + _SKOS + b'prefLabel> "Ada\\u00e9\\n"@en .\n_:b <urn:p> <urn:a> . # c\n',
    ".nq": b"<urn:a> <" + _SKOS + b'prefLabel> "Ada"@en <urn:g> .\n',
    ".trig": b"@prefix s: <" + _SKOS + b"> . <urn:g> { <urn:a> s:prefLabel 'Ada' . }\n",
    ".rdf": b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e "Ada">]><rdf:RDF xmlns:s="'
    + _SKOS
    + b'" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><s:Concept rdf:about="urn:a">'
    b'<s:prefLabel xml:lang="en">&e;</s:prefLabel><s:x rdf:parseType="Resource"><s:y>1</s:y></s:x>'
    b"</s:Concept></rdf:RDF>",
    ".jsonld": b'{"@context": {"s": "'
    + _SKOS
    + b'", "n": {"@id": "s:prefLabel", "@language": "en"}},'
    b' "@graph": [{"@id": "urn:a", "n": "Ada", "s:x": {"@list": [1, {"@value": "2"}]}}]}',
    ".n3": TURTLE,
    ".json": json.dumps(
        [
            {
                "type": "item",
                "id": "Q1",
                "labels": {"en": {"language": "en", "value": "Ada"}},
                "claims": {
                    "P1": [
                        {
                            "id": "Q1$1",
                            "rank": "normal",
                            "type": "statement",
                            "mainsnak": {
                                "snaktype": "value",
                                "property": "P1",
                                "datatype": "time",
                                "datavalue": {
                                    "type": "time",
                                    "value": {
                                        "time": "+1815-12-10T00:00:00Z",
                                        "precision": 11,
                                        "timezone": 0,
                                        "before": 0,
                                        "after": 0,
                                        "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
                                    },
                                },
                            },
                        }
                    ]
                },
            }
        ],
        indent=None,
    ).encode(),
}
PACK = (lambda data: data, lambda data: data, gzip.compress, bz2.compress, lzma.compress)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    suffix = draw(st.sampled_from(sorted(SEEDS)))
    data = draw(st.one_of(mutated(SEEDS[suffix]), mutated(*SEEDS.values())))
    packed = draw(st.sampled_from(PACK))(data)
    return suffix, draw(mutated(packed)) if packed != data and draw(st.booleans()) else packed


@given(
    file=files(),
    kind=st.sampled_from(["skos", "rdf", "wikibase"]),
    base=st.one_of(st.none(), st.just("http://t.example/"), texts),
    name=st.one_of(st.just("it"), texts),
)
@case("imports")
def test_imports(
    folder: Path, file: tuple[str, bytes], kind: str, base: str | None, name: str
) -> None:
    path = folder / f"it{file[0]}"
    path.write_bytes(file[1])
    with graph() as kg:
        before = evidence(kg)
        try:
            report = kg.import_graph(path, kind, embed=False, name=name, base_iri=base)
        except (InputError, UsageError) as error:
            assert not kg.imports(), error
        else:
            assert kg.imports()[0].state == "complete"
            assert report.triples > 0
            kg.forget_import(report.name)
        assert_sound(kg, before)


@cache
def exported() -> tuple[bytes, bytes]:
    with graph() as kg:
        made = []
        for format_ in ("trig", "nquads"):
            buffer = io.BytesIO()
            kg.export(format_, buffer)
            made.append(buffer.getvalue())
    return made[0], made[1]


@given(edited=st.deferred(lambda: mutated(*exported())), suffix=st.sampled_from([".trig", ".nq"]))
@case("restores")
def test_restores(folder: Path, edited: bytes, suffix: str) -> None:
    path = folder / f"export{suffix}"
    path.write_bytes(edited)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        try:
            kg.restore(path, embed=False)
        except (InputError, UsageError) as error:
            assert not quads(kg), error
        else:
            kg.validate()


TABLE = (
    b'#mapping_set_id: "https://e.example/m"\n#license: "https://w3id.org/sssom/license/unspecified"\n'
    b'#curie_map:\n#  t: "https://t.example/"\n#  kg: "https://example.org/kg/entity/"\nsubject_id\t'
    b"predicate_id\tobject_id\tmapping_justification\tconfidence\tmapping_date\n"
    b"kg:E-1\tskos:exactMatch\tt:1\tsemapv:ManualMappingCuration\t0.9\t2026-01-31\n"
    b"kg:E-2\tskos:closeMatch\t<urn:a:b>\tsemapv:LexicalMatching\t\t\n"
)


@given(data=mutated(TABLE))
@case("tables")
def test_tables_of_links(folder: Path, data: bytes) -> None:
    path = folder / "links.sssom.tsv"
    path.write_bytes(data)
    try:
        rows = read_table(path)
    except InputError as error:
        assert str(error)
        return
    with graph() as kg:
        before = evidence(kg)
        with suppress(InputError):
            kg.links.accept(path, elsewhere=True)
        kg.links.accept(rows)
        kg.links.mappings()
        assert before <= quads(kg)
        kg.validate()
        if any(row.is_link for row in rows):
            kg.links.undo(path)
        assert_sound(kg, before)


RemainingEvidence = tuple[Path, dict[str, bytes], list[str]]


@pytest.fixture(scope="module")
def kept(folder: Path) -> RemainingEvidence:
    """A graph in a folder, and its caches."""
    made = make_graph(folder / "kg")
    with sarag_rdf.open(made, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.search("Who founded Orbis?")
        expected = _without_caches(kg)
    caches = {name: data for name, data in files_of(made / "cache").items() if data is not None}
    return made, caches, expected


@given(
    place=st.integers(0, 1000), edit=edits, whole=st.sampled_from([None, b"", b"SQLite format 3\0"])
)
@case("caches")
def test_caches(kept: RemainingEvidence, place: int, edit: Edits, whole: bytes | None) -> None:
    """A cache may hold anything: the answer is the same as without it."""
    kg_folder, caches, expected = kept
    shutil.rmtree(kg_folder / "cache")
    vector_store.forget_verified()
    for name, content in caches.items():
        path = kg_folder / "cache" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    name = sorted(caches)[place % len(caches)]
    (kg_folder / "cache" / name).write_bytes(edited(caches[name] if whole is None else whole, edit))
    with sarag_rdf.open(kg_folder, embedder=HashEmbedder(), endpoint=None) as kg:
        found = [d.document.iri for d in kg.search("Who founded Orbis?").documents]
        assert found == expected


def _without_caches(kg: KnowledgeGraph) -> list[str]:
    buffer = io.BytesIO()
    kg.export("nquads", buffer)
    with (
        tempfile.TemporaryDirectory() as name,
        sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as memory,
    ):
        path = Path(name, "kg.nq")
        path.write_bytes(buffer.getvalue())
        memory.restore(path, embed=False)
        return [d.document.iri for d in memory.search("Who founded Orbis?").documents]


DEEP = 100_000
DEEP_FILES = {
    "terms.ttl": b"<urn:a> <urn:p> "
    + b"<<( <urn:a> <urn:p> " * DEEP
    + b"1"
    + b" )>>" * DEEP
    + b" .",
    "terms.nt": b"<urn:a> <urn:p> "
    + b"<<( <urn:a> <urn:p> " * DEEP
    + b"<urn:a>"
    + b" )>>" * DEEP
    + b" .",
    "nodes.ttl": b"<urn:a> <urn:p> " + b"[ <urn:p> " * DEEP + b"1" + b" ]" * DEEP + b" .",
    "tree.jsonld": b'{"urn:p":' * DEEP + b"1" + b"}" * DEEP,
    "dump.json": b"[" * DEEP,
    "dump2.json": b'{"entities":' * DEEP,
}


@pytest.mark.parametrize("kind", ["rdf", "wikibase"])
@pytest.mark.parametrize("name", DEEP_FILES)
def test_files_that_are_too_deep(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(DEEP_FILES[name])
    with graph() as kg:
        before = evidence(kg)
        with pytest.raises(SaragError) as caught:
            kg.import_graph(path, kind, embed=False)
        assert is_line(str(caught.value))
        assert_sound(kg, before)


def test_a_header_that_is_too_deep(tmp_path: Path) -> None:
    path = tmp_path / "deep.tsv"
    path.write_bytes(b"#curie_map: " + b"[" * DEEP + b"\n" + TABLE)
    with pytest.raises(InputError, match="YAML"):
        read_table(path)
