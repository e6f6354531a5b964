"""DotRAG with a scripted model: three films, whose statements lead from a director to languages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.models.fakes import HashEmbedder
from sarag_rdf.types import Answer, Source
from tests.evaluation.scripted import Scripted
from tests.sample_graph import SOURCES, CapitalExtractor

EXAMPLE = Path(__file__).parents[2] / "examples" / "films.ttl"
QUESTION = "Which languages are the films directed by Ruben Soldevila in?"
PATH = "Paper Lantern director Ruben Soldevila -> Paper Lantern language Catalan"
FIRST_STEP = "Paper Lantern director Ruben Soldevila"


def judged(prompt: str, wanted: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Judgements of the paths of a prompt whose texts are `wanted`: (judgement, next question)."""
    lines = prompt.split("=== paths")[1].splitlines()[1:]
    numbered = [line.split(". ", 1) for line in lines if line[:1].isdigit()]
    return {
        "judgements": [
            {
                "number": int(number), "judgement": wanted[text][0], "reason": "It leads there.",
                "confidence": 0.9, "next_question": wanted[text][1],
            }
            for number, text in numbered
            if text in wanted
        ]
    }  # fmt: skip


def script(**replies: Any) -> Scripted:
    said: dict[str, Any] = {
        "select_anchors": {
            "anchors": [{"name": "Ruben Soldevila", "description": "A director of films."}],
            "topics": ["film"],
            "route": "local",
        },
        "construct_division": {
            "constraints": "", "intermediate": "films", "terminal": "a language", "types": [1, 2, 3]
        },
        "next_search": {"query": ""},
        "answer": {
            "reasoning": "D1.", "sufficient": True, "final_answer": "Catalan", "citations": ["D1"]
        },
        **replies,
    }  # fmt: skip

    def reply(name: str, prompt: str) -> Mapping[str, Any]:
        found: Any = said[name]
        answered: Mapping[str, Any] = found(prompt) if callable(found) else found
        return answered

    return Scripted(reply)


def ask(llm: Scripted, **options: Any) -> Answer:
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["films"], llm=llm) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")
        settings = "".join(f":{name}={value}" for name, value in options.items())
        return kg.ask(QUESTION, reasoner=f"dotrag{settings}")


def complete(prompt: str) -> dict[str, Any]:
    return judged(prompt, {PATH: ("complete", "")})


def note_of(answer: Answer) -> Mapping[str, Any]:
    [note] = [stage.detail for stage in answer.trace if stage.name == "paths"]
    return note


def test_a_path_answers_with_its_statements() -> None:
    llm = script(judge_paths=complete)
    answer = ask(llm, nodes=20)
    assert (answer.text, answer.outcome) == ("Catalan", "answered")
    assert llm.names[:2] == ["select_anchors", "construct_division"]
    assert llm.names[-1] == "answer"
    assert note_of(answer)["paths"] == [{"text": PATH, "judgement": "complete"}]
    assert PATH in llm.calls[-1][1]
    [evidence] = answer.evidence
    steps = [entity.chain for entity in evidence.retrieved.entities if entity.name == "Catalan"]
    assert [[step.target.rsplit("/")[-1] for step in chain] for chain in steps] == [
        ["lantern", "catalan"]
    ]
    assert answer.usage.calls == len(llm.names)


def test_a_partial_path_asks_on_and_gives_way_to_its_continuation() -> None:
    wanted = {
        FIRST_STEP: ("partial", "Which language is Paper Lantern in?"),
        PATH: ("complete", ""),
    }
    answer = ask(script(judge_paths=lambda prompt: judged(prompt, wanted)), nodes=20)
    note = note_of(answer)
    assert note["queries"][:2] == [QUESTION, "Which language is Paper Lantern in?"]
    assert [path["text"] for path in note["paths"]] == [PATH]


def test_types_restrict_the_division() -> None:
    def only_films(prompt: str) -> dict[str, Any]:
        lines = prompt.split("=== types")[1].splitlines()
        [film] = [line.split(".")[0] for line in lines if line.endswith("film (3)")]
        return {"constraints": "", "intermediate": "", "terminal": "", "types": [int(film)]}

    prompts: list[str] = []

    def look(prompt: str) -> dict[str, Any]:
        prompts.append(prompt)
        return {"judgements": []}

    ask(script(construct_division=only_films, judge_paths=look), nodes=20)
    assert prompts
    assert "Paper Lantern director Ruben Soldevila" in prompts[0]
    assert not any("language" in text.split("=== paths")[1].split("===")[1] for text in prompts)


