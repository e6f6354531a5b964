"""Extraction within a budget: a model reads the most central documents, keywords cover the rest.

Multi-granular indexing as the background system of The Reasoning Bottleneck in Graph-RAG (section
2) does it: documents are ranked by PageRank over a graph that joins each to its nearest ones, half
by similarity and half by shared keywords; the first `share` of them are the core, from which a
model extracts entities and relationships. The others get keywords, offline: names and rare words as
entities that the document describes, without relationships. A keyword that the model names too is
the same entity, and so both halves of the graph hang together.

The retriever ranks documents in three ways, with shares: by entities and relationships where a
model has read (E), by keywords elsewhere (K), and by texts (T). A share is one of the ranks: of any
number of first documents, each ranking has chosen its share, rounded.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, log
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import normalize_name, strip_disambiguation
from sarag_rdf.base.options import MAX_COUNT, Options, option
from sarag_rdf.base.ports import (
    CountsDiscarded,
    CountsUsage,
    Embedder,
    Estimates,
    Extractor,
    Matrix,
    Services,
    Vector,
)
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Query, Retrieved, Usage
from sarag_rdf.extraction.names import build_descriptions, clean_name, is_name
from sarag_rdf.plugins.named_sentences import sentences_with_name, split_sentences
from sarag_rdf.retrieval.network import DESCRIBES, RELATED_TO
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents, document_cosines
from sarag_rdf.retrieval.view import GraphView

DAMPING: Final = 0.85
_BLOCK: Final = 1024
"""Documents that are compared with all others at a time."""
_MIN_WORD: Final = 4
"""Characters of a word that can be a keyword; names may be shorter."""
_NAME: Final = re.compile(
    r"\b[^\W\d_a-z][\w'\u2019-]*(?:[ \t]+(?:of|the|de|la|von|van|du)(?=[ \t]+[^\W\d_a-z])"
    r"|[ \t]+[^\W\d_a-z][\w'\u2019-]*)*"
)
"""A run of words that do not begin with a small letter from a to z, and particles between them."""
_PARTICLES: Final = frozenset(("of", "the", "de", "la", "von", "van", "du"))
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, kw_only=True)
class BudgetedOptions(Options):
    """Options of `BudgetedExtractor`."""

    name = "budgeted"
    share: float = option(
        0.2, "Share of the documents that the model reads, the most central ones.", ge=0.0, le=1.0
    )
    rest: str = option(
        "keywords",
        "How the other documents are read: keywords alone, or entities and relationships by spacy.",
        choices=("keywords", "spacy"),
    )
    keywords: int = option(
        12, "Maximum number of keywords of a document, besides its title.", ge=0, le=MAX_COUNT
    )
    neighbours: int = option(
        10,
        "Nearest documents to which each is joined, half of them by keywords.",
        ge=2,
        le=MAX_COUNT,
    )
    openie: str | None = option(
        None, "File of extractions that stands for the model, as openie:FILE reads it."
    )


class BudgetedExtractor:
    """Passes the core documents on to another extractor, and reads the others offline.

    All documents of a run are ranked together, and half of the neighbours are by similarity if
    there is an embedder. An update of one document reads it with the model unless `share` is 0.
    """

    options = BudgetedOptions

    def __init__(
        self,
        model: Extractor | None,
        options: BudgetedOptions | None = None,
        *,
        rest: Extractor | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """`rest` reads what `model` does not, else keywords; a share of 0 needs no `model`."""
        self._model, self._rest, self._embedder = model, rest, embedder
        self._options = options or BudgetedOptions()
        if model is None and self._options.share:
            raise UsageError("budgeted needs an extractor for its share: name one, or set share=0")

    @classmethod
    def build(cls, options: BudgetedOptions, services: Services) -> BudgetedExtractor:
        """The share is read by `llm`, or looked up in the file of the option ``openie``."""
        name = f"openie:{options.openie}" if options.openie else "llm"
        return cls(
            services.extractor(name) if options.openie or options.share else None,
            options,
            rest=services.extractor("spacy") if options.rest == "spacy" else None,
            embedder=services.embedder(),
        )

    @property
    def method(self) -> Method:
        """That of the model, with the settings of the budget."""
        inner = self._model.method if self._model else Method("none", "none")
        own = {f"budget_{name}": str(value) for name, value in self._options.settings().items()}
        if self._embedder is not None:
            own["budget_embedder"] = self._embedder.name
        if self._rest is not None:
            own["budget_rest_model"] = self._rest.method.model
        settings = {**inner.settings, **own, "budget_extractor": inner.extractor}
        return Method("budgeted", inner.model, inner.prompt_hash, settings)

    @property
    def usage(self) -> Usage:
        return self._model.usage if isinstance(self._model, CountsUsage) else Usage()

    @property
    def discarded(self) -> Counter[str]:
        """Counts of the items that both extractors have discarded, by reason."""
        counts = Counter[str]()
        for extractor in (self._model, self._rest):
            if isinstance(extractor, CountsDiscarded):
                counts.update(extractor.discarded)
        return +counts

    def estimate(
        self, documents: Sequence[Document], *, price_in: float = 0.0, price_out: float = 0.0
    ) -> Usage | None:
        """The usage for as many documents of mean length as the model would read.

        None if the model's extractor has no estimate.
        """
        part = self._count(len(documents)) / max(1, len(documents))
        whole = Usage() if not part else None
        if part and isinstance(self._model, Estimates):
            whole = self._model.estimate(documents, price_in=price_in, price_out=price_out)
        return whole and Usage(
            round(whole.calls * part),
            tokens_in=ceil(whole.tokens_in * part),
            tokens_out=ceil(whole.tokens_out * part),
            cost=whole.cost * part,
        )

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result per document, in order; all documents are ranked before the first is read."""
        ordered = list(documents)
        weights = keyword_weights(ordered)
        core = self._core(ordered, weights)
        selected = [d for d, c in zip(ordered, core, strict=True) if c]
        others = [d for d, c in zip(ordered, core, strict=True) if not c]
        chosen = iter(self._model.extract(selected) if self._model else ())
        rest = iter(self._rest.extract(others) if self._rest else ())
        for document, own, is_core in zip(ordered, weights, core, strict=True):
            if is_core or self._rest is not None:
                yield next(chosen if is_core else rest)
            else:
                yield keyword_extraction(document, own, self._options.keywords)

    def _count(self, documents: int) -> int:
        """The number of documents that the model reads: the share, rounded up."""
        return min(documents, ceil(round(self._options.share * documents, 9)))

    def _core(self, documents: Sequence[Document], weights: Sequence[_Weights]) -> list[bool]:
        count = self._count(len(documents))
        if count in (0, len(documents)):
            return [count > 0] * len(documents)
        texts = [document.titled_text for document in documents]
        vectors = self._embedder.embed(texts) if self._embedder else None
        ranks = centrality(weights, vectors, self._options.neighbours)
        best = sorted(range(len(documents)), key=lambda row: (-round(float(ranks[row]), 12), row))
        chosen = set(best[:count])
        return [row in chosen for row in range(len(documents))]


