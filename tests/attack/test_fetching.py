"""No file of somebody else has anything fetched, or another file opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Sarag
from tests.fault_server import playing, raw
from tests.sample_graph import make_graph

RML = """@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
<#m> rml:logicalSource [ rml:source "{url}" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "https://x.example/{{id}}" ; rr:class <https://x.example/T> ] ."""
YARRRML = """mappings:
  m:
    sources: [['{url}~csv']]
    s: https://x.example/$(id)
    po: [[a, https://x.example/T]]
"""
CSVW = '{{"@context": "http://www.w3.org/ns/csvw", "url": "{url}", "tableSchema": {{}}}}'
ONTOLOGY = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
<urn:o> a owl:Ontology ; owl:imports <{url}> . <urn:C> a owl:Class ."""
XML = """<!DOCTYPE x [<!ENTITY e SYSTEM "{url}">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="urn:a"><rdf:value>&e;</rdf:value></rdf:Description></rdf:RDF>"""
HTML = """<html><head><base href="{url}"><meta http-equiv="refresh" content="0;url={url}">
<link rel="stylesheet" href="{url}"><script src="{url}"></script></head>
<body><img src="{url}"><iframe src="{url}"></iframe><p>Ada knows Ulm.</p></body></html>"""
TABLE = ("import", "t.csv", "--as", "table", "--mapping")
CASES = {
    "m.ttl": (RML, TABLE),
    "m.yml": (YARRRML, TABLE),
    "m.json": (CSVW, TABLE),
    "o.ttl": (ONTOLOGY, ("ontology", "add")),
    "x.rdf": (XML, ("import", "--as", "rdf")),
    "c.jsonld": ('{{"@context": "{url}", "@id": "urn:a", "b": "c"}}', ("import", "--as", "rdf")),
    "p.html": (HTML, ("index", "--dry-run", "--extractor", "spacy")),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_fetched(sarag: Sarag, tmp_path: Path, name: str) -> None:
    make_graph(tmp_path / "kg")
    Path("t.csv").write_text("id\n1\n")
    text, command = CASES[name]
    with playing(raw(200, b"id\n1\n", Content_Type="text/csv")) as server:
        for url in (f"{server.root}/t.csv", (tmp_path / "secret.csv").as_uri()):
            Path(name).write_text(text.format(url=url))
            done = sarag(*command, name, "--kg", "kg")
            assert "Traceback" not in done.err, done
        assert server.requests == []


@pytest.mark.parametrize("name", ["m.ttl", "m.yml"])
def test_a_mapping_opens_no_other_file(sarag: Sarag, tmp_path: Path, name: str) -> None:
    """The path of its source is compared with the name of the table, and that is all."""
    make_graph(tmp_path / "kg")
    Path("t.csv").write_text("id\n1\n")
    text, command = CASES[name]
    sources = {
        "../../t.csv": "no labels found",  # of the table t.csv that is imported
        "/etc/passwd": "but the table is 't.csv'",
        "http://127.0.0.1:9/t.csv": "a mapping reads the imported table only",
    }
    for source, complaint in sources.items():
        Path(name).write_text(text.format(url=source))
        sarag(*command, name, "--kg", "kg", "--name", "x").fails(1, complaint)
