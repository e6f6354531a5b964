"""Names and options of contexts and reasoners, as a user writes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.errors import ModelError, UsageError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import CONTEXTS, REASONERS, RETRIEVERS, make_counter
from sarag_rdf.models.fakes import HashEmbedder, QueuedLLM
from sarag_rdf.options import Spec, greatest_values
from tests.command import Sarag
from tests.sample_graph import SOURCES, CapitalExtractor, make_graph

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


# --------------------------------------------------------------------------------- Spec


def test_a_name_with_options() -> None:
    spec = Spec.parse(" cot:steps=2:x=0.5:brief=false:name=a=b ")
    assert (spec.label, spec.name) == ("cot:steps=2:x=0.5:brief=false:name=a=b", "cot")
    assert spec.options == {"steps": 2, "x": 0.5, "brief": False, "name": "a=b"}
    assert Spec.parse("cot") == Spec("cot", "cot", {})


@pytest.mark.parametrize("text", ["cot:", "cot:steps", "cot:steps=", "cot:=2", "cot::steps=2"])
def test_options_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Spec.parse(text)
    assert str(raised.value) == (f"'{text}' cannot be read: write name or name:key=value:key=value")


# ----------------------------------------------------------------------------- Mistakes


def test_unknown_names_are_told_with_those_that_exist(kg: KnowledgeGraph) -> None:
    assert problem(kg, reasoner="oracle:steps=1") == (
        f"unknown reasoner 'oracle': choose one of {', '.join(REASONERS)}"
    )
    assert problem(kg, context="short") == (
        "unknown context 'short': choose one of whole, selected, graph-walk"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reasoner": "cot:brief=true"}, "cot does not take brief: it takes steps, max_tokens"),
        (
            {"reasoner": "self-ask:most=2"},
            "self-ask does not take most: it takes steps, max_tokens",
        ),
        ({"reasoner": "single:llm=x"}, "single does not take llm: it takes brief, max_tokens"),
        ({"reasoner": "cot:steps=two"}, "cot takes a whole number as steps, not 'two'"),
        ({"reasoner": "cot:steps=2.5"}, "cot takes a whole number as steps, not '2.5'"),
        ({"reasoner": "cot:steps=true"}, "cot takes a whole number as steps, not 'True'"),
        ({"reasoner": "single:brief=yes"}, "single takes true or false as brief, not 'yes'"),
        ({"reasoner": "single:brief=2"}, "single takes true or false as brief, not '2'"),
        ({"reasoner": "cot:steps=0"}, "cot needs steps of at least 1"),
        (
            {"context": "whole:hops=2"},
            "whole does not take hops: it takes budget, documents, relationships",
        ),
        (
            {"context": "selected:count=2"},
            "selected does not take count: it takes budget, documents",
        ),
        (
            {"context": "graph-walk:view=2"},
            "graph-walk does not take view: it takes budget, hops, documents",
        ),
        ({"context": "whole:budget=all"}, "whole takes a whole number as budget, not 'all'"),
        ({"context": "whole:budget=0"}, "a budget is at least 1 token"),
        ({"budget": 0}, "a budget is at least 1 token"),
        ({"n": 10**9}, "sarag takes n of at most 10"),
        ({"k": 10**400}, "sarag takes k of at most 1,000"),
        ({"gain": float("inf")}, "sarag takes a finite number as gain, not 'inf'"),
        ({"retriever": "khop", "n": 11}, "khop takes n of at most 10"),
        ({"retriever": "sarag-paper", "n": 11}, "sarag-paper takes n of at most 10"),
        ({"retriever": "rrf", "k": 10**400}, "rrf takes k of at most 1,000"),
        ({"context": "graph-walk:hops=1000000000"}, "graph-walk takes hops of at most 10"),
        ({"reasoner": "decompose:most=11"}, "decompose takes most of at most 10"),
        ({"budget": 10**7}, "whole takes budget of at most 1,000,000"),
    ],
)
def test_options_that_cannot_work(
    kg: KnowledgeGraph, options: dict[str, str | int | float], message: str
) -> None:
    assert problem(kg, **options) == message


@pytest.mark.parametrize(
    "made", [*RETRIEVERS.values(), *(build for build, _ in CONTEXTS.values()), *REASONERS.values()]
)
def test_every_number_is_bounded(made: Callable[..., object]) -> None:
    """Whole numbers by a greatest value; `limit` by the graph, since it takes documents away."""
    numbers = {
        parameter.name
        for parameter in inspect.signature(made).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
        and (type(parameter.default) is int or parameter.name == "budget")
    }
    assert numbers <= greatest_values(made).keys()


@pytest.mark.parametrize("name", REASONERS)
def test_no_reasoner_tells_what_it_is_made_of(kg: KnowledgeGraph, name: str) -> None:
    message = problem(kg, reasoner=f"{name}:colour=red")
    assert message.startswith(f"{name} does not take colour: it takes ")
    assert "max_tokens" in message
    assert not {"gather", "llm", "self", "grounder"} & set(message.replace(",", "").split())


@pytest.mark.parametrize("name", CONTEXTS)
def test_every_context_takes_a_budget(kg: KnowledgeGraph, name: str) -> None:
    message = problem(kg, context=f"{name}:colour=red")
    assert message.startswith(f"{name} does not take colour: it takes budget, ")
    assert not {"count", "reader", "embedder"} & set(message.replace(",", "").split())


def test_a_tokenizer_that_does_not_exist(kg: KnowledgeGraph, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="--tokenizer"):
        kg.ask(QUESTION, tokenizer=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--reasoner", "oracle"], ["unknown reasoner 'oracle'", "single, cot"]),
        (["--reasoner", "cot:x=1"], ["cot does not take x", "steps, max_tokens"]),
        (["--context", "short"], ["unknown context 'short'", "whole, selected"]),
        (["--context", "whole:"], ["'whole:' cannot be read"]),
        (["--context", "selected:budget=x"], ["selected takes a whole number as budget"]),
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
    monkeypatch.setattr("sarag_rdf.kg.registry.make_embedder", lambda *_: HashEmbedder())
    model = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    sarag("ask", QUESTION, *model, *arguments).fails(2, *words)


# ------------------------------------------------------------------------------ Meaning


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
        ({}, "whole", 3),
        ({"context": "whole:documents=2"}, "whole", 2),
        ({"budget": 30}, "whole", 2),
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
    with pytest.raises(UsageError, match=f"^{next(iter(wrong))} of an endpoint is not"):
        ModelEndpoint("http://127.0.0.1/v1", **wrong)
    for name in wrong.keys() & {"timeout", "max_reply"}:
        with pytest.raises(UsageError, match=name):
            SparqlEndpoint("http://127.0.0.1/sparql", **wrong)


def test_an_engine_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="unknown engine 'zz': choose one of auto, memory, sparql"):
        sarag_rdf.open(engine="zz")  # type: ignore[arg-type]


def test_tokens_are_counted_approximately_unless_a_tokenizer_is_named() -> None:
    assert make_counter(None)("three words here") == 4
