"""Two states of a store are compared exactly, whatever text led from one to the other."""

from __future__ import annotations

import random
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.plugins.http_writes.update_guard import is_plain
from sarag_rdf.plugins.http_writes.updates import Difference, compare, on_copy

GRAPHS = (None, "http://g/1", "http://g/2", "http://g/3")


def quad(number: int, graph: str | None) -> ox.Quad:
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    return ox.Quad(ox.NamedNode(f"http://s/{number}"), ox.NamedNode("http://p"), _ONE, name)


_ONE = ox.Literal("1")


def made(difference: Difference, old: set[ox.Quad]) -> set[ox.Quad]:
    """The quads that there are after a difference."""
    kept = {q for q in old if str(getattr(q.graph_name, "value", "")) not in difference.cleared}
    for quads in difference.deleted.values():
        assert quads <= kept
        kept -= quads
    for quads in difference.inserted.values():
        assert not quads & kept
        kept |= quads
    return kept


@pytest.mark.parametrize("seed", range(20))
def test_what_differs_leads_from_one_state_to_the_other(seed: int) -> None:
    chance = random.Random(seed)
    every = [quad(number, graph) for number in range(60) for graph in GRAPHS]
    old, new = ox.Store(), ox.Store()
    old.extend(chance.sample(every, chance.choice([0, 5, 100, 240])))
    new.extend(old)
    for one in chance.sample(every, chance.choice([0, 1, 10, 200])):
        new.remove(one)
    new.extend(chance.sample(every, chance.choice([0, 1, 10, 100])))
    if chance.random() < 0.5:
        new.clear_graph(ox.NamedNode("http://g/2"))
    if chance.random() < 0.5:
        new.remove_graph(ox.NamedNode("http://g/3"))
    difference = compare(old, new)
    assert made(difference, set(old)) == set(new)
    named = {g.value for g in old.named_graphs() if isinstance(g, ox.NamedNode)}
    after = {g.value for g in new.named_graphs() if isinstance(g, ox.NamedNode)}
    assert (named - difference.dropped) | difference.created == after


def test_only_the_graphs_that_are_named_are_looked_at() -> None:
    old, new = ox.Store(), ox.Store()
    new.extend([quad(1, "http://g/1"), quad(2, "http://g/2")])
    difference = compare(old, new, ["http://g/2"])
    assert difference.graphs == ["http://g/2"]
    assert difference.created == {"http://g/2"}


def test_a_working_copy_is_one_and_leaves_nothing(tmp_path: Path) -> None:
    store = OxigraphStore.create(tmp_path / "store")
    store.inner.extend([quad(1, "http://g/1")])

    def work(copy: ox.Store) -> tuple[set[ox.Quad], int, int]:
        before = set(copy)
        copy.update("CLEAR ALL")
        return before, len(copy), len(list(tmp_path.iterdir()))

    assert on_copy(store, tmp_path, work) == ({quad(1, "http://g/1")}, 0, 2)
    assert len(store.inner) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(
    "text",
    [
        "DROP GRAPH <http://g/1>",
        "PREFIX a: <http://g/> CLEAR GRAPH a:1 ; INSERT DATA { GRAPH a:2 { a:s a:p 'a\\n\"b' } }",
        'INSERT DATA { GRAPH <http://g/1> { <http://s> <http://p> "BASE <x> \\\\" } } # <y>',
        "WITH <http://g/1> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(?o < 3 && ?o > 1) }",
    ],
)
def test_texts_that_can_be_read_in_one_way(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "BASE <http://g/1#z> CLEAR GRAPH <>",
        "bAsE<http://g/>DROP GRAPH <1>",
        "CLEAR GRAPH <1>",
        "CLEAR GRAPH <//g/1>",
        "CLEAR GRAPH <http://g/x/../1>",
        "CLEAR GRAPH <http://g/./1>",
        "PREFIX a: <http://> CLEAR GRAPH a:g\\/1",
        "CLEAR GRAPH <http://g/\\u0031>",
        "INSERT DATA { GRAPH <http://g/1> { <http://s> <http://p> 'x\\u0027 } } CLEAR ALL' } }",
        "CLEAR GRAPH <http://g/\u00a0#> ; BASE <http://g/> CLEAR GRAPH <1>",
        "DROP GRAPH <http://g/1> ; BASE <http://g/> DROP GRAPH <http://g/2>",
        "INSERT DATA { GRAPH <http://g/1> { <http://s> <http://p> 'not closed } }",
    ],
)
def test_texts_that_are_compared_with_the_whole_graph(text: str) -> None:
    assert not is_plain(text)
