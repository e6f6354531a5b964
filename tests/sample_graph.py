"""Small knowledge graphs, made without a parser and without a model."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Embedder, Extractor, GraphStore
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.base.vocab import iri
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.rdf_export import ExportParts, write_parts
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import send

SOURCES = (
    Source("Ada founded Orbis. Orbis has its seat in Ulm.", "Ada", "ada.txt"),
    Source("Ulm lies on the Danube. The Danube flows to Tulcea.", "Ulm", "ulm.txt"),
    Source("Boris taught Ada. Boris came from Tulcea.", "Boris", "boris.txt"),
)
BASE = "https://example.org/kg/"
CROOKED_NAMES = (
    'Anna "Nan" O\'Hara',
    "C:\\new\\table",
    "two\nlines",
    "tab\tstop",
    "🦀 crab 👩‍🚀",
    "ירושלים",
    "القاهرة (مدينة)",
    "]]>",
    "<b>&amp; 'bold'</b>",
    '"""',
    "{braces} and $dollar ^^ @en",
    "e\u0301 and \u200f marks \u2028 here",
    "𝒜stral <https://example.org/?a=b#c>",
)

_WORD = re.compile(r"\b[A-Z]\w+")


class CapitalExtractor:
    """Capitalised words are mentions; in a sentence the first is related to each other one."""

    method = Method("capitals", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            mentions: dict[str, list[str]] = {}
            relations: list[Relation] = []
            for sentence in re.split(r"(?<=\.)\s+", document.text):
                names = [name for name in _WORD.findall(sentence) if name != "The"]
                for name in dict.fromkeys(names):
                    mentions.setdefault(name, []).append(sentence)
                relations += [Relation(names[0], "with", name, sentence) for name in names[1:]]
            found = (Mention(n, "misc", (), tuple(texts)) for n, texts in mentions.items())
            yield Extraction(tuple(found), tuple(relations))


class CrookedExtractor:
    """Finds `CROOKED_NAMES` in every document, each related to the next."""

    method = Method("crooked", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        mentions = tuple(Mention(n, "person", (f"{n}!",), (f"{n}: {n}",)) for n in CROOKED_NAMES)
        pairs = pairwise(CROOKED_NAMES)
        relations = tuple(Relation(a, f"met {b}", b) for a, b in pairs)
        for _ in documents:
            yield Extraction(mentions, relations)


def make_graph(
    folder: Path,
    sources: Sequence[Source] = SOURCES,
    *,
    extractor: Extractor | None = None,
    embedder: Embedder | None = None,
) -> Path:
    """Index sources into a folder, and return it."""
    with sarag_rdf.open(folder, embedder=embedder or HashEmbedder(), endpoint=None) as kg:
        report = kg.index(sources, extractor=extractor or CapitalExtractor())
    assert (report.added, report.problems) == (len(sources), [])
    return folder


def crooked_graph(folder: Path) -> Path:
    """A graph of names and texts that syntaxes could trip over."""
    return make_graph(folder, crooked_sources(), extractor=CrookedExtractor())


def crooked_sources() -> list[Source]:
    """Sources whose texts, titles and paths syntaxes could trip over."""
    text = "\n\n".join(CROOKED_NAMES)
    return [Source(text, name, f"{number}/ä b'.txt") for number, name in enumerate(CROOKED_NAMES)]


def quads_of(folder: Path) -> list[ox.Quad]:
    """All quads of the graph in a folder, in the order of their N-Quads."""
    store = OxigraphStore.open(folder / "store")
    return sorted(store.quads(), key=str)


def graph_of(quad: ox.Quad) -> str:
    """The IRI of a quad's graph."""
    return iri(quad.graph_name)


def nquads(folder: Path) -> str:
    """The graph's N-Quads, sorted."""
    return "\n".join(map(str, quads_of(folder)))


def derived(kg: KnowledgeGraph) -> set[ox.Quad]:
    """The traversed graph, which conforms and is what rebuilding it gives."""
    assert list(kg.validate().violations) == []
    with kg.session.read() as snapshot:
        reader = snapshot.own
        graph = set(reader.store.quads(reader.minter.kg_graph))
        assert graph == set(rebuild(reader).insert)
    return graph


def insert(folder: Path, *quads: ox.Quad) -> None:
    """Put quads into a graph past the library."""
    store = ox.Store(str(folder / "store"))
    store.extend(quads)
    store.flush()


def files_of(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder with its content; None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def embeddings(handler: BaseHTTPRequestHandler) -> None:
    """Play an endpoint that embeds as `HashEmbedder` does."""
    vectors = HashEmbedder().embed(json.loads(handler.raw)["input"])  # type: ignore[attr-defined]
    rows = [
        {"object": "embedding", "index": place, "embedding": vector.tolist()}
        for place, vector in enumerate(vectors)
    ]
    body = {"object": "list", "model": "hash", "data": rows, "usage": {}}
    body["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
    send(handler, 200, json.dumps(body).encode())


def also_embeds(
    answer: Callable[[BaseHTTPRequestHandler, Any], None],
) -> Callable[[BaseHTTPRequestHandler], None]:
    """Play an endpoint that embeds; `answer` gets what else is asked for."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        asked = json.loads(handler.raw)  # type: ignore[attr-defined]
        if "input" in asked:
            embeddings(handler)
        else:
            answer(handler, asked)

    return play


def remote_embedder(base_url: str) -> Embedder:
    """An embedder whose vectors come from a server that answers with `embeddings`."""
    from sarag_rdf.models.client import OpenAIEmbedder

    return OpenAIEmbedder(ModelEndpoint(base_url, "hash"))


def rdf_bytes(store: GraphStore, format_: str, *, base: str = BASE) -> bytes:
    """All graphs of a store as bytes."""
    buffer = io.BytesIO()
    reader = GraphReader(store, Minter(base))
    write_parts(reader, format_, buffer, ExportParts(imported=True))
    return buffer.getvalue()
