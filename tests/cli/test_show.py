"""What a person sees of an explanation: every step of a chain, and the parts of a score."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from pyoxigraph import Literal

from sarag_rdf.base.iris import source_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import (
    Answer,
    Context,
    Document,
    Evidence,
    Excerpt,
    Query,
    Retrieved,
    Section,
    Stage,
)
from sarag_rdf.cli import answers
from sarag_rdf.cli.answers import number_sources, show_retrieved, show_table
from sarag_rdf.cli.output import text_lines
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval import sarag
from tests.retrieval import test_retrievers, test_sarag
from tests.retrieval.graphs import QUESTIONS, larger_graph, view_of


def shown(
    capsys: pytest.CaptureFixture[str], found: Retrieved, monkeypatch: pytest.MonkeyPatch
) -> dict[int, list[str]]:
    """Lines on each document, by rank."""
    monkeypatch.setenv("COLUMNS", "140")
    show_retrieved(found, explain=True)
    text = capsys.readouterr().out
    blocks = re.split(r"^ +(\d+)\. ", text[text.index("\nDocuments: ") :], flags=re.MULTILINE)
    return {
        int(rank): [line.strip() for line in block.splitlines()]
        for rank, block in zip(blocks[1::2], blocks[2::2], strict=True)
    }


def test_a_chain_through_documents(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, (one, _, three, _, five) = test_sarag.search(gain=0.3, k=0)
    lines = shown(capsys, found, monkeypatch)
    ranks = {d.document.iri: d for d in found.documents}
    # Ada is named; over Bea the second document, over Cid, which that describes, the third.
    third = ranks[three]
    assert [step.round for step in third.chain] == [2, 3, 4, 6]
    passes = [f"(weight {s.weight:.3f} passes {s.amount:.3f})" for s in third.chain]
    held = [f"({s.activation:.3f})" for s in third.chain]
    parts = ", ".join(f"{name} {value:+.3f}" for name, value in third.parts.items() if value)
    assert lines[third.rank][2:12] == [
        "seed Ada (1.000), named in the question",
        f'-> "Ada knows Bea" {passes[0]}',
        f"-> Bea {held[0]}",
        f'-> "is described by" {passes[1]}',
        f"-> document Bea {held[1]}",
        f'-> "describes" {passes[2]}',
        f"-> Cid {held[2]}",
        f'-> "is described by" {passes[3]}',
        f"-> this document (activation {third.activation:.3f}, score {third.score:.3f})",
        f"score {third.score:.3f}: {parts}",
    ]
    first = ranks[one]
    assert lines[first.rank][2:5] == [
        "seed Ada (1.000), named in the question",
        f'-> "is described by" (weight {first.chain[0].weight:.3f} '
        f"passes {first.chain[0].amount:.3f})",
        f"-> this document (activation {first.activation:.3f}, score {first.score:.3f})",
    ]
    fifth = ranks[five]
    assert lines[fifth.rank][0].endswith(", without activation")
    assert lines[fifth.rank][2] == "no activation reached this document"
    assert lines[fifth.rank][3].startswith(f"score {fifth.score:.3f}: meaning ")


def test_a_chain_that_comes_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that is a seed may hear of itself over a relationship."""
    found, iris = test_sarag.search(test_sarag.PLAIN, k=1, n=1)
    lines = shown(capsys, found, monkeypatch)
    (seed,) = [d for d in found.documents if d.document.iri == found.seeds[0].node]
    assert seed.document.iri in iris
    assert [step.round for step in seed.chain] == [1, 2, 3]
    told = lines[seed.rank]
    assert told[2].startswith("seed ")
    assert told[2].endswith("(1.000), document")
    assert told[3].startswith('-> "describes" ')
    assert told[7].startswith('-> "is described by" ')
    assert told[8].startswith("-> this document (activation ")