_Weights = Mapping[str, float]
"""Keyword -> weight in one document."""


def keyword_weights(documents: Sequence[Document]) -> list[dict[str, float]]:
    """The keywords of each document with their TF-IDF; those of one document alone are left out.

    A keyword is a name (a run of capitalised words that no document writes in lower case), or a
    word of at least four letters in lower case that at most half of the documents contain.
    """
    lower: set[str] = set()
    for document in documents:
        lower.update(word for word in _WORD.findall(document.text) if word.islower())
    counts = [_terms(document, lower) for document in documents]
    frequencies = Counter(term for own in counts for term in own)
    size = len(documents)
    return [
        {
            term: number * log(1 + size / frequencies[term])
            for term, number in own.items()
            if frequencies[term] > 1 and (not term.islower() or frequencies[term] <= size / 2)
        }
        for own in counts
    ]


def _terms(document: Document, lower: set[str]) -> Counter[str]:
    """The names and words of a document, with how often they occur."""
    text = document.titled_text
    counts: Counter[str] = Counter()
    for run in _capitalised(text):
        name = clean_name(run)
        if is_name(name) and name.casefold() not in lower:
            counts[name] += 1
    for word in _WORD.findall(text):
        if word.islower() and len(word) >= _MIN_WORD:
            counts[word] += 1
    return counts


