"""The patterns of a query in the order of its text, and the queries that are made from them."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.errors import QueryError
from sarag_rdf.base.ports import Table
from sarag_rdf.graph.store.query_outline import (
    MOST_SUGGESTED,
    QueryTerm,
    UnusedTerm,
    as_number,
    compact,
    count,
    group_of,
    nearest,
    outline_of,
    unused_terms,
)
from sarag_rdf.graph.store.sparql_syntax import SAFE_LENGTH, undeclared_prefixes
from sarag_rdf.plugins.evaluation.competency import first_without_solutions

PREFIX = "PREFIX ex: <http://example.org/> "
DATA = """
@prefix ex: <http://example.org/> .
ex:ada a ex:Person ; ex:name "Ada"@en ; ex:bornIn ex:linz ; ex:height 169 .
ex:ben a ex:Person ; ex:name "Ben"@en ; ex:bornIn ex:ulm .
ex:linz ex:liesOn ex:danube .
"""


def run(text: str) -> Any:
    store = ox.Store()
    store.load(DATA.encode(), format=ox.RdfFormat.TURTLE)
    result = store.query(text)
    if isinstance(result, ox.QueryBoolean):
        return bool(result)
    assert isinstance(result, ox.QuerySolutions)
    return Table(tuple(v.value for v in result.variables), [tuple(row) for row in result])


def patterns_of(body: str) -> list[str]:
    outline = outline_of(f"{PREFIX}SELECT * {{ {body} }}")
    return [compact(pattern.text, outline.prefixes) for pattern in outline.patterns]


def test_patterns_are_in_the_order_of_the_text() -> None:
    """rdflib's algebra would put the most selective pattern first."""
    assert patterns_of('?x ex:p ?y ; a ex:C . ?y ex:name "Ada"@en , 5 . [ ex:q ?x ] ex:r 1 .') == [
        "?x ex:p ?y",
        "?x a ex:C",
        '?y ex:name "Ada"@en',
        '?y ex:name "5"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "[] ex:q ?x",
        '[] ex:r "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("ex:p/ex:q*|^ex:r", "(ex:p|ex:q)/ex:r", "^(ex:p/ex:q)", "(^ex:p)*", "(ex:p/ex:q)+"),
        *("!(ex:p|ex:q)", "ex:p?/a", "^ex:p*", "(ex:p*)*", "^(ex:p|ex:q)/ex:r"),
    ],
)
def test_a_path_is_written_as_it_was(path: str) -> None:
    assert patterns_of(f"?x {path} ?y") == [f"?x {path} ?y"]


def test_where_a_pattern_is() -> None:
    outline = outline_of(
        f"""{PREFIX}SELECT ?x FROM ex:g FROM NAMED ex:n {{
          ?x ex:p1 ?y . {{ ?x ex:p2 ?y }} GRAPH ?g {{ ?x ex:p3 ?y }} OPTIONAL {{ ?x ex:o1 ?y }}
          {{ ?x ex:o2 ?y }} UNION {{ ?x ex:o3 ?y }} MINUS {{ ?x ex:o4 ?y }}
          FILTER NOT EXISTS {{ ?x ex:o5 ?y }} {{ SELECT ?x {{ ?x ex:o6 ?y }} }}
          SERVICE <http://other.example/> {{ ?x ex:s1 ?y }}
        }} VALUES ?x {{ ex:v }}"""
    )
    assert [p.predicate[-3:-1] for p in outline.required] == ["p1", "p2", "p3"]
    assert [p.predicate[-3:-1] for p in outline.patterns if not p.is_required] == [
        f"o{number}" for number in range(1, 7)
    ]
    assert [p.graph for p in outline.required] == ["", "", "?g"]
    assert (outline.form, outline.default_graphs) == ("SELECT", ("http://example.org/g",))
    assert outline.named_graphs == ("http://example.org/n",)
    assert outline.services == ("<http://other.example/>",)
    assert outline.values == ("http://example.org/v",)
    assert "s1" not in str(outline.terms)
    ox.Store().query(f"ASK {outline.dataset} {group_of(outline.required)}")
    ox.Store().query(count(outline, outline.required[2], 10))


def test_other_forms() -> None:
    assert outline_of("ASK { }").patterns == ()
    described = outline_of("DESCRIBE <http://example.org/ada>")
    assert (described.form, described.values) == ("DESCRIBE", ("http://example.org/ada",))
    constructed = outline_of("CONSTRUCT { ?x a ?z } WHERE { ?x ?y ?z }")
    assert [p.text for p in constructed.patterns] == ["?x ?y ?z"]
    assert len(outline_of("CONSTRUCT WHERE { ?x ?y ?z }").patterns) == 1


def test_terms_have_a_kind() -> None:
    outline = outline_of(
        f'{PREFIX}ASK {{ ex:ada a ex:Person ; ex:p/^ex:q ex:o , "Ada" . ?x ex:p 5 }}'
    )
    kinds = [(t.kind, compact(t.text, outline.prefixes)) for t in outline.terms]
    assert kinds[:5] == [
        ("entity", "ex:ada"),
        ("class", "ex:Person"),
        ("property", "ex:p"),
        ("property", "ex:q"),
        ("entity", "ex:o"),
    ]
    assert ("literal", '"Ada"') in kinds
    assert QueryTerm("literal", '"Ada"').iri == ""


