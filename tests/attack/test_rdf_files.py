"""RDF that crashes a parser, keeps it busy or expands: one line, and the graph is as before."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import InputError, RemoteStoreError
from sarag_rdf.graph.store.input_files import PlainXml
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import run_sarag
from tests.fault_server import playing, raw
from tests.fuzz.hostile import assert_sound, evidence, graph, is_line

DEEP = 100_000


def scoped(depth: int) -> str:
    inner = '{"t":{"@id":"urn:t","@context":' * depth + "{}" + "}}" * depth
    return f'{{"@context":{inner},"t":"x"}}'


def chained(count: int) -> str:
    prefixes = {f"p{n}": f"p{n - 1}:a" for n in range(1, count)}
    return json.dumps({"@context": {"p0": "urn:a:", **prefixes}, f"p{count - 1}:x": "y"})


FILES: dict[str, Callable[[], str]] = {
    "blank.ttl": lambda: "<urn:a> <urn:p> " + "<<( [] <urn:p> " * DEEP + "1" + " )>>" * DEEP + ".",
    "prefix.ttl": lambda: (
        "@prefix é: <urn:> . é:a é:p " + "<<( é:a é:p " * DEEP + "1" + " )>>" * DEEP + " ."
    ),
    "comment.ttl": lambda: (
        "<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> #>>>>\n" * DEEP + "1" + " )>>" * DEEP + " ."
    ),
    "terms.nt": lambda: (
        "<urn:a> <urn:p> " + "<<( <urn:a> <urn:p> " * DEEP + "<urn:a>" + " )>>" * DEEP + " ."
    ),
    "scoped.jsonld": lambda: scoped(20_000),
    "chained.jsonld": lambda: chained(20_000),
}
"""Files on each of which the parser runs out of stack."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_crashes_the_parser(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name](), "utf-8")
    with graph() as kg:
        before = evidence(kg)
        with pytest.raises(InputError, match=r"crashed its parser \(SIG\w+\)") as caught:
            kg.import_graph(path, "rdf", embed=False)
        assert is_line(str(caught.value))
        assert not kg.imports()
        assert_sound(kg, before)


def test_the_command_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "blank.ttl").write_text(FILES["blank.ttl"](), "utf-8")
    text = "<urn:a> <urn:b> <urn:c> <urn:g> .\n<urn:a> <urn:p> {} <urn:g> .\n"
    deep = "<<( <urn:a> <urn:p> " * DEEP + "<urn:a>" + " )>>" * DEEP
    (tmp_path / "backup.nq").write_text(text.format(deep), "utf-8")
    done = run_sarag("import", "blank.ttl", "--as", "rdf", "--no-vectors", cwd=tmp_path)
    done.fails(1, "blank.ttl crashed its parser")
    done = run_sarag("import", "backup.nq", "--as", "sarag", cwd=tmp_path)
    done.fails(1, "backup.nq crashed its parser")


def test_a_file_that_keeps_the_parser_busy(tmp_path: Path) -> None:
    path = tmp_path / "scoped.jsonld"
    path.write_text(scoped(2_000))
    with graph() as kg:
        with pytest.raises(InputError, match=r"took more than 2 seconds.*--max-seconds"):
            kg.import_graph(path, "rdf", embed=False, max_seconds=2)
        assert not kg.imports()


@pytest.mark.parametrize("depth", [100, 101])
def test_triple_terms_are_restored_to_a_depth(tmp_path: Path, depth: int) -> None:
    """What is stored is read by engines that call themselves for each triple term in another."""
    with graph() as kg:
        buffer = io.BytesIO()
        kg.export("nquads", buffer)
    deep = "<<( <urn:a> <urn:p> " * depth + "<urn:a>" + " )>>" * depth
    path = tmp_path / "backup.nq"
    path.write_bytes(buffer.getvalue() + f"<urn:a> <urn:p> {deep} <urn:g> .\n".encode())
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        if depth > 100:
            with pytest.raises(InputError, match="triple terms nested more than 100 deep"):
                kg.restore(path, embed=False)
        else:
            assert kg.restore(path, embed=False) > 10


