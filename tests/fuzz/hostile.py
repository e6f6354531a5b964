"""What hostile input is made of, and what must hold of a graph that was given it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyoxigraph as ox
from hypothesis import strategies as st

import sarag_rdf
from sarag_rdf.base.iris import DEFAULT_BASE
from sarag_rdf.base.vocab import iri
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fuzz.cases import RAN
from tests.sample_graph import SOURCES, CapitalExtractor

PIECES = (
    *("\x00", "\x01", "\x07", "\x1b[31m", "\x7f", "\x85", "\x9f", "\r", "\r\n", "\n\n", "\t", " "),
    *("\ud800", "\udfff", "\udcff", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U0010ffff"),
    *("\u2028", "\u2029", "\u200f", "\u202e", "\u0301", "e\u0301", "\u00ad", "\u3000", "\u00a0"),
    *("👩‍🚀", "🦀", "𝒜", "ﷺ", "İ", "ß", "ſ", "ё", "漢字", "ירושלים", "नमस्ते", "ⅷ", "²", "٣"),
    *('"', "'", '"""', "'''", "\\", "\\u0000", "\\ud800", "\\U00110000", "`", "```", "~~~"),
    *("<", ">", "<a:b>", "<http://e.example/>", "</script>", "<!--", "-->", "]]>", "<![CDATA["),
    *("&amp;", "&#0;", "&#xD800;", "&bogus;", "<?xml version='1.1'?>", "<!DOCTYPE a [", "<svg>"),
    *("{", "}", "{{", "}}", "{%", "${x}", "%s", "%(x)s", "%00", "%2e%2e", "%", "[", "]", "(", ")"),
    *(
        "../",
        "..",
        ".",
        "/",
        "//",
        "~",
        "-",
        "--",
        "-rf",
        "#",
        "?",
        "?x",
        "$",
        "$x",
        ";",
        ":",
        "@en",
    ),
    *("_:b", "^^", "@prefix", "---", "...", "- ", "* ", "> ", "# ", "=", "==", ",", "|", "\\|"),
    *("null", "NaN", "Infinity", "-0", "1e400", "9" * 30, "0x", "true", "1.0", "-1", "1_0"),
    *("Ada", "Ulm", "Orbis", "The", "A", "a", "Ada founded Orbis.", "Mr. ", "U.S.", "J. R. "),
    *("x" * 300, "Xx " * 120, "\u0301" * 100, "A" * 10_001, "<b>" * 40, "[" * 60, "😀" * 70),
)
HOLY = tuple(SOURCES[:2])
"""What is in a graph before hostile input comes."""

texts = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(st.characters(), max_size=8)), max_size=10
).map("".join)
"""Texts that no syntax likes; lone surrogates too."""

encoded = st.one_of(
    texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    texts.map(lambda text: text.encode("utf-16", "surrogatepass")),
    texts.map(lambda text: text.encode("latin-1", "replace")),
    st.binary(max_size=40),
)

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
"""What JSON holds."""

Edits = Sequence[tuple[int, float, float, bytes]]
_CUT, _PUT, _TWICE, _SWAP, _END = range(5)
edits = st.lists(
    st.tuples(st.integers(_CUT, _END), st.floats(0, 1), st.floats(0, 1), encoded), max_size=4
)


def mutated(*seeds: bytes) -> st.SearchStrategy[bytes]:
    """One of the seeds with some edits."""
    return st.builds(edited, st.sampled_from(seeds), edits)


def edited(data: bytes, changes: Edits) -> bytes:
    """Bytes after some edits."""
    for kind, first, second, piece in changes:
        begin, end = sorted((round(first * len(data)), round(second * len(data))))
        end = min(end, begin + 40)
        if kind == _CUT:
            data = data[:begin] + data[end:]
        elif kind == _PUT:
            data = data[:begin] + piece + data[begin:]
        elif kind == _SWAP:
            data = data[:begin] + piece + data[end:]
        elif kind == _TWICE:
            data = data[:end] + data[begin:]
        elif len(data) > 1:
            data = data[:begin]
    return data


_CHECKED = 20
"""One graph in so many is checked as ``sarag fsck`` does, which takes ten times as long."""
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_line(text: str) -> bool:
    """Whether a message is one line, and nothing in it moves a terminal's cursor."""
    return _UNSEEN.search(text) is None


def as_text(data: bytes) -> str:
    """Bytes as a text that may hold lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def graph(**options: Any) -> KnowledgeGraph:
    """A graph in memory that holds `HOLY`."""
    kg = sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, **options)
    if options:
        report = kg.index(list(HOLY), extractor=CapitalExtractor())
        assert report.added == len(HOLY)
    else:
        with kg.session.write() as reader:
            reader.store.load(iter(_holy()))
    return kg


@cache
def _holy() -> tuple[ox.Quad, ...]:
    """The quads of such a graph, which is made once."""
    with graph(base=DEFAULT_BASE) as kg:
        return tuple(quads(kg))


def quads(kg: KnowledgeGraph) -> set[ox.Quad]:
    """All that a graph holds."""
    with kg.session.read() as snapshot:
        return set(snapshot.reader.store.quads())


def evidence(kg: KnowledgeGraph) -> set[ox.Quad]:
    """What the graphs of `HOLY` hold."""
    with kg.session.read() as snapshot:
        minter = snapshot.reader.minter
    sources = [minter.source(s.key, s.title, s.text) for s in HOLY]
    graphs = {minter.source_graph(source) for source in sources}
    return {quad for quad in quads(kg) if iri(quad.graph_name) in graphs}


def assert_sound(kg: KnowledgeGraph, before: set[ox.Quad]) -> None:
    """The graph passes all checks, its evidence from before is there, its export can be read."""
    report = kg.validate()
    assert report.conforms, report.violations[:3]
    if RAN.total() % _CHECKED == 0:
        checked = fsck(kg)
        assert checked.in_order, checked.findings[:3]
    assert before <= quads(kg)
    buffer = io.BytesIO()
    kg.export("nquads", buffer)
    read = set(ox.parse(buffer.getvalue(), ox.RdfFormat.N_QUADS))
    assert before <= read
    assert not any(isinstance(end, ox.BlankNode) for q in read for end in (q.subject, q.object))
