"""Queries of plain-word patterns, as models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.plugins.papers.sparql_grounded import PatternError, parse_patterns


@pytest.mark.parametrize(
    ("text", "select", "patterns"),
    [
        (
            'SELECT ?answer WHERE { ?x name "Lake Orrin" . ?x flowsInto ?y . ?y joins ?answer . }',
            "answer",
            ["Lake Orrin | flows into | ?y", "?y | joins | ?answer"],
        ),
        (
            'SELECT ?a WHERE { "Tor, Wenna" "part of" ?r . ?r "lies in" ?a }',
            "a",
            ["Tor, Wenna | part of | ?r", "?r | lies in | ?a"],
        ),
        (
            'SELECT ?a WHERE { ?p rdfs:label "J. R. Smith"@en ; :bornIn ?a }',
            "a",
            ["J. R. Smith | born in | ?a"],
        ),
        ("SELECT ?answer WHERE { ?x born in ?answer }", "answer", ["?x | born in | ?answer"]),
        ('?x wife_of "Bo \\"B\\" Lee" . ?x made ?answer', "answer",
         ['?x | wife of | Bo "B" Lee', "?x | made | ?answer"]),
        (
            "SELECT DISTINCT ?who { ?c <http://x.org/ns#leaderOf> ?who. ?c name 'Orle' }",
            "who",
            ["Orle | leader of | ?who"],
        ),
        ('SELECT ?z WHERE { ?a "is" ?b }', "b", ["?a | is | ?b"]),
        ('SELECT ?a WHERE { "Orle" length 12.5 . "Orle" "ends in" ?a }', "a",
         ["Orle | length | 12.5", "Orle | ends in | ?a"]),
    ],
)  # fmt: skip
def test_what_is_read(text: str, select: str, patterns: list[str]) -> None:
    query = parse_patterns(text)
    assert (query.select, [str(p) for p in query.patterns]) == (f"?{select}", patterns)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no pattern"),
        ("hello", "not a triple"),
        ("SELECT ?a WHERE { ?x ?p ?a }", "holds a variable"),
        ('SELECT ?a WHERE { "A" "knows" "B" }', "no variable"),
        ('SELECT ?a WHERE { ?a name "Ulm" }', "no pattern"),
        ('SELECT ?a WHERE { ?a "" "Ulm" }', "no predicate"),
    ],
)  # fmt: skip
def test_what_is_no_query_is_said(text: str, problem: str) -> None:
    with pytest.raises(PatternError, match=problem):
        parse_patterns(text)


@given(st.text(alphabet="?ab \"'.;{}<>:#/\\_1", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        query = parse_patterns(text)
    except PatternError:
        return
    assert query.select in query.variables
    assert all(p.predicate and all(p.ends) for p in query.patterns)


def test_only_the_first_distinct_patterns_count() -> None:
    body = "".join(f'?a knows ?b . ?b "likes {n}" ?c . ' for n in range(9))
    query = parse_patterns(f"SELECT ?a WHERE {{ {body} }}")
    assert [p.predicate for p in query.patterns] == ["knows", "likes 0", "likes 1", "likes 2"]