# ------------------------------------------------------------------------------- XML


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:e="urn:e:">{}</rdf:RDF>'
)
LABELLED = RDF.format('<e:A rdf:about="urn:a"><rdfs:label>{}</rdfs:label></e:A>')
LONG = '<!ENTITY z "' + "a" * 1_000 + '">'
MANY = LABELLED.format("&z;" * 300_000)
BOMBS = {
    "many": f"<!DOCTYPE r [{LONG}]>{MANY}",
    "lower case": f"<!doctype r [{LONG}]>{MANY}",
    "behind a comment": f"<!-- <!DOCTYPE r []> --><!DOCTYPE r [{LONG}]>{MANY}",
    "in a comment too": f'<!DOCTYPE r [<!-- {LONG} --><!ENTITY z "{"a" * 500}">]>{MANY}',
    "two of them": f"<!DOCTYPE r []><!DOCTYPE r [{LONG}]>{MANY}",
    "behind blanks": f"{' ' * 70_000}<!DOCTYPE r [{LONG}]>{MANY}",
    "within": RDF.format(f"<!DOCTYPE r [{LONG}]>") + MANY,
    "in an attribute": f"<!DOCTYPE r [{LONG}]>"
    + RDF.format('<e:A rdf:about="urn:a" rdfs:label="' + "&z;" * 300_000 + '"/>'),
    "by default": f'<!DOCTYPE r [<!ATTLIST e:A rdfs:label CDATA "{"a" * 100_000}">]>'
    + RDF.format('<e:A rdf:about="urn:a"/>' * 3_000),
    "nested": "<!DOCTYPE r ["
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(9))
    + f"]>{LABELLED.format('&a8;')}",
    "behind a character": f'<!DOCTYPE r [{LONG}<!ENTITY y "{"&#38;z;" * 100}">]>'
    + LABELLED.format("&y;" * 1_000),
    "parameters": f'<!DOCTYPE r [<!ENTITY % p "{"a" * 1_000}">%p;]>{MANY}',
    "a file": f'<!DOCTYPE r [<!ENTITY z SYSTEM "file:///etc/passwd">]>{MANY}',
    "elsewhere": f'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/z.dtd">{MANY}',
    "UTF-16": f"<!DOCTYPE r [{LONG}]>{MANY}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_entities_that_expand_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.rdf"
    path.write_text(BOMBS[name], "utf-16" if name == "UTF-16" else "utf-8")
    with graph() as kg:
        before = evidence(kg)
        with pytest.raises(InputError, match=r"a\.rdf, line \d+, column \d+: ") as caught:
            kg.import_graph(path, "rdf", embed=False)
        assert is_line(str(caught.value))
        assert not kg.imports()
        assert_sound(kg, before)


def parsed(data: bytes) -> set[ox.Quad]:
    stream = PlainXml(io.BytesIO(data), "a.rdf")
    return set(ox.parse(input=stream, format=ox.RdfFormat.RDF_XML))  # type: ignore[arg-type]


def test_namespaces_as_entities_are_read_as_editors_write_them() -> None:
    short = (
        '<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [\n    <!ENTITY e "urn:e:" >\n'
        '    <!ENTITY ea "&e;a" >\n]>\n'
        + RDF.format(
            '<e:A rdf:about="&ea;">\n<!-- c --><e:p>&lt;&e;&amp;&#233;\n</e:p><?x y?>'
            '<e:q rdf:parseType="Literal"><e:b x="&quot;1&#10;">k&lt;</e:b></e:q></e:A>'
        )
    )
    full = short.partition("]>\n")[2].replace("&ea;", "urn:e:a").replace("&e;", "urn:e:")
    expected = set(ox.parse(full, format=ox.RdfFormat.RDF_XML))
    assert len(expected) == 3
    assert parsed(short.encode()) == parsed(full.encode()) == expected