@pytest.mark.parametrize(("calls", "most"), [(3, 3), (4, 4)])
def test_calls_are_bounded_and_the_last_one_answers(calls: int, most: int) -> None:
    llm = script(judge_paths=complete, next_search={"query": "Catalan films"})
    answer = ask(llm, calls=calls, nodes=20)
    assert len(llm.names) <= most
    assert llm.names[-1] == "answer"
    assert answer.outcome == "answered"


def test_types_have_labels_and_rare_ones_stay(tmp_path: Path) -> None:
    lines = [
        "PREFIX : <https://x.example/>",
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>",
        ':Q1 rdfs:label "river" .  :hub rdfs:label "Ruben Soldevila" .',
        ':rare a :Zebra ; rdfs:label "Rare" .  :hub :meets :rare .',
    ]
    for number in range(31):
        class_ = f":Q{max(1, number)}"
        lines += [f':n{number} a {class_} ; rdfs:label "N{number}" .  :hub :meets :n{number} .']
        lines += [f':m{number} a {class_} ; rdfs:label "M{number}" .  :hub :meets :m{number} .']
    (tmp_path / "x.ttl").write_text("\n".join(lines))
    prompts: list[str] = []

    def only_rivers(prompt: str) -> dict[str, Any]:
        prompts.append(prompt)
        return {"constraints": "", "intermediate": "", "terminal": "", "types": [1]}

    def look(prompt: str) -> dict[str, Any]:
        prompts.append(prompt)
        return {"judgements": []}

    llm = script(construct_division=only_rivers, judge_paths=look)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["x"], llm=llm) as kg:
        kg.import_graph(tmp_path / "x.ttl", "rdf", name="x")
        kg.ask("Whom does Ruben Soldevila meet?", reasoner="dotrag:h=1:nodes=100")
    division, *judged_ = prompts
    assert "1. river (4)" in division
    assert "zebra" not in division.lower()
    found = "".join(judged_)
    assert "meets Rare" in found
    assert "meets N1" in found
    assert "meets N2\n" not in found


def test_no_call_is_spent_on_what_cannot_be_judged() -> None:
    llm = script(judge_paths=complete)
    note = note_of(ask(llm, calls=3, nodes=20))
    assert llm.names == ["select_anchors", "judge_paths", "answer"]
    assert note["unjudged"] > 0
    llm = script(judge_paths=lambda _: {"judgements": []}, next_search={"query": "more"})
    assert note_of(ask(llm, calls=6, nodes=3))["unjudged"] == 0
    assert llm.names[2:] == ["judge_paths", "next_search", "judge_paths", "answer"]
    llm = script(judge_paths=lambda _: {"judgements": []}, next_search={"query": "more"})
    ask(llm, calls=5, nodes=3)
    assert llm.names[2:] == ["judge_paths", "answer"]


def test_rounds_and_steps_are_ablations() -> None:
    nothing = script(
        judge_paths=lambda _: {"judgements": []}, next_search={"query": "one more thing"}
    )
    answer = ask(nothing, t=1)
    assert "next_search" not in nothing.names
    assert note_of(answer)["queries"] == [QUESTION]
    far = script(judge_paths=complete)
    assert note_of(ask(far, h=1, nodes=20))["paths"] == []


def test_without_a_path_passages_answer() -> None:
    llm = script(judge_paths=lambda _: {"judgements": []}, answer=lambda _: nothing_known())
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=llm) as kg:
        kg.index([*SOURCES, Source("x", "Towns", "Ulm is a town.")], extractor=CapitalExtractor())
        answer = kg.ask(QUESTION, reasoner="dotrag")
    assert answer.outcome == "insufficient"
    assert note_of(answer)["paths"] == []
    assert answer.evidence[0].context.excerpts


def nothing_known() -> dict[str, Any]:
    return {"reasoning": "", "sufficient": False, "final_answer": "", "citations": []}
