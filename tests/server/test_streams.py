"""Answers while they are written: events of ``/ask``, and chunks of ``/v1``."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlencode

import openai
import pytest

from tests.fault_server import FaultServer, playing, streamed
from tests.sample_graph import also_embeds, make_graph, remote_embedder
from tests.server.running import TOKEN, Running, serving

QUESTION = "Which river flows through the seat of Orbis"
ONE_CALL = {"reasoner": "single"}
SAID = {"reasoning": "D1 says so.", "sufficient": True, "final_answer": "The blue Danube river",
        "citations": ["D1"]}  # fmt: skip


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds; answers in words, as the question says."""
    prompt = asked["messages"][-1]["content"]
    said = dict(SAID)
    options: dict[str, Any] = {}
    if "What breaks off" in prompt:
        options = {"pieces": 9, "error": "out of memory"}
    elif "Who leaves" in prompt:
        said["reasoning"], options = "", {"pause": 0.02}
        said["final_answer"] = "on " * 90
    elif "What waits" in prompt:
        options = {"held": 9}
    elif "What about nothing" in prompt:
        said |= {"sufficient": False, "final_answer": "The sky", "citations": []}
    elif "What abstains" in prompt:
        said |= {"final_answer": "not mentioned"}
    elif "What it corrects" in prompt and len(asked["messages"]) == 1:
        said |= {"citations": ["D99"], "final_answer": "The red river here"}
    streamed(json.dumps(said), **options)(handler)


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(endpoint) as server:
        yield server


@pytest.fixture(scope="module")
def server(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("streams") / "kg"
    make_graph(folder, embedder=remote_embedder(model.base_url))
    with serving(folder, "--question-workers", "1", env=model.settings) as running:
        yield running


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n")[:-1]:
        if not block.startswith(":"):
            name, _, data = block.partition("\ndata: ")
            found.append((name.removeprefix("event: "), json.loads(data)))
    return found


def ask(server: Running, question: str, **more: str) -> list[tuple[str, Any]]:
    got = server.ask(
        "GET", "/ask?" + urlencode({"q": question, "stream": "true"} | ONE_CALL | more)
    )
    assert got.status == 200, got
    assert got.media_type == "text/event-stream"
    assert got.headers["x-accel-buffering"] == "no"
    return events(got.text)


def words(found: list[tuple[str, Any]]) -> str:
    return "".join(data["text"] for name, data in found if name == "text")


def test_steps_words_and_the_whole_result(server: Running) -> None:
    found = ask(server, QUESTION)
    names = [name for name, _ in found]
    assert names[:2] == ["step", "call"]
    assert names[-1] == "result"
    assert names.count("text") == 4
    assert words(found) == "The blue Danube river"
    result = found[-1][1]
    steps = [data for name, data in found if name == "step"]
    keys = ("kind", "name", "detail")
    assert steps == [{key: stage[key] for key in keys} for stage in result["trace"]]
    whole = server.ask("GET", "/ask?" + urlencode({"q": QUESTION} | ONE_CALL)).json()
    assert whole["usage"].pop("cached_calls") == 1
    for key in ("answer", "outcome", "citations", "trace", "evidence"):
        assert result[key] == whole[key]
    assert words(ask(server, QUESTION)) == "The blue Danube river"  # from the cache, at once


def test_a_posted_question_is_streamed_and_stream_is_checked(server: Running) -> None:
    body = json.dumps({"q": QUESTION, "stream": True} | ONE_CALL)
    got = server.ask("POST", "/ask", body, Content_Type="application/json")
    assert events(got.text)[-1][1]["answer"] == "The blue Danube river"
    got = server.ask("GET", "/ask?q=Why&stream=maybe")
    assert (got.status, got.json()["error"]["message"]) == (
        400,
        "'stream': input should be a valid boolean, unable to interpret input",
    )


def test_words_arrive_while_the_model_writes(server: Running, model: FaultServer) -> None:
    wire = http.client.HTTPConnection(server.host, server.port, timeout=30)
    with closing(wire):
        wire.request(
            "GET", "/ask?" + urlencode({"q": "What waits here", "stream": "true"} | ONE_CALL)
        )
        response = wire.getresponse()
        seen = b""
        while words(events(seen.decode())) != "The blue":
            part = response.read1()
            assert part, seen
            seen += part
        assert b"event: result" not in seen
        model.releases.set()  # only now the model goes on
        rest = response.read()
        model.releases.clear()
    assert words(events((seen + rest).decode())) == "The blue Danube river"


def test_who_leaves_stops_the_model(server: Running, model: FaultServer) -> None:
    """The worker closes its connection to the model, and answers the next question at once."""
    before, workers = model.disconnects, server.children()
    wire = http.client.HTTPConnection(server.host, server.port, timeout=30)
    wire.request("GET", "/ask?" + urlencode({"q": "Who leaves early", "stream": "true"} | ONE_CALL))
    response = wire.getresponse()
    seen = b""
    while b"event: text" not in seen:
        seen += response.read1() or pytest.fail(seen.decode())
    response.close()
    wire.close()
    assert words(ask(server, QUESTION)) == "The blue Danube river"
    for _ in range(50):
        if model.disconnects > before:
            break
        time.sleep(0.1)
    assert model.disconnects > before
    assert server.children() == workers


def test_an_error_in_the_middle_is_an_event(server: Running) -> None:
    found = ask(server, "What breaks off")
    assert "text" in [name for name, _ in found]
    name, data = found[-1]
    assert name == "error"
    assert data["error"]["code"] == "model_endpoint"
    assert "broke its reply off (out of memory)" in data["error"]["message"]


def test_an_error_before_anything_has_its_status(server: Running) -> None:
    got = server.ask("GET", "/ask?q=Why&stream=true&reasoner=wise")
    assert (got.status, got.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize("question", ["What about nothing", "What abstains"])
def test_an_answer_that_is_none_is_not_shown(server: Running, question: str) -> None:
    found = ask(server, question)
    assert words(found) == ""
    assert found[-1][1]["outcome"] == "insufficient"


def test_what_the_model_corrects_is_withdrawn(server: Running) -> None:
    found = ask(server, "What it corrects")
    names = [name for name, _ in found]
    place = names.index("withdrawn")
    assert words(found[:place]) == "The red river here"
    assert words(found[place:]) == "The blue Danube river"


@pytest.fixture(scope="module")
def client(server: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=0)


def chat(client: openai.OpenAI, question: str) -> list[str]:
    message: Any = [{"role": "user", "content": question}]
    stream = client.chat.completions.create(model="single", messages=message, stream=True)
    return [choice.delta.content or "" for chunk in stream for choice in chunk.choices]


def test_chunks_are_written_as_the_model_writes(client: openai.OpenAI, model: FaultServer) -> None:
    message: Any = [{"role": "user", "content": "What waits in a chat"}]
    stream = client.chat.completions.create(model="single", messages=message, stream=True)
    text = ""
    while text != "The blue":
        text += next(stream).choices[0].delta.content or ""
    model.releases.set()
    text += "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
    model.releases.clear()
    assert text.startswith("The blue Danube river\n\nSources:\n1. ")


def test_chunks_end_with_an_error_and_say_a_correction(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError, match="broke its reply off"):
        chat(client, "What breaks off in a chat")
    text = "".join(chat(client, "What it corrects in a chat"))
    assert text.startswith("The red river here\n\nCorrected: The blue Danube river\n\nSources:")
    text = "".join(chat(client, "What about nothing in a chat"))
    assert text == "The documents of this graph do not state the answer."