def test_an_entity_that_is_declared_twice_is_refused() -> None:
    """Its first declaration counts in XML, and its last one for the RDF parser."""
    twice = '<!DOCTYPE r [<!ENTITY e "Ada"><!ENTITY e "Eve">]>'
    with pytest.raises(InputError, match=r"an entity is declared twice \(e\): remove one"):
        parsed((twice + LABELLED.format("&e;")).encode())
    once = '<!DOCTYPE r [<!-- <!ENTITY e "Eve"> -->\n<!ELEMENT r ANY> <?x y?><!ENTITY e "Ada">]>'
    assert len(parsed((once + LABELLED.format("&e;")).encode())) == 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_xml_may_have(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>' + LABELLED.format("é" * 50_000)
    (label,) = (q.object for q in parsed(text.encode(encoding)) if isinstance(q.object, ox.Literal))
    assert label.value == "é" * 50_000


@pytest.mark.parametrize("encoding", ["zlib_codec", "rot13", "base64", "no-such"])
def test_encodings_that_are_none(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + LABELLED.format("Ada")
    with pytest.raises(InputError, match="invalid XML"):
        parsed(text.encode())


def test_a_long_head_without_a_declaration_passes_whole() -> None:
    text = f"<!--{' ' * 200_000}-->" + LABELLED.format("Ada")
    assert parsed(text.encode()) == set(ox.parse(text, format=ox.RdfFormat.RDF_XML))


@pytest.mark.parametrize(
    "inside", ["<!-- {} -->", "<![CDATA[{}]]>", "<?x {} ?>"], ids=["comment", "data", "instruction"]
)
def test_what_looks_like_a_declaration_declares_nothing(inside: str) -> None:
    """The RDF parser, too, takes what expat passes for what it is."""
    declaration = inside.format('<!DOCTYPE r [<!ENTITY z "a">]>')
    assert len(parsed(LABELLED.format(declaration).encode())) == 2
    with pytest.raises(InputError, match="undefined entity"):
        parsed(LABELLED.format(f"{declaration}&z;").encode())


def test_lines_are_counted_as_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.rdf"
    for head in ("", '<!DOCTYPE r [\n<!ENTITY o "urn:o">\n]>'):
        body = RDF.format('\n\n<e:A rdf:about="urn:a"/>\n<e:A rdf:about="not an IRI"/>\n')
        path.write_text(head + body)
        with graph() as kg, pytest.raises(InputError, match="IRI"):
            kg.import_graph(path, "rdf", embed=False)


# ------------------------------------------------------------------------------- Endpoints


CONSTRUCT = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
ROWS = "application/sparql-results+json"


def asked(body: bytes, media_type: str, query: str) -> None:
    with playing(raw(200, body, Content_Type=media_type)) as server:
        store = SparqlStore(SparqlEndpoint(f"{server.root}/query", timeout=30), backoff=0.001)
        with pytest.raises(RemoteStoreError) as caught:
            store.query(query)
        assert is_line(str(caught.value))


def test_triples_of_an_endpoint_that_crash_the_parser() -> None:
    asked(FILES["terms.nt"]().encode(), "application/n-triples", CONSTRUCT)
    asked(FILES["blank.ttl"]().encode(), "text/turtle", CONSTRUCT)


@pytest.mark.parametrize("depth", [101, 400, DEEP])
def test_terms_of_an_endpoint_that_are_too_deep(depth: int) -> None:
    term = (
        '{"type":"triple","value":{"subject":{"type":"uri","value":"urn:a"},'
        '"predicate":{"type":"uri","value":"urn:p"},"object":'
        * depth
        + '{"type":"uri","value":"urn:a"}'
        + "}}" * depth
    )
    body = f'{{"head":{{"vars":["s"]}},"results":{{"bindings":[{{"s":{term}}}]}}}}'
    asked(body.encode(), ROWS, "SELECT ?s WHERE { ?s ?p ?o }")
