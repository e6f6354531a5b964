"""Names and options of contexts and reasoners, as a user writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import ModelError, UsageError
from sarag_rdf.base.options import declared_options
from sarag_rdf.base.types import Query
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import make_counter
from sarag_rdf.plugins.papers.baselines import Rrf
from sarag_rdf.retrieval.context import Whole
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.sample_graph import SOURCES, CapitalExtractor, make_graph
from tests.strategies import CONTEXTS, REASONERS, RETRIEVERS, STRATEGIES

QUESTION = "Who founded Orbis?"


@pytest.fixture
def kg() -> Iterator[KnowledgeGraph]:
    """A graph with a model that may not be asked."""
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=QueuedLLM([])) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        yield kg


def problem(kg: KnowledgeGraph, **options: str | int | float) -> str:
    with pytest.raises(UsageError) as raised:
        kg.ask(QUESTION, **options)  # type: ignore[arg-type]
    return str(raised.value)


# ----------------------------------------------------------------------------- Mistakes


def test_unknown_names_are_reported_with_the_known_ones(kg: KnowledgeGraph) -> None:
    assert problem(kg, reasoner="oracle:steps=1") == (
        f"unknown reasoner 'oracle': choose from {', '.join(REASONERS)}"
    )
    assert problem(kg, context="short") == (
        "unknown context 'short': choose from chain, graph-walk, selected, whole"
    )
    assert problem(kg, retriever="sorag") == (
        f"unknown retriever 'sorag': choose from {', '.join(RETRIEVERS)}"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"reasoner": "nonsense"},
        {"reasoner": "cot:steps=0"},
        {"context": "nonsense"},
        {"retriever": "nonsense"},
    ],
)
def test_names_are_checked_without_a_model_too(options: dict[str, Any]) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        assert kg.ask(QUESTION).outcome == "evidence"
        with pytest.raises(UsageError, match=r"nonsense|steps"):
            kg.ask(QUESTION, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reasoner": "cot:brief=true"},
            "unknown option 'brief' of cot: choose from steps, closing, closing_documents, "
            "max_tokens, least, calibration, preset",
        ),
        (
            {"reasoner": "self-ask:most=2"},
            "unknown option 'most' of self-ask: choose from steps, max_tokens, least, calibration, "
            "facts, rounds",
        ),
        (
            {"reasoner": "single:llm=x"},
            "unknown option 'llm' of single: choose from brief, max_tokens, least, calibration",
        ),
        (
            {"reasoner": "cot:steps=two"},
            "steps of cot must be an integer between 1 and 10, not 'two'",
        ),
        (
            {"reasoner": "cot:steps=2.5"},
            "steps of cot must be an integer between 1 and 10, not '2.5'",
        ),
        (
            {"reasoner": "cot:steps=true"},
            "steps of cot must be an integer between 1 and 10, not 'true'",
        ),
        ({"reasoner": "single:brief=yes"}, "brief of single must be true or false, not 'yes'"),
        ({"reasoner": "single:brief=2"}, "brief of single must be true or false, not '2'"),
        ({"reasoner": "cot:steps=0"}, "steps of cot must be an integer between 1 and 10, not 0"),
        (
            {"context": "whole:hops=2"},
            "unknown option 'hops' of whole: choose from budget, documents, relationships, preset",
        ),
        (
            {"context": "selected:count=2"},
            "unknown option 'count' of selected: choose from budget, documents",
        ),
        (
            {"context": "graph-walk:view=2"},
            "unknown option 'view' of graph-walk: choose from budget, hops, documents, "
            "descriptions, share, uncompressed, preset",
        ),
        (
            {"context": "whole:budget=all"},
            "budget of whole must be an integer between 1 and 1000000, not 'all'",
        ),
        (
            {"context": "whole:budget=0"},
            "budget of whole must be an integer between 1 and 1000000, not 0",
        ),
        ({"budget": 0}, "budget of selected must be an integer between 1 and 1000000, not 0"),
        ({"n": 10**9}, "n of sarag must be an integer between 1 and 10, not 1000000000"),
        (
            {"k": 10**4000},
            f"k of sarag must be an integer between 0 and 1000, not 1{59 * '0'}...",
        ),
        (
            {"gain": float("inf")},
            "gain of sarag must be a number between 0 and 1000, not inf",
        ),
        ({"c": float("nan")}, "c of sarag must be a number in [0, 1), not nan"),
        ({"limit": 0}, "limit of sarag must be an integer of at least 1, not 0"),
        (
            {"retriever": "khop", "n": 11},
            "n of khop must be an integer between 0 and 10, not 11",
        ),
        (
            {"retriever": "sarag-paper:n=11"},
            "n of sarag-paper must be an integer between 0 and 10, not 11",
        ),
        (
            {"retriever": "rrf", "k": 10**5000},
            "k of rrf must be an integer between 0 and 1000, not an integer of 16610 bits",
        ),
        (
            {"context": "graph-walk:hops=1000000000"},
            "hops of graph-walk must be an integer between 0 and 10, not 1000000000",
        ),
        (
            {"reasoner": "decompose:most=51"},
            "most of decompose must be an integer between 1 and 50, not 51",
        ),
        (
            {"budget": 10**7},
            "budget of selected must be an integer between 1 and 1000000, not 10000000",
        ),
        (
            {"retriever": "sarag-paper:preset=hotpot"},
            "unknown preset 'hotpot' of sarag-paper: choose from musique, 2wiki",
        ),
        (
            {"retriever": "dense", "kind": 1},
            "unknown option 'kind' of dense: choose from limit",
        ),
    ],
)
def test_options_that_cannot_work(
    kg: KnowledgeGraph, options: dict[str, str | int | float], message: str
) -> None:
    assert problem(kg, **options) == message


STRATEGY_CLASSES = [class_ for table in STRATEGIES.values() for class_ in table.values()]


@pytest.mark.parametrize("class_", STRATEGY_CLASSES)
def test_every_integer_is_bounded(class_: Any) -> None:
    """Except `limit`, which the graph bounds: it only takes documents away."""
    for declared in declared_options(class_):
        if declared.kind is int and declared.name != "limit":
            assert declared.ge is not None
            assert declared.le is not None


@pytest.mark.parametrize("kind", STRATEGIES)
def test_options_have_the_name_of_their_strategy(kind: str) -> None:
    for name, class_ in STRATEGIES[kind].items():
        assert class_.name == name
        assert (class_.__doc__ or "").splitlines()[0].endswith(".")
        if kind != "vectors" or name == "files":  # an engine needs an address
            assert str(class_()) == name
        for declared in declared_options(class_):
            assert declared.meaning.endswith(".")
            declared.check(name, declared.default)


def test_no_two_strategies_share_a_name() -> None:
    """But methods that are reasoners, and without a model retrievers."""
    names = [name for table in STRATEGIES.values() for name in table]
    names.remove("kg-infused")
    names.remove("dotrag")
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", REASONERS)
def test_no_reasoner_lists_its_parts_as_options(kg: KnowledgeGraph, name: str) -> None:
    message = problem(kg, reasoner=f"{name}:colour=red")
    assert message.startswith(f"unknown option 'colour' of {name}: choose from ")
    assert "max_tokens" in message
    assert not {"gather", "llm", "self", "grounder"} & set(message.replace(",", "").split())


@pytest.mark.parametrize("name", CONTEXTS)
def test_every_context_has_a_budget(kg: KnowledgeGraph, name: str) -> None:
    message = problem(kg, context=f"{name}:colour=red")
    assert message.startswith(f"unknown option 'colour' of {name}: choose from budget, ")
    assert not {"count", "reader", "embedder"} & set(message.replace(",", "").split())


def test_a_tokenizer_that_does_not_exist(kg: KnowledgeGraph, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="--tokenizer"):
        kg.ask(QUESTION, tokenizer=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--reasoner", "oracle"], ["unknown reasoner 'oracle'", "closed-book, cot"]),
        (["--reasoner", "cot:x=1"], ["unknown option 'x' of cot", "choose from steps"]),
        (["--context", "short"], ["unknown context 'short'", "selected, whole"]),
        (["--context", "whole:"], ["cannot read 'whole:'"]),
        (["--context", "selected:budget=x"], ["budget of selected must be an integer"]),
        (["--context", "graph-walk", "--budget", "0"], ["--budget"]),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(
    sarag: Sarag,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    """Before the model is asked: nothing listens at port 9."""
    make_graph(tmp_path / "kg")
    monkeypatch.setattr("sarag_rdf.kg.vectors.make_embedder", lambda *_: HashEmbedder())
    model = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    sarag("ask", QUESTION, *model, *arguments).fails(2, *words)


def test_a_mistake_names_the_program_once(sarag: Sarag, tmp_path: Path) -> None:
    make_graph(tmp_path / "kg")
    done = sarag("search", QUESTION, "--retriever", "sarag:c=5", "--kg", tmp_path / "kg")
    done.fails(2, "c of sarag must be a number in [0, 1), not 5.0")
    assert done.err.count("sarag:") == 1


# ------------------------------------------------------------------------------ Meaning


def test_a_retriever_is_chosen_by_name_specification_or_options(kg: KnowledgeGraph) -> None:
    found = kg.search(QUESTION, retriever="rrf", k=5, limit=2)
    assert found.settings == {"k": 5}
    assert kg.search(QUESTION, retriever="rrf:k=5:limit=2") == found
    assert kg.search(QUESTION, retriever="rrf:k=7:limit=2", k=5) == found
    assert kg.search(QUESTION, retriever=Rrf(k=5, limit=2)) == found
    assert kg.search(QUESTION, retriever=Rrf(k=7, limit=2), k=5) == found
    gathered = kg.gather(Rrf(k=5, limit=2), context=Whole(documents=1))
    assert len(gathered(Query(QUESTION)).context.excerpts) == 1


def test_options_of_another_kind_of_strategy(kg: KnowledgeGraph) -> None:
    assert problem(kg, retriever=Whole()) == (  # type: ignore[arg-type]
        f"unknown retriever 'whole': choose from {', '.join(RETRIEVERS)}"
    )


def told(**options: str | int) -> tuple[str, int, list[str]]:
    """Context of a question, and the calls that answering it made."""
    llm = QueuedLLM([{"final_answer": "Ada"}])
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=llm) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        answer = kg.ask(QUESTION, reasoner="single:brief=true", **options)  # type: ignore[arg-type]
    [evidence] = answer.evidence
    return evidence.context.builder, len(evidence.context.excerpts), [c.name for c in llm.calls]


@pytest.mark.parametrize(
    ("options", "builder", "documents"),
    [
        ({}, "selected", 3),
        ({"context": "whole:documents=2"}, "whole", 2),
        ({"budget": 30}, "selected", 2),
        ({"context": "whole:budget=15", "budget": 1000}, "whole", 1),
        ({"context": "selected", "budget": 10}, "selected", 1),
        ({"context": "graph-walk", "budget": 1000}, "graph-walk", 3),
    ],
)
def test_options_arrive_where_they_belong(
    options: dict[str, str | int], builder: str, documents: int
) -> None:
    """A budget within the context counts before one for whatever context.

    Documents have 10 or 11 words with their titles, which are 14 or 15 tokens.
    """
    assert told(**options) == (builder, documents, ["answer_brief"])


@pytest.mark.parametrize(
    "wrong",
    [
        *({"timeout": value} for value in (0, -5, float("nan"), float("inf"), 1e12)),
        *({"concurrency": 0}, {"max_reply": 0}, {"temperature": -1.0}, {"price_out": -0.1}),
    ],
)
def test_numbers_of_endpoints_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(wrong))} of an endpoint must be"):
        ModelEndpoint("http://127.0.0.1/v1", **wrong)
    for name in wrong.keys() & {"timeout", "max_reply"}:
        with pytest.raises(UsageError, match=name):
            SparqlEndpoint("http://127.0.0.1/sparql", **wrong)


def test_an_engine_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="unknown engine 'zz': choose one of auto, memory, sparql"):
        sarag_rdf.open(engine="zz")  # type: ignore[arg-type]


def test_tokens_are_counted_approximately_unless_a_tokenizer_is_named() -> None:
    assert make_counter(None)("three words here") == 4
