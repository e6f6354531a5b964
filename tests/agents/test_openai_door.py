"""``/v1``, asked by OpenAI's own client: models, answers whole and streamed, errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import openai
import pytest

from sarag_rdf.plugins.agents.openai_door import NO_ANSWER
from tests.fault_server import FaultServer, data, playing, send
from tests.sample_graph import also_embeds, embeddings, make_graph, remote_embedder
from tests.server.running import TOKEN, Running, serving
from tests.strategies import REASONERS

QUESTION = "Which river flows through the seat of Orbis?"
ANSWER = {"reasoning": "D1.", "sufficient": True, "final_answer": "Danube", "citations": ["D1"]}
CHAT: Any = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is a river?"},
    {"role": "assistant", "content": "Water."},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
]


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds; answers what is asked, unless the question is about nothing or everything."""
    prompt = json.dumps(asked)
    if "about nothing" in prompt:
        data({**ANSWER, "sufficient": False, "final_answer": "", "citations": []})(handler)
    elif "about everything" in prompt:
        send(handler, 401, b"{}")
    else:
        assert QUESTION in prompt
        assert "What is a river?" not in prompt
        data(ANSWER)(handler)


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(endpoint) as server:
        yield server


@pytest.fixture(scope="module")
def kg(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("door") / "kg"
    return make_graph(folder, embedder=remote_embedder(model.base_url))


@pytest.fixture(scope="module")
def server(kg: Path, model: FaultServer) -> Iterator[Running]:
    with serving(kg, "--question-workers", "1", env=model.settings) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=0)


def test_models_are_reasoners(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(REASONERS)
    assert client.models.retrieve("cot").owned_by == "sarag"
    with pytest.raises(openai.NotFoundError, match="choose from auto, closed-book"):
        client.models.retrieve("gpt")


def test_an_answer_has_sources_citations_and_usage(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="single:max_tokens=300", messages=CHAT, extra_body={"sarag": {"limit": 2}}
    )
    [choice] = done.choices
    assert choice.finish_reason == "stop"
    text = choice.message.content
    assert text is not None
    assert text.startswith("Danube\n\nSources:\n1. ")
    annotations = choice.message.annotations
    assert annotations is not None
    [annotation] = annotations
    cited = annotation.url_citation
    assert text[cited.start_index : cited.end_index].startswith(f"1. {cited.title} (")
    [citation] = done.model_extra["sarag"]["citations"]  # type: ignore[index]
    assert cited.url == citation["document"]
    assert citation["end"] > citation["begin"]
    assert done.usage is not None
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens > 0
    assert done.model == "single:max_tokens=300"


def test_a_stream_has_the_same_text_and_usage_if_it_is_asked_for(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="single", messages=CHAT)
    for with_usage in (False, True):
        options: Any = {"include_usage": True} if with_usage else openai.omit
        chunks = list(
            client.chat.completions.create(
                model="single", messages=CHAT, stream=True, stream_options=options
            )
        )
        deltas = [choice for chunk in chunks for choice in chunk.choices]
        assert deltas[0].delta.role == "assistant"
        text = "".join(choice.delta.content or "" for choice in deltas)
        assert text == whole.choices[0].message.content
        assert [choice.finish_reason for choice in deltas] == [None] * (len(deltas) - 1) + ["stop"]
        assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
        assert len({chunk.id for chunk in chunks}) == 1
        assert (chunks[-1].usage is not None) == with_usage


def test_the_asynchronous_client_streams_too(server: Running) -> None:
    async def streamed() -> str:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=TOKEN) as client:
            stream = await client.chat.completions.create(
                model="single", messages=CHAT, stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(streamed()).startswith("Danube")


def test_events_end_as_openai_ends_them(server: Running) -> None:
    body = json.dumps({"model": "single", "messages": CHAT, "stream": True})
    got = server.ask("POST", "/v1/chat/completions", body, Content_Type="application/json")
    assert got.media_type == "text/event-stream"
    events = got.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all(event.startswith("data: {") for event in events[:-2])


def test_no_answer_is_said(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "What about nothing?"}]
    done = client.chat.completions.create(model="single", messages=messages)
    assert done.choices[0].message.content == NO_ANSWER
    assert done.model_extra["sarag"]["outcome"] == "insufficient"  # type: ignore[index]


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"model": "gpt"}, 404, "no such model 'gpt': choose from auto, closed-book"),
        ({"model": ""}, 404, "no such model"),
        ({"model": 1}, 400, "'model'"),
        ({"model": "single:x=1"}, 400, "unknown option 'x' of single"),
        ({"messages": []}, 400, "'messages'"),
        ({"messages": CHAT[:1]}, 400, "no question"),
        ({"messages": "hello"}, 400, "'messages'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "is text"),
        ({"tools": [{"type": "function"}]}, 400, "'tools' is not supported"),
        ({"n": 2}, 400, "'n'"),
        ({"sarag": {"reasoner": "cot"}}, 400, "'sarag' must not have 'reasoner'"),
        ({"sarag": {"depth": 2}}, 400, "unknown option 'depth'"),
        ({"messages": [{"role": "user", "content": "all about everything"}]}, 502, "key"),
    ],
)
def test_errors_have_the_shape_of_openai(
    server: Running, changed: dict[str, Any], status: int, words: str
) -> None:
    body = json.dumps({"model": "single", "messages": CHAT, **changed})
    got = server.ask("POST", "/v1/chat/completions", body, Content_Type="application/json")
    assert got.status == status, got
    error = got.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert words in error["message"]
    assert "\n" not in error["message"]
    code = {404: "model_not_found", 502: "model_endpoint"}.get(status, "bad_request")
    assert error["code"] == code
    assert error["type"] == {404: "not_found_error", 502: "server_error"}.get(
        status, "invalid_request_error"
    )


def test_the_door_is_shut_without_an_endpoint_and_without_the_scope(
    kg: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.yml"
    tokens.write_text("anonymous:\n  scopes: [read]\ntokens: []\n")
    with serving(kg, "--tokens", str(tokens)) as running:
        url = f"{running.url}/v1"
        client = openai.OpenAI(base_url=url, api_key=TOKEN, max_retries=0)
        for key, error, words in (
            (TOKEN, openai.NotFoundError, "start sarag serve with --base-url"),
            ("wrong", openai.AuthenticationError, "unknown token"),
        ):
            client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
            with pytest.raises(error, match=words) as raised:
                client.models.list()
            assert raised.value.body["message"]  # type: ignore[index]
            with pytest.raises(error, match=words):
                client.chat.completions.create(model="single", messages=CHAT)
        got = running.ask("GET", "/v1/models")
        assert (got.status, got.json()["error"]["type"]) == (401, "authentication_error")


@pytest.mark.llm
def test_a_real_model_answers_through_the_door(llm_server: str, tmp_path: Path) -> None:
    with playing(embeddings) as embedder:
        folder = make_graph(tmp_path / "kg", embedder=remote_embedder(embedder.base_url))
    with serving(folder, env={"SARAG_BASE_URL": llm_server, "SARAG_SERVE_TOKEN": ""}) as running:
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0)
        stream = client.chat.completions.create(
            model="closed-book",
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        assert "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices)
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens > 0
