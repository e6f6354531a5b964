"""No query reaches the network unseen, whatever it is dressed up as."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sarag_rdf.base.errors import QueryError
from sarag_rdf.graph.store.sparql_syntax import QueryTraits, inspect_query, refuse_network

# Oxigraph's own client refuses this port before it opens a connection.
URL = "<http://127.0.0.1:9/>"
CALL = f"SERVICE {URL} {{ ?s ?p ?o }}"

PLAIN = {
    "plain": f"SELECT * {{ {CALL} }}",
    "lower case": f"SELECT * {{ {CALL.replace('SERVICE', 'sErViCe')} }}",
    "silent": f"SELECT * {{ {CALL.replace('SERVICE', 'SERVICE SILENT')} }}",
    "variable": f"SELECT * {{ VALUES ?x {{ {URL} }} SERVICE ?x {{ ?s ?p ?o }} }}",
    "subquery": f"SELECT * {{ {{ SELECT ?s {{ {CALL} }} }} }}",
    "exists": f"SELECT * {{ VALUES ?x {{ 1 }} FILTER EXISTS {{ {CALL} }} }}",
    "not exists in bind": f"SELECT * {{ BIND(NOT EXISTS {{ {CALL} }} AS ?x) }}",
    "exists in select": f"SELECT (EXISTS {{ {CALL} }} AS ?x) {{}}",
    "having": f"SELECT ?s {{ ?s ?p ?o }} GROUP BY ?s HAVING (EXISTS {{ {CALL} }})",
    "order": f"SELECT * {{ ?s ?p ?o }} ORDER BY (EXISTS {{ {CALL} }})",
    "optional": f"SELECT * {{ OPTIONAL {{ {CALL} }} }}",
    "union": f"SELECT * {{ {{}} UNION {{ {CALL} }} }}",
    "minus": f"SELECT * {{ ?s ?p ?o MINUS {{ {CALL} }} }}",
    "graph": f"SELECT * {{ GRAPH ?g {{ {CALL} }} }}",
    "service in service": f"SELECT * {{ SERVICE <http://example.org/> {{ {CALL} }} }}",
    "ask": f"ASK {{ {CALL} }}",
    "construct": f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {CALL} }}",
    "describe": f"DESCRIBE ?s WHERE {{ {CALL} }}",
    "no space": f"SELECT*{{SERVICE{URL}{{?s?p?o}}}}",
    "comment between": f"SELECT * {{ SERVICE # here\n {URL} {{ ?s ?p ?o }} }}",
    "after a hash in an IRI": f"SELECT * {{ <http://example.org/#> ?p ?o . {CALL} }}",
    "after an escaped quote": f"SELECT * {{ VALUES ?x {{ 'it\\'s' }} {CALL} VALUES ?y {{ '' }} }}",
    "after a long string": f"SELECT * {{ VALUES ?x {{ '''a''b''' }} {CALL} }}",
    "after an escaped backslash": f'SELECT * {{ VALUES ?x {{ "\\\\" }} {CALL} VALUES ?y {{""}} }}',
}

TWO_READINGS = {
    # Where rdflib expands an escape first, it sees one string from here to the next quote.
    "escaped quotes": f'SELECT * {{ VALUES ?x {{ "\\u0022 " }} {CALL} VALUES ?y {{" \\u0022"}} }}',
    "escaped comment": f'SELECT * {{ VALUES ?x {{ "\\u0022 }} }} \\u0023" }} {CALL} }}',
    "long escapes": f'SELECT * {{ VALUES ?x {{ "\\U00000022 }} }} \\u0023" }} {CALL} }}',
    "half an escape": f'SELECT * {{ #\\U000AVALUES ?x {{ "\n {CALL} #" }}\n }}',
    "escaped letter": f"SELECT * {{ \\u0053ERVICE {URL} {{ ?s ?p ?o }} }}",
    "escaped letters": f"SELECT * {{ S\\u0045RVIC\\U00000045 {URL} {{ ?s ?p ?o }} }}",
    # For Oxigraph this is one string; for whoever expands escapes first, it is a call.
    "escaped end of a string": f'SELECT * {{ VALUES ?x {{ "\\u0022 }} {CALL} #" }} }}',
    # A carriage return ends a comment.
    "carriage return": f"SELECT * {{ # nothing\r{CALL}\n }}",
    "keywords in a row": f"SELECT*{{SERVICESILENT{URL}{{?s?p?o}}}}",
    "number and keyword": f"SELECT*{{?s ?p 1SERVICE{URL}{{?s?p?o}}}}",
}

NEWER = {
    "version": f'VERSION "1.2" SELECT * {{ {CALL} }}',
    "lateral": f"SELECT * {{ {{}} LATERAL {{ {CALL} }} }}",
    "triple term": f"SELECT (<<( <a:a> <a:b> <a:c> )>> AS ?t) {{ {CALL} }}",
    "reified triple": f"SELECT * {{ << ?s ?p ?o >> ?q ?r . {CALL} }}",
    "annotation": f"SELECT * {{ ?s ?p ?o {{| ?q ?r |}} . {CALL} }}",
    "between less and greater": (
        'VERSION "1.2" SELECT*{VALUES ?x {' + URL + "}{FILTER(1<2)SERVICE?x{?s?p?o}FILTER(2>1)}}"
    ),
    "less and a comment": (
        'VERSION "1.2" SELECT*{VALUES ?x {' + URL + "}{FILTER(1<2)SERVICE?x#>\n{?s?p?o}}}"
    ),
    "behind a quote in what looks like an IRI": (
        "SELECT*{VALUES ?x {'a'}FILTER(1<2&&?x!='>')SERVICE" + URL + "{?s?p?o}FILTER(?x='a')}"
    ),
    "between quotes in comments": f"VERSION '1.2' SELECT * {{ #'''\n {CALL} #'''\n }}",
    "carriage return too": f"VERSION '1.2' SELECT * {{ # nothing\r{CALL}\n }}",
}

REACHING = PLAIN | TWO_READINGS | NEWER


@pytest.mark.parametrize("name", REACHING)
def test_a_query_that_reaches_out_is_refused(name: str) -> None:
    traits = inspect_query(REACHING[name])
    assert traits.reaches_network
    with pytest.raises(QueryError, match="SERVICE, which sends requests to other servers: "):
        refuse_network(traits)


HARMLESS = {
    "nothing": "SELECT * { ?s ?p ?o }",
    "string": "SELECT * { ?s ?p 'SERVICE <http://127.0.0.1:9/> {}' }",
    "long string": 'SELECT * { ?s ?p """\nSERVICE <http://127.0.0.1:9/> {}\n""" }',
    "escaped string": "SELECT * { ?s ?p 'caf\\u00E9' }",
    "escape of a quote": 'SELECT * { ?s ?p "SERVI", "\\u0041" }',
    "IRI": "SELECT * { ?s ?p <http://example.org/SERVICE> }",
    "comment": "SELECT * { ?s ?p ?o # SERVICE <http://127.0.0.1:9/> {}\n }",
    "variable": "SELECT ?service { ?service ?p ?o }",
    "prefix": "PREFIX service: <http://example.org/> SELECT * { ?s service:SERVICE ?o }",
    "newer syntax": "SELECT * { << ?s ?p ?o >> ?q ?r }",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_query_that_stays_here_may_run(name: str) -> None:
    traits = inspect_query(HARMLESS[name])
    assert traits == QueryTraits(names_dataset=False, reaches_network=False)
    refuse_network(traits)
    ox.Store().query(HARMLESS[name])


