"""DotRAG with a scripted model: three films, whose statements lead from a director to languages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sarag_rdf
from sarag_rdf.base.types import Answer, Source
from sarag_rdf.testing.fakes import HashEmbedder
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


def shown(prompt: str) -> list[str]:
    """The paths that a prompt asks to judge, without their numbers."""
    lines = prompt.split("=== paths")[1].split("=== end")[0].splitlines()[1:]
    return [line.split(". ", 1)[1] for line in lines if line]


def judged_of(tmp_path: Path, triples: str, options: str) -> tuple[list[str], list[list[str]]]:
    """Names of the calls, and the paths of each judgement, on a graph where no path is of use."""
    prefixes = (
        "PREFIX : <https://x.example/>\n"
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        ':hub rdfs:label "Ruben Soldevila" .\n'
    )
    (tmp_path / "x.ttl").write_text(prefixes + triples)
    paths: list[list[str]] = []

    def look(prompt: str) -> dict[str, Any]:
        paths.append(shown(prompt))
        return {"judgements": []}

    queries = iter(["one more", "and another"])
    llm = script(
        judge_paths=look,
        next_search=lambda _: {"query": next(queries)},
        answer=lambda _: nothing_known(),
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["x"], llm=llm) as kg:
        kg.import_graph(tmp_path / "x.ttl", "rdf", name="x")
        kg.ask(QUESTION, reasoner=f"dotrag{options}", context="whole")
    return llm.names, paths


def test_rounds_bound_the_calls(tmp_path: Path) -> None:
    """Section 3.3: the search takes T_max = 3 rounds, and each path of a round is judged.

    Of 90 neighbours of the anchor a round takes 30, whose 30 paths are three calls; the two rounds
    that another one follows end with a call for a query: 1 + 3 * 3 + 2 + 1 calls.
    """
    triples = "\n".join(f':n{n} rdfs:label "N{n}" . :hub :meets :n{n} .' for n in range(90))
    names, paths = judged_of(tmp_path, triples, ":h=1:nodes=30")
    round_ = ["judge_paths"] * 3
    searches = [*round_, "next_search", *round_, "next_search", *round_]
    assert names == ["select_anchors", *searches, "answer"]
    judged_texts = [text for several in paths for text in several]
    assert sorted(judged_texts) == sorted(f"Ruben Soldevila meets N{n}" for n in range(90))


def test_every_statement_between_two_entities_is_judged(tmp_path: Path) -> None:
    """Section 3.3: a path is a sequence of entities, its text that of all their relations."""
    triples = (
        ':film rdfs:label "Paper Lantern" ; :director :hub ; :writer :hub ; :language :ca .\n'
        ':ca rdfs:label "Catalan" .\n'
    )
    _, paths = judged_of(tmp_path, triples, ":t=1")
    both = "Paper Lantern director Ruben Soldevila; Paper Lantern writer Ruben Soldevila"
    assert sorted(paths[0]) == [both, f"{both} -> Paper Lantern language Catalan"]


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