def test_prefixes_are_those_of_the_query_alone() -> None:
    """rdflib knows more, and gives up a prefix when another one has the same namespace."""
    outline = outline_of(
        "PREFIX a: <http://example.org/> PREFIX b: <http://example.org/> ASK { a:x b:p ?y }"
    )
    assert outline.patterns[0].text == "<http://example.org/x> <http://example.org/p> ?y"
    with pytest.raises(QueryError, match="prefix foaf: is not declared"):
        outline_of("ASK { ?x foaf:knows ?y }")
    text = 'PREFIX a: <http://a/> ASK { ?x a:p b:o ; c:p "d:s" ; b:p <e:f> }'
    assert undeclared_prefixes(text) == {"b": 1, "c": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT", "does not parse: error at 1:7"),
        ("ASK { ?x <a:b> }", "does not parse: error at 1:16, unexpected: }"),
        ("SELECT * { <<?s ?p ?o>> ?a ?b }", "only SPARQL 1.1 can be analysed"),
        ("ASK { ?s !(^<a:b>) ?o }", "negated property set"),
        ("ASK { SERVICE ?s }", "cannot be analysed"),
        ("ASK {" * 101, "nests brackets more than 100 deep"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message.replace("(", r"\(")):
        outline_of(text)


def test_a_long_query_is_read_in_a_child_process() -> None:
    many = " . ".join(f"?x ex:{'p' * 100}{number} ?y" for number in range(30))
    text = f"{PREFIX}SELECT * {{ {many} }}"
    assert len(text) > SAFE_LENGTH
    assert len(outline_of(text).patterns) == 30
    more = " . ".join(f"?x ex:p{number} ?y{number}" for number in range(149))
    with pytest.raises(QueryError, match="too many triple patterns in one group"):
        outline_of(f"{PREFIX}SELECT * {{ {more} }}")


def test_patterns_are_counted_up_to_a_limit() -> None:
    outline = outline_of(f"{PREFIX}SELECT * {{ ?x a ex:Person . ?x ex:bornIn ?y }}")
    assert [as_number(run(count(outline, p, 10))) for p in outline.patterns] == [2, 2]
    assert as_number(run(count(outline, outline.patterns[0], 1))) == 1


def test_the_first_pattern_without_a_solution() -> None:
    """Ben was born in Ulm, of which the data do not say on which river it lies."""
    outline = outline_of(
        f"{PREFIX}SELECT * {{ ?p ex:bornIn ?c ; ex:name ?n . ?c ex:liesOn ?r . ?r ex:name ?m }}"
    )
    stop = first_without_solutions(outline, run, {})
    assert stop is not None
    assert compact(stop.text, outline.prefixes) == "?r ex:name ?m"
    stop = first_without_solutions(outline, run, {"n": 'STR(?n) = "Ben"'})
    assert stop is not None
    assert compact(stop.text, outline.prefixes) == "?c ex:liesOn ?r"
    short = outline_of(f"{PREFIX}SELECT * {{ ?p ex:bornIn ?c FILTER(1 = 2) }}")
    assert first_without_solutions(short, run, {}) is None


def test_terms_that_do_not_occur_are_named_with_a_suggestion() -> None:
    known = {
        "http://example.org/bornIn": ("property", ("place of birth",)),
        "http://example.org/Person": ("class", ("person",)),
        "http://example.org/River": ("class", ("river",)),
    }
    text = 'ASK { ?x a ex:Persona , ex:River ; ex:placeOfBirth ex:rome ; ex:name "Ada" , "Eva" }'
    assert unused_terms(outline_of(PREFIX + text), run, known) == (
        UnusedTerm(
            "class",
            "ex:Persona",
            "is not declared in any ontology of the graph",
            "ex:Person",
        ),
        UnusedTerm("class", "ex:River", "is declared, but never used"),
        UnusedTerm(
            "property",
            "ex:placeOfBirth",
            "is not declared in any ontology of the graph",
            "ex:bornIn",
        ),
        UnusedTerm("entity", "ex:rome", "is not in the graph"),
        UnusedTerm("literal", '"Ada"', "is not in the graph", '"Ada"@en'),
        UnusedTerm("literal", '"Eva"', "is not in the graph"),
    )


def test_properties_of_the_same_name_are_suggested_together() -> None:
    known = {
        f"http://example.org/{name}": ("property", ("was born",)) for name in ("c", "b", "a", "d")
    }
    found = nearest("http://other.example/wasBorn", "property", known)
    assert found == ["http://example.org/a", "http://example.org/b"][:MOST_SUGGESTED]
    assert nearest("http://other.example/wasBorn", "class", known) == []


def test_patterns_of_a_graph_stay_in_it() -> None:
    outline = outline_of("ASK { ?a ?b ?c . GRAPH ?g { ?a ?d ?e . ?a ?f ?h } ?c ?i ?j }")
    assert group_of(outline.patterns) == (
        "{ ?a ?b ?c . GRAPH ?g { ?a ?d ?e . ?a ?f ?h } ?c ?i ?j .  }"
    )


def test_paths_of_any_length_are_not_enumerated() -> None:
    """An engine may enumerate all paths of a large graph before it returns the first one."""
    outline = outline_of(
        f"{PREFIX}ASK {{ ?x ex:p+/^(ex:q|ex:r*) ?y . ?y ex:s* ex:z . ?x ex:t ?u }}"
    )
    first, _, third = outline.patterns
    assert compact(first.single.text, outline.prefixes) == "?x ex:p/^(ex:q|ex:r?) ?y"
    assert third.single is third
    assert "ex:p+" not in compact(count(outline, first, 10), outline.prefixes)
    asked: list[str] = []

    def note(text: str) -> bool:
        asked.append(compact(text, outline.prefixes))
        return True

    assert first_without_solutions(outline, note, {}) is None
    assert ["ex:p+" in text for text in asked] == [False, True, True]
    assert "ex:s* ex:z" in asked[1]