def _capitalised(text: str) -> Iterator[str]:
    """The runs of words without small initials, in any script, and particles between them."""
    for match in _NAME.finditer(text):
        words = match.group().split()
        is_small = [word[0].islower() and word not in _PARTICLES for word in words]
        if not any(is_small):
            yield match.group()
            continue
        for _, group in groupby(zip(is_small, words, strict=True), key=itemgetter(0)):
            run = [word for small, word in group if not small]
            places = [place for place, word in enumerate(run) if word not in _PARTICLES]
            if places:
                yield " ".join(run[places[0] : places[-1] + 1])


def keyword_extraction(document: Document, weights: _Weights, limit: int) -> Extraction:
    """The title and the best keywords as mentions, each with its sentences; no relationships."""
    sentences = split_sentences(document.text)
    title = strip_disambiguation(document.title)
    best = sorted(weights, key=lambda term: (-weights[term], term))[:limit]
    mentions: dict[str, Mention] = {}
    for name in filter(None, (title, *best)):
        key = normalize_name(name)
        naming = sentences_with_name([name], sentences)
        if not naming and name == title:
            naming = sentences[:1]
        if key and key not in mentions and naming:
            mentions[key] = Mention(name, descriptions=build_descriptions(name, naming))
    return Extraction(tuple(mentions.values()), ())


def centrality(
    weights: Sequence[_Weights], vectors: Matrix | None, neighbours: int
) -> NDArray[np.float64]:
    """The PageRank of each document in the graph of its nearest ones, shape (documents,).

    Each is joined to `neighbours` others, half of them, or all without vectors, by the cosine of
    their keywords. Edges are undirected with cosines as weights.
    """
    import networkx as nx

    half = neighbours if vectors is None else neighbours // 2
    edges: defaultdict[tuple[int, int], float] = defaultdict(float)
    _join(edges, _sparse(weights), half)
    if vectors is not None:
        _join(edges, vectors, neighbours - half)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(weights)))
    graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in sorted(edges.items()))
    ranks = nx.pagerank(graph, alpha=DAMPING, max_iter=200, tol=1e-8)
    return np.array([ranks[row] for row in range(len(weights))])