def test_a_published_chain(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, documents = test_retrievers.search("sarag-paper", k=1, c=0.0, tau_a=0.3, tau_d=0.0)
    lines = shown(capsys, found, monkeypatch)
    (second,) = [d for d in found.documents if d.document.iri == documents[1]]
    # Bea has .7 from Ada; Cid's .35 comes back over .5.
    assert lines[second.rank][2:6] == [
        "seed Ada (1.000), description: Ada in 1",
        '-> "Ada knows Bea" (weight 0.700 passes 0.700)',
        "-> Bea (0.700)",
        f"-> this document (activation {second.activation:.3f}, score 0.400)",
    ]
    assert not any(line.startswith("score") for line in lines[second.rank][1:])


def test_entities_and_what_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are told are the most active: the graph may hold more that are active."""
    monkeypatch.setattr(sarag, "ENTITIES", 3)
    monkeypatch.setattr(answers, "_ENTITIES", 1)
    found, _ = test_sarag.search(gain=0.3, k=0, limit=1)
    one, two, three = found.entities
    assert [one.hop, two.hop, three.hop] == [0, 1, 3]
    show_retrieved(found, explain=True)
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("Activated entities: 3 of 3 in the explanation")
    assert lines[place + 1] == f"  {one.activation:5.2f}  Ada  [misc, seed]"
    assert lines[place + 2] == "  ... and 2 more (--json shows them)"
    monkeypatch.setattr(answers, "_ENTITIES", 3)
    show_retrieved(found, explain=True)
    shown = capsys.readouterr().out
    assert "  Bea  [misc, 1 hop]\n" in shown
    assert "  Cid  [misc, 3 hops]\n" in shown


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["sarag", "sarag-paper"])
def test_everything_has_a_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, question: str
) -> None:
    options = {"c": 0.2, "tau_d": 0.1} if name == "sarag-paper" else {"c": 0.5, "k": 4}
    made = make_retriever(name, view_of(larger_graph(2)), options)
    lines = shown(capsys, made.retrieve(Query(question)), monkeypatch)
    assert len(lines) > 3
    steps = [line for block in lines.values() for line in block if line.startswith("-> ")]
    assert len(steps) > 3
    assert not [line for line in steps if "https://" in line or line.startswith("->  ")]


def test_documents_come_first_with_a_sentence_and_the_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    found, _ = test_sarag.search(gain=0.3, k=0)
    show_retrieved(found, explain=False)
    first, *blocks = capsys.readouterr().out.split("\n\n")
    assert first.splitlines() == [found.query.text, "evidence: 1. Cid -> 5. Dan"]
    assert len(blocks) == len(found.documents)
    reasons = []
    for document, block in zip(found.documents, blocks, strict=True):
        head, evidence, why = block.strip().splitlines()
        title = document.document.title or source_name(document.document.source_iri)
        assert head.startswith(f"{document.rank}. {title}  {document.score:.3f}")
        assert evidence.strip().partition(" ... ")[0] in document.document.text
        reasons.append(why.strip())
    assert "why: Ada (named in the question)" in reasons
    assert 'why: Ada (named in the question) -> "Ada knows Bea"' in reasons
    assert any(reason.endswith("-> document Bea -> Cid") for reason in reasons)
    assert any(re.fullmatch(r"why: similarity .* no activation", reason) for reason in reasons)


def answered(reasoning: str, cited: str, *labelled: dict[str, str]) -> Answer:
    """An answer from contexts with these titles by label; `cited` is a title."""
    excerpts = [
        {
            label: Excerpt.whole(Document(title, "s", title, title, 0, 9))
            for label, title in texts.items()
        }
        for texts in labelled
    ]
    found, _ = test_sarag.search(gain=0.3, k=0)
    evidence = tuple(Evidence(found, Context((Section("", each),))) for each in excerpts)
    citations = [
        e.citation for each in excerpts for e in each.values() if e.document.title == cited
    ]
    return Answer("answered", "yes", reasoning, tuple(citations[:1]), found, evidence=evidence)


def test_labels_in_the_reasoning_are_the_numbers_of_the_sources() -> None:
    answer = answered("By D3, and D1. D9?", "Bea", {"D1": "Ada", "D2": "Cid", "D3": "Bea"})
    reasoning, sources = number_sources(answer)
    assert reasoning == "By [1], and [2]. D9?"
    assert [source.title for source in sources] == ["Bea", "Ada"]


def test_a_label_of_several_documents_stays() -> None:
    answer = answered("By D1 and D2.", "Ada", {"D1": "Ada"}, {"D1": "Bea", "D2": "Cid"})
    reasoning, sources = number_sources(answer)
    assert reasoning == "By D1 and [2]."
    assert [source.title for source in sources] == ["Ada", "Cid"]


def test_steps_of_an_answer() -> None:
    trace = [
        Stage("retrieval", "sarag", {"question": "Who?", "titles": ["Ulm", ""], "tokens": 9}),
        Stage("call", "answer", {"final_answer": "Ida", "citations": [], "sufficient": False}),
    ]
    assert list(text_lines("trace.j2", trace=trace)) == [
        *("", "\x1b[1mSteps\x1b[0m", "  1. sarag for: Who?", "     9 tokens of Ulm, untitled"),
        *("  2. call answer", "     final_answer: Ida", "     sufficient: false"),
    ]


def test_names_do_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = test_sarag.search(gain=0.3, k=0)
    evil = "A\x1b[2Jda\nLovelace \u202e" + "x" * 5000
    entities = tuple(replace(entity, name=evil) for entity in found.entities)
    documents = tuple(
        replace(d, document=replace(d.document, title=evil, text=evil)) for d in found.documents
    )
    names = {**found.names, **dict.fromkeys((e.iri for e in entities), evil)}
    changed = replace(found, entities=entities, documents=documents, names=names)
    text = "\n".join("\n".join(lines) for lines in shown(capsys, changed, monkeypatch).values())
    show_retrieved(changed, explain=False)
    text += capsys.readouterr().out
    assert "A [2Jda Lovelace xxx" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert max(map(len, text.splitlines())) < 800
    show_table(Table(("name",), [(Literal(evil),)]))
    assert "\x1b" not in capsys.readouterr().out
