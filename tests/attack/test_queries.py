"""SPARQL that ends the process of an engine: one line, wherever it nests."""

from __future__ import annotations

import json
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest

from sarag_rdf.base.errors import QueryError
from sarag_rdf.graph.store.sparql_syntax import (
    SAFE_LENGTH,
    STACK,
    check_size,
    tokens,
    try_query,
    undeclared_prefixes,
)
from tests.command import environment, run_sarag
from tests.fuzz.hostile import graph
from tests.sample_graph import make_graph

REPEATED: dict[str, Callable[[int], str]] = {
    "groups in groups": lambda n: "SELECT * " + "{" * n + "}" * n,
    "groups": lambda n: "ASK{" + "{}" * n + "}",
    "parentheses": lambda n: "ASK{FILTER" + "(" * n + "1" + ")" * n + "}",
    "nodes": lambda n: "ASK{?s ?p " + "[?p " * n + "1" + "]" * n + "}",
    "lists": lambda n: "ASK{?s ?p " + "(" * n + "1" + ")" * n + "}",
    "items": lambda n: "ASK{?s ?p (" + "1 " * n + ")}",
    "negations": lambda n: "ASK{FILTER(" + "!" * n + "1)}",
    "negations in parentheses": lambda n: (
        "ASK{FILTER(" + ("!" * (n // 20) + "(") * 20 + "1" + ")" * 21 + "}"
    ),
    "negations behind less than": lambda n: "ASK{FILTER(1<" + "!" * n + "1>2)}",
    "sums": lambda n: "ASK{FILTER(1" + "+1" * n + ")}",
    "disjunctions": lambda n: "ASK{FILTER(?x" + "||?x" * n + ")}",
    "comparisons": lambda n: "ASK{FILTER(1" + "=(1" * n + ")" * n + ")}",
    "functions": lambda n: "ASK{FILTER(" + "STR(" * n + "1" + ")" * n + ")}",
    "conditions": lambda n: "ASK{FILTER(" + "IF(1,1," * n + "1" + ")" * n + ")}",
    "sets": lambda n: "ASK{FILTER(" + "1IN(" * n + "1" + ")" * n + ")}",
    "arguments": lambda n: "ASK{FILTER(CONCAT(" + "1," * n + "1))}",
    "optionals": lambda n: "ASK{" + "OPTIONAL{}" * n + "}",
    "optionals in optionals": lambda n: "ASK{" + "OPTIONAL{" * n + "}" * n + "}",
    "unions": lambda n: "ASK{" + "{}UNION" * n + "{}}",
    "differences": lambda n: "ASK{" + "MINUS{}" * n + "}",
    "filters": lambda n: "ASK{" + "FILTER(1)" * n + "}",
    "existence": lambda n: "ASK{" + "FILTER EXISTS{" * n + "}" * n + "}",
    "bindings": lambda n: "ASK{" + "".join(f"BIND(1 AS?x{i})" for i in range(n)) + "}",
    "tables": lambda n: "ASK{" + "VALUES?x{}" * n + "}",
    "subqueries": lambda n: "ASK" + "{SELECT*" * n + "{}" + "}" * n,
    "graphs": lambda n: "ASK{" + "GRAPH?g{" * n + "}" * n + "}",
    "laterals": lambda n: "ASK{" + "LATERAL{" * n + "}" * n + "}",
    "alternatives": lambda n: "ASK{?s " + "a|" * n + "a ?o}",
    "sequences": lambda n: "ASK{?s " + "a/" * n + "a ?o}",
    "paths": lambda n: "ASK{?s " + "(" * n + "a" + ")*" * n + " ?o}",
    "inverses": lambda n: "ASK{?s " + "^(" * n + "a" + ")" * n + " ?o}",
    "patterns": lambda n: "ASK{" + "?s?p?o." * n + "}",
    "reified triples": lambda n: "ASK{" + "<<?a ?b " * n + "1" + ">>" * n + " ?p ?o}",
    "triple terms": lambda n: "ASK{?s ?p " + "<<(?a ?b " * n + "1" + ")>>" * n + "}",
    "annotations": lambda n: "ASK{?s ?p ?o " + "{|?p ?o " * n + "|}" * n + "}",
    "expressions": lambda n: "SELECT " + "".join(f"(1AS?x{i})" for i in range(n)) + "{}",
    "prefixes": lambda n: "".join(f"PREFIX p{i}:<a:>" for i in range(n)) + "ASK{}",
    "sort keys": lambda n: "SELECT*{}ORDER BY " + "?s" * n,
    "groups in a name": lambda n: "PREFIX e:<a:>ASK{?s e:\\#" + "{" * n + "}" * n + "}",
}
"""Everything in SPARQL that repeats or nests, so many times."""
_TRY = """
import json, sys, threading
import pyoxigraph as ox

def work():
    for name, text in json.load(sys.stdin).items():
        print(name, flush=True)
        try:
            ox.Store().query(text)
        except (SyntaxError, ValueError, RuntimeError):
            pass

threading.stack_size(int(sys.argv[1]))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def passes(text: str) -> bool:
    try:
        check_size(text)
    except QueryError:
        return False
    return True


def test_no_text_that_is_run_untried_takes_half_of_a_stack() -> None:
    texts = {}
    for name, repeated in REPEATED.items():
        sizes = range(1, SAFE_LENGTH)
        most = bisect_right(sizes, SAFE_LENGTH, key=lambda n: len(repeated(n)))
        allowed = [repeated(n) for n in (most, 95, 70, 40) if n <= most]
        texts[name] = next(text for text in allowed if passes(text))
    done = subprocess.run(
        [sys.executable, "-c", _TRY, str(STACK)],
        env=environment(),
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout.splitlines()[-1]
    assert done.stdout.splitlines() == list(REPEATED)


@pytest.mark.parametrize("name", REPEATED)
def test_long_texts_are_refused_or_answered(name: str) -> None:
    """In this very process, which would end otherwise."""
    with graph() as kg:
        try:
            assert kg.query(REPEATED[name](20_000)) is not None
        except QueryError as error:
            assert "split it into several" in str(error) or "does not parse" in str(error)


def test_what_the_limits_do_not_see_ends_a_child_alone() -> None:
    text = REPEATED["negations behind less than"](100_000)
    assert passes(text)
    with graph() as kg, pytest.raises(QueryError, match=r"crashed its parser \(SIG"):
        kg.query(text)


def test_the_command_ends_with_one_line(tmp_path: Path) -> None:
    make_graph(tmp_path / "kg")
    (tmp_path / "deep.rq").write_text(REPEATED["negations behind less than"](100_000))
    done = run_sarag("query", "--file", "deep.rq", cwd=tmp_path)
    done.fails(1, "the SPARQL crashed its parser")


def test_trying_a_query_does_not_reach_the_network() -> None:
    """The engine refuses this port by name, if it comes to open a connection."""
    call = "SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }"
    traits = try_query(f"ASK {{ {call} }}")
    assert traits.reaches_network
    long = f"SELECT * {{ {call} }} # {'-' * SAFE_LENGTH}"
    with graph() as kg, pytest.raises(QueryError, match="SERVICE, which sends requests"):
        kg.query(long)


def test_tokens_are_those_of_the_grammar() -> None:
    text = (
        "PREFIX e: <a:#> # {{{\nSELECT ?x { ?x e:\\#a\\,b%20.c '''it's''' , \"a\\\"{\"@en-GB , "
        "1.5e3 ; e:p. <<( _:b.c a :q )>> ^^ . }"
    )
    assert [token.text for token in tokens(text)] == [
        *("PREFIX", "e:", "<a:#>", "SELECT", "?x", "{", "?x", "e:\\#a\\,b%20.c", "'''it's'''"),
        *(",", '"a\\"{"', "@en-GB", ",", "1.5e3", ";", "e:p", ".", "<<(", "_:b.c", "a", ":q"),
        *(")>>", "^^", ".", "}"),
    ]


def test_tokens_take_time_that_grows_with_the_text() -> None:
    """Each character is looked at a bounded number of times: these would take hours otherwise."""
    for piece in ("\\'", '"', "'''", "<a", "a.a-", "e:.", "_:a.", "\\", "@", "1.1e"):
        assert list(tokens(piece * (200_000 // len(piece))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?x { ?x a ex:P }", "prefix ex: is not declared (line 1)"),
        ("PREFIX a: <a:>\nSELECT ?x {\n?x a:b :P }", "prefix : is not declared (line 3)"),
        ("ASK { ?s ?p 'x'^^mine:int } PREFIX mine: <a:>", "prefix mine: is not declared (line 1)"),
    ],
)
def test_a_prefix_that_is_not_declared(text: str, message: str) -> None:
    with graph() as kg, pytest.raises(QueryError) as caught:
        kg.query(text)
    assert str(caught.value) == f"the SPARQL query does not parse: {message}"


@pytest.mark.parametrize(
    "text", ["PREFIX ex: <a:> ASK { ex:a ex:b 'no:prefix' } # no:prefix", "ASK { <no:a> ?b ?c }"]
)
def test_prefixes_that_are_declared(text: str) -> None:
    assert undeclared_prefixes(text) == {}