def _sparse(weights: Sequence[_Weights]) -> Any:
    """Keyword weights as a sparse matrix with rows of length 1."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.preprocessing import normalize

    matrix = DictVectorizer().fit_transform(weights)
    return normalize(matrix) if matrix.shape[1] else matrix


def _join(edges: dict[tuple[int, int], float], rows: Any, count: int) -> None:
    """Add an edge from each row to the `count` others of the greatest positive cosine."""
    size = rows.shape[0]
    for begin in range(0, size, _BLOCK):
        cosines = rows[begin : begin + _BLOCK] @ rows.T
        cosines = np.asarray(cosines.todense() if hasattr(cosines, "todense") else cosines)
        cosines = np.array(cosines, dtype=np.float64).round(6)
        own = np.arange(len(cosines))
        cosines[own, begin + own] = 0.0
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        for row, columns in enumerate(nearest.tolist(), start=begin):
            for column in columns:
                weight = float(cosines[row - begin, column])
                if weight > 0:
                    pair = min(row, column), max(row, column)
                    edges[pair] = max(edges[pair], weight)


# ---------------------------------------------------------------------------------------- Retrieval

_READ = 4
"""Entities and keywords are looked for among this many times `k` nearest names."""


@dataclass(frozen=True, kw_only=True)
class Ket(RetrieverStrategy):
    """Documents by entities and relationships, by keywords, and by similarity, in shares.

    A document's score is 1 / (1 + its rank).
    """

    name = "ket"
    entity_share: float = option(
        0.4, "Share of documents that are ranked by entities and relationships.", ge=0.0, le=1.0
    )
    keyword_share: float = option(
        0.4, "Share of documents that are ranked by keywords.", ge=0.0, le=1.0
    )
    k: int = option(10, "Number of nearest entities, and of keywords.", ge=1, le=MAX_COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entity_share + self.keyword_share > 1.0:
            raise UsageError(
                f"the shares of ket exceed 1: entities {self.entity_share:g} and keywords "
                f"{self.keyword_share:g}"
            )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        cosines = document_cosines(view, question)
        names = view.vectors.index("entity")
        rows, similarities = names.nearest_rows(question, _READ * self.k)
        incident = view.network.incident(RELATED_TO, np.sort(rows))
        is_related = np.isin(rows, np.concatenate([incident.source, incident.target]))
        rankings = (
            self._by_entities(view, question, rows[is_related], similarities[is_related], cosines),
            self._by_described(
                view, rows[~is_related][: self.k], similarities[~is_related][: self.k], cosines
            ),
            np.argsort(-cosines, kind="stable"),
        )
        shares = [self.entity_share, self.keyword_share]
        shares.append(1.0 - sum(shares))
        scores = np.full(len(cosines), -np.inf)
        for rank, row in enumerate(in_shares(rankings, shares), start=1):
            scores[row] = 1.0 / (1 + rank)
        best = best_documents(view, scores, self.limit, similarities=cosines)
        return self.result(view, query, best)

    def _by_entities(
        self, view: GraphView, question: Vector, rows: Rows, similarities: Vector, cosines: Floats
    ) -> Rows:
        """Documents that describe the nearest entities or ends of their `k` best relationships.

        An entity counts with the cosine of its name or best relationship, whichever is greater.
        """
        k = self.k
        rows, similarities = rows[:k], similarities[:k]
        edges = view.network.incident(RELATED_TO, np.sort(rows))
        statements = np.unique(edges.statement)
        best = dict(zip(rows.tolist(), similarities.tolist(), strict=True))
        if len(statements):
            values = view.relationship_cosines(question, statements)
            first = np.lexsort((statements, -values))[:k]
            cosine = dict(zip(statements[first].tolist(), values[first].tolist(), strict=True))
            for statement, *ends in zip(
                edges.statement.tolist(), edges.source.tolist(), edges.target.tolist(), strict=True
            ):
                for end in ends if statement in cosine else ():
                    best[end] = max(best.get(end, 0.0), cosine[statement])
        nodes = np.array(sorted(best), dtype=np.int64)
        return self._by_described(view, nodes, np.array([best[n] for n in nodes.tolist()]), cosines)

    def _by_described(
        self, view: GraphView, rows: Rows, weights: NDArray[np.floating], cosines: Floats
    ) -> Rows:
        """Documents by the sum of the weights of entities that they describe, then by cosine."""
        order = np.argsort(rows)
        edges = view.network.incoming(DESCRIBES, rows[order])
        sums = np.zeros(len(cosines))
        positions = np.searchsorted(rows[order], edges.target)
        np.add.at(sums, edges.source, weights[order][positions])
        described = np.unique(edges.source)
        return described[np.lexsort((described, -cosines[described], -sums[described].round(6)))]


def in_shares(rankings: Sequence[Rows], shares: Sequence[float]) -> list[int]:
    """One ranking of several: the next item is that of the ranking that lags behind most.

    Items are taken once, and those of a ranking with share 0 never. An exhausted ranking leaves its
    share to the others; among equals the first one is next.
    """
    waiting = [iter(ranking.tolist()) for ranking in rankings]
    taken = [0] * len(rankings)
    open_ = [number for number, share in enumerate(shares) if share > 0]
    merged: dict[int, None] = {}
    while open_:
        rank = len(merged) + 1
        number = max(open_, key=lambda n: (round(shares[n] * rank - taken[n], 9), -n))
        item = next((item for item in waiting[number] if item not in merged), None)
        if item is None:
            open_.remove(number)
        else:
            taken[number] += 1
            merged[item] = None
    return list(merged)
