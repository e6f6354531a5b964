"""The GraphStore over Oxigraph: what the port promises, in a folder and in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import NotAGraphError, QueryError, StoreError, StoreLockedError
from sarag_rdf.base.ports import Change, GraphStore, Table, Triples
from sarag_rdf.graph.store.oxigraph import OxigraphStore

G, H = "http://example.org/g", "http://example.org/h"


def quad(name: str, graph: str = G, value: Literal | None = None) -> Quad:
    subject = NamedNode(f"http://example.org/{name}")
    return Quad(
        subject, NamedNode("http://example.org/p"), value or Literal(name), NamedNode(graph)
    )


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OxigraphStore]:
    memory = request.param == "memory"
    made = OxigraphStore.in_memory() if memory else OxigraphStore.create(tmp_path / "kg" / "store")
    yield made
    made.close()


def rows(store: GraphStore, text: str, *, union: bool = False) -> list[tuple[object, ...]]:
    result = store.query(text, union=union)
    assert isinstance(result, Table)
    return result.rows


# ------------------------------------------------------------------------------ Changes


def test_a_change_drops_then_deletes_then_inserts(store: OxigraphStore) -> None:
    port: GraphStore = store
    port.apply(Change(insert=(quad("a"), quad("b", H), quad("c", H))))
    port.apply(
        Change(
            drop=(G, "http://example.org/none"),
            delete=(quad("b", H), quad("d", H)),
            insert=(quad("a"), quad("d", H)),
        )
    )
    assert set(port.quads()) == {quad("a"), quad("c", H), quad("d", H)}
    # What is deleted and inserted in one change is there.
    port.apply(Change(delete=(quad("a"),), insert=(quad("a"),)))
    assert list(port.quads(G)) == [quad("a")]
    port.apply(Change())
    assert len(list(port.quads())) == 3


BLANK = Quad(ox.BlankNode(), NamedNode("http://example.org/p"), Literal("x"), NamedNode(G))


@pytest.mark.parametrize(
    "change",
    [
        Change(drop=(G,), delete=(BLANK,), insert=(quad("new"),)),
        Change(drop=(G, "no iri at all>"), insert=(quad("new"),)),
        Change(drop=("http://example.org/x> ; CLEAR ALL ; DROP SILENT GRAPH <no iri",)),
    ],
)
def test_a_change_that_fails_leaves_everything_as_it_was(
    store: OxigraphStore, change: Change
) -> None:
    store.apply(Change(insert=(quad("a"), quad("b", H))))
    with pytest.raises(StoreError):
        store.apply(change)
    assert set(store.quads()) == {quad("a"), quad("b", H)}


def test_an_operation_that_fails_while_it_runs_undoes_those_before_it() -> None:
    """What `apply` relies on: Oxigraph runs the operations of one update in one transaction."""
    store = ox.Store()
    store.add(quad("a"))
    text = (
        f"DROP SILENT GRAPH <{G}> ;"
        f"INSERT DATA {{ GRAPH <{H}> {{ {quad('b').triple} }} }} ; CREATE GRAPH <{H}>"
    )
    with pytest.raises((OSError, RuntimeError)):
        store.update(text)
    assert set(store) == {quad("a")}


texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\"'\\{}<>\r\n"))
)
languages = st.sampled_from(["en", "de-AT", "zh-Hant"])
values = st.one_of(
    texts.map(Literal), st.builds(lambda text, tag: Literal(text, language=tag), texts, languages)
)


@given(st.lists(values, min_size=1, max_size=5))
def test_every_text_comes_back_as_it_was(found: list[Literal]) -> None:
    store = OxigraphStore.in_memory()
    quads = tuple(quad(str(number), value=value) for number, value in enumerate(found))
    store.apply(Change(insert=quads))
    assert set(store.quads()) == set(quads)
    store.apply(Change(delete=quads))
    assert list(store.quads()) == []


# ------------------------------------------------------------------------------ Queries


def test_the_three_kinds_of_results(store: OxigraphStore) -> None:
    store.apply(Change(insert=(quad("a"), quad("b", H))))
    select = "SELECT ?s ?none WHERE { GRAPH ?g { ?s ?p ?o } } ORDER BY ?s"
    assert store.query(select) == Table(
        ("s", "none"), [(quad("a").subject, None), (quad("b").subject, None)]
    )
    construct = store.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{G}> {{ ?s ?p ?o }} }}")
    assert construct == Triples([quad("a").triple])
    assert store.query("ASK { GRAPH ?g { ?s ?p 'a' } }") is True
    assert store.query("ASK { GRAPH ?g { ?s ?p 'z' } }") is False


def test_the_union_of_all_graphs_is_asked_for(store: OxigraphStore) -> None:
    store.apply(Change(insert=(quad("a"), quad("a", H), quad("b", H))))
    text = "SELECT DISTINCT ?s WHERE { ?s ?p ?o }"
    assert rows(store, text) == []
    assert len(rows(store, text, union=True)) == 2
    # Oxigraph finds a triple once for each graph that it stands in.
    assert len(rows(store, text.replace("DISTINCT ", ""), union=True)) == 3
    assert len(rows(store, f"SELECT ?s FROM <{G}> WHERE {{ ?s ?p ?o }}")) == 1


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT", QueryError, "does not parse"),
        ("SELECT * {\n ?s <a:b> }", QueryError, "does not parse: error at 2:11, unexpected: }$"),
        ("SELECT * { ?s a", QueryError, "error at 1:16, at the end of the line$"),
        ("INSERT DATA { <a:a> <a:a> <a:a> }", QueryError, "does not parse"),
        # Oxigraph's own client refuses this port: nothing is sent.
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", StoreError, "query failed"),
    ],
)
def test_queries_that_fail(
    store: OxigraphStore, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        store.query(text)


def test_a_result_can_be_read_in_another_thread(store: OxigraphStore) -> None:
    store.apply(Change(insert=tuple(quad(f"n{i}") for i in range(100))))
    found: list[Table | Triples | bool] = []

    def ask() -> None:
        found.append(store.query("SELECT ?s WHERE { GRAPH ?g { ?s ?p ?o } }"))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert isinstance(found[0], Table)
    assert len({row[0] for row in found[0].rows}) == 100


def test_quads_of_one_graph_and_of_all(store: OxigraphStore) -> None:
    store.apply(Change(insert=(quad("a"), quad("b", H))))
    assert list(store.quads(G)) == [quad("a")]
    assert set(store.quads()) == {quad("a"), quad("b", H)}
    assert list(store.quads("http://example.org/none")) == []


# ------------------------------------------------------------------- Opening and closing

USES: list[Callable[[OxigraphStore], object]] = [
    lambda store: store.query("ASK {}"),
    lambda store: store.apply(Change(insert=(quad("a"),))),
    lambda store: list(store.quads()),
]


@pytest.mark.parametrize("use", USES)
def test_a_closed_store_says_so(
    store: OxigraphStore, use: Callable[[OxigraphStore], object]
) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed: open it again"):
        use(store)


def test_what_was_written_is_there_after_closing(tmp_path: Path) -> None:
    folder = tmp_path / "kg" / "store"
    store = OxigraphStore.create(folder)
    store.apply(Change(insert=(quad("a"),)))
    store.close()
    for open_again in (OxigraphStore.open, OxigraphStore.create):
        again = open_again(folder)
        assert list(again.quads()) == [quad("a")]
        again.close()


def test_a_graph_that_is_read_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "kg" / "store"
    OxigraphStore.create(folder).close()
    store = OxigraphStore.open(folder)
    with pytest.raises(StoreError, match="opened read-only"):
        store.apply(Change(insert=(quad("a"),)))
    store.apply(Change())
    assert list(store.quads()) == []


def test_one_writes_and_others_read_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "kg" / "store"
    writer = OxigraphStore.create(folder)
    writer.apply(Change(insert=(quad("a"),)))
    with pytest.raises(
        StoreLockedError, match=f"{folder.parent} is locked by this process itself:"
    ):
        OxigraphStore.create(folder)
    reader = OxigraphStore.open(folder)
    writer.apply(Change(drop=(G,), insert=(quad("b"),)))
    assert list(reader.quads()) == [quad("a")]
    reader.close()
    later = OxigraphStore.open(folder)
    assert list(later.quads()) == [quad("b")]
    later.close()
    writer.close()
    OxigraphStore.create(folder).close()


def test_folders_without_a_graph(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine", encoding="utf-8")
    for name in ("missing", "empty", "other"):
        with pytest.raises(NotAGraphError, match=f"no graph in {tmp_path}"):
            OxigraphStore.open(tmp_path / name)
    assert {path.name for path in tmp_path.rglob("*")} == {"empty", "other", "notes.txt"}


def test_places_where_no_graph_can_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for folder in (file, file / "store"):
        with pytest.raises(StoreError, match="cannot create folder"):
            OxigraphStore.create(folder)
        with pytest.raises(StoreError):
            OxigraphStore.open(folder)
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_damaged_store_is_an_error_of_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "kg" / "store"
    OxigraphStore.create(folder).close()
    (folder / "CURRENT").write_text("garbage", encoding="utf-8")
    for open_it in (OxigraphStore.open, OxigraphStore.create):
        with pytest.raises(StoreError, match=r"cannot open the graph in .*: Corruption"):
            open_it(folder)