@pytest.mark.parametrize(
    ("text", "names_dataset"),
    [
        ("SELECT * FROM <http://example.org/g> { ?s ?p ?o }", True),
        ("SELECT * FROM NAMED <http://example.org/g> { GRAPH ?g { ?s ?p ?o } }", True),
        ("ASK from <http://example.org/g> { ?s ?p ?o }", True),
        ("VERSION '1.2' SELECT * FROM <http://example.org/g> { ?s ?p ?o }", True),
        ("SELECT ?from { ?from ?p 'FROM <http://example.org/g>' } # FROM <a:b>", False),
        ("VERSION '1.2' SELECT * { ?s ?p 'it came FROM' } # FROM", False),
        ("VERSION '1.2' SELECT * { ?s ?p <http://example.org/from#> }", False),
    ],
)
def test_a_query_that_names_its_data_set(text: str, names_dataset: bool) -> None:
    assert inspect_query(text).names_dataset is names_dataset
    ox.Store().query(text)


def test_a_text_that_is_no_query_is_left_to_oxigraph() -> None:
    assert inspect_query("what is this?") == QueryTraits(False, False)
    assert inspect_query("") == QueryTraits(False, False)


# ----------------------------------------------------------------- Against Oxigraph itself

PIECES = (
    '"', "'", '"""', "'''", "#", " ", "\r", "\n", "<", ">", "{", "}", "(", ")", "@en", "^^", ".",
    ";", "\\", "\\u0022", "\\u0023", "\\u000A", "\\U0022", "\\U00000022", "\\u0027", '\\"', "\\\\",
    "x", "VALUES ?x {", "FILTER(1<2)", "<http://example.org/#>",
)  # fmt: skip
junk = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
quoted = st.builds(
    lambda quote, text: f" VALUES ?x {{ {quote}{text}{quote} }} ",
    st.sampled_from(["'", '"', "'''", '"""']),
    junk,
)
commented = st.builds(lambda text, end: f" #{text}{end}", junk, st.sampled_from("\r\n"))
compared = st.sampled_from(["FILTER(1<2&&?x!='>')", "FILTER(1<2)#>'''\n", "FILTER(?x<a:b)#>'\n"])
around = st.lists(st.one_of(quoted, commented, compared), max_size=3).map("".join)


def run(text: str) -> None:
    """Run a SELECT query to its end."""
    result = ox.Store().query(text)
    assert isinstance(result, ox.QuerySolutions)
    for _ in result:
        pass


@given(st.sampled_from(["", "VERSION '1.2' "]), around, around, st.sampled_from(["", "#\n}"]))
@example("", ' VALUES ?x { "\\u0022 " } ', ' VALUES ?y { " \\u0022" } ', "")
@example("", " #\r", "", "")
def test_what_oxigraph_takes_for_a_call_is_seen(
    version: str, before: str, after: str, end: str
) -> None:
    text = f"{version}SELECT * {{ {before} {CALL} {after} }}{end}"
    try:
        run(text)
        called = False
    except SyntaxError:
        called = False
    except OSError as error:
        called = "port 9" in str(error)
    assume(called)
    assert inspect_query(text).reaches_network


def test_oxigraph_does_call() -> None:
    """Else the test above could not fail."""
    with pytest.raises(OSError, match="port 9 is not allowed"):
        run(PLAIN["plain"])
