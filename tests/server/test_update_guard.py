"""What an update may do is told before it runs; a data set can be given to it."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from sarag_rdf.base.errors import QueryError
from sarag_rdf.plugins.http_writes.update_guard import inspect_update, with_dataset

B = "http://b.example/"


@pytest.mark.parametrize(
    ("text", "graphs"),
    [
        ("INSERT DATA { GRAPH <x> { <s> <p> 1 } }", {B + "x"}),
        ("BASE <http://c/> DELETE DATA { GRAPH <x> { <s> <p> 1 } }", {"http://c/x"}),
        ("PREFIX c: <http://c/> DROP SILENT GRAPH c:x", {"http://c/x"}),
        ("WITH <x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", {B + "x"}),
        ("COPY <x> TO <y> ; MOVE <z> TO DEFAULT", {B + "x", B + "y", B + "z"}),
        ("LOAD <x> INTO GRAPH <y>", {B + "y"}),
        ("CREATE GRAPH <x>", {B + "x"}),
        ("CLEAR ALL", None),
        ("DROP NAMED", None),
        ("INSERT { GRAPH ?g { <s> <p> 1 } } WHERE { GRAPH ?g { ?s ?p ?o } }", None),
        ("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", None),
        ("CLEAR DEFAULT", set()),
        ("", set()),
        ("PREFIX c: <http://c/>", set()),
        ("INSERT DATA { GRAPH <x\\u0079> { <s> <p> 1 } }", {B + "xy", B + "xx"}),
    ],
)
def test_graphs_that_are_written_to(text: str, graphs: set[str] | None) -> None:
    assert inspect_update(text, B).graphs == graphs


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("INSERT DATA { <s> <p> 1 }", True),
        ("DELETE WHERE { ?s ?p ?o }", True),
        ("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { ?s ?p ?o }", True),
        ("DELETE { GRAPH ?g { ?s ?p ?o } } USING <x> WHERE { ?s ?p ?o }", False),
        ("WITH <x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", False),
        ("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }", False),
        (
            "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } "
            "FILTER NOT EXISTS { ?s <p> ?q } }",
            True,
        ),
        ("LOAD <x>", True),
        ("ADD DEFAULT TO <x>", True),
        ("CLEAR ALL", False),
    ],
)
def test_use_of_the_default_graph(text: str, uses: bool) -> None:
    assert inspect_update(text, B).uses_default is uses


@pytest.mark.parametrize(
    ("text", "service", "loads"),
    [
        ("INSERT { GRAPH <x> { ?s ?p ?o } } WHERE { SERVICE <y> { ?s ?p ?o } }", True, False),
        ("INSERT {} WHERE { FILTER EXISTS { SERVICE SILENT ?y {} } }", True, False),
        ("LOAD SILENT <x> INTO GRAPH <y>", False, True),
        ("CLEAR ALL ; LOAD <x>", False, True),
        (
            "INSERT DATA { GRAPH <x> { <SERVICE> <LOAD> 'LOAD <x> SERVICE' } } # LOAD <x>",
            False,
            False,
        ),
        ("CLEAR ALL # \r ; LOAD <x>", False, True),
        ("INSERT {} WHERE { BIND(1 < 2 AS ?a) SERVICE<y>{} }", True, False),
    ],
)
def test_what_reaches_the_network(text: str, service: bool, loads: bool) -> None:
    traits = inspect_update(text, B)
    assert (traits.uses_service, traits.loads) == (service, loads)


@pytest.mark.parametrize("text", ["CLEAR XYZ", "SELECT * {}", "INSERT DATA {", "\\u004COAD <x> ;;"])
def test_what_cannot_be_screened(text: str) -> None:
    with pytest.raises(QueryError, match="does not parse"):
        inspect_update(text, B)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { GRAPH <http://o> { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "insert{graph<http://o>{?s ?p ?o}}where{?s ?p ?o}",
        "PREFIX where: <http://w/> INSERT { GRAPH <http://o> { ?s ?p ?o } } # where {\n"
        "WHERE { ?s ?p ?o FILTER(?o < 9 && ?o > 0 || 'WHERE {' != \"}\") }",
        "CLEAR SILENT GRAPH <http://o> ; INSERT { GRAPH <http://o> { ?s ?p ?o } } WHERE "
        "{ SELECT * WHERE { ?s ?p ?o } } ;",
    ],
)
def test_the_data_set_of_the_protocol_is_used(text: str) -> None:
    store = ox.Store()
    store.update(
        "INSERT DATA { GRAPH <http://a> { <http://s> <http://p> 1 } "
        "GRAPH <http://b> { <http://s> <http://p> 2 } <http://s> <http://p> 3 }"
    )
    store.update(with_dataset(text, "USING <http://a>"))
    (found,) = store.quads_for_pattern(None, None, None, ox.NamedNode("http://o"))
    assert "1" in str(found.object)


def test_the_short_form_of_delete_takes_a_data_set() -> None:
    store = ox.Store()
    store.update(
        "INSERT DATA { GRAPH <http://a> { <http://s> <http://p> 1 } <http://s> <http://p> 1 }"
    )
    text = "DELETE WHERE { ?s ?p ?o } ; DELETE # all\nWHERE { GRAPH <http://z> { ?s ?p ?o } }"
    store.update(with_dataset(text, "USING <http://a>"))
    assert [quad.graph_name for quad in store] == [ox.NamedNode("http://a")]


def test_many_triples_are_looked_at_in_time_that_grows_with_them() -> None:
    lines = " ".join(f"<urn:s{number}> <urn:p> <urn:o> ." for number in range(3000))
    found = inspect_update(f"INSERT DATA {{ GRAPH <urn:g> {{ {lines} }} <urn:s> <urn:p> 1 }}", "")
    assert (found.graphs, found.uses_default) == (frozenset({"urn:g"}), True)
    none = inspect_update("INSERT DATA { GRAPH <urn:g> { } }", "")
    assert (none.graphs, none.uses_default) == (frozenset(), False)


def test_an_escaped_number_sign_begins_no_comment() -> None:
    """A reader that takes it for one misses the WHERE, and with it the data set."""
    store = ox.Store()
    a, b, one, two = map(ox.NamedNode, ("http://a", "http://b", "http://e/1#", "http://e/2"))
    store.extend([ox.Quad(one, two, one, a), ox.Quad(one, two, two, b)])
    text = "PREFIX e: <http://e/> DELETE { GRAPH <http://b> { e:1\\# ?p ?o } } WHERE { ?s ?p ?o }"
    store.update(with_dataset(text, "USING <http://a>"))
    assert len(list(store.quads_for_pattern(None, None, None, b))) == 1
