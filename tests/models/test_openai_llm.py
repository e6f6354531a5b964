from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import (
    ContextTooLongError,
    EndpointAuthError,
    EndpointDownError,
    EndpointError,
    EndpointTimeoutError,
    RateLimitError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.base.ports import LLM, Reply
from sarag_rdf.base.types import Usage
from sarag_rdf.models.client import endpoint_model
from sarag_rdf.models.json_reply import parse_reply
from sarag_rdf.models.openai_llm import OpenAILLM
from tests.fault_server import (
    FaultServer,
    Play,
    completion,
    data,
    failure,
    hang,
    playing,
    raw,
    reset,
)

KEY = "sk-secret-0123456789"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "maxLength": 20},
        "kind": {"type": "string", "enum": ["noun", "verb"]},
    },
    "required": ["word", "kind"],
    "additionalProperties": False,
}
GOOD = {"word": "tree", "kind": "noun"}


def llm_of(
    base_url: str, *, api_key: str | None = KEY, max_retries: int = 1, **options: Any
) -> OpenAILLM:
    given: dict[str, Any] = {"model": "m", "timeout": 5.0} | options
    endpoint = ModelEndpoint(base_url, **given)
    return OpenAILLM(endpoint, api_key=api_key, max_retries=max_retries)


def ask(server: FaultServer | str, **options: Any) -> Reply:
    base_url = server if isinstance(server, str) else server.base_url
    return llm_of(base_url, **options).complete("Say.", SCHEMA, name="word", max_tokens=32)


def expect(
    error: type[EndpointError], *acts: Play, calls: int, says: str, **options: Any
) -> EndpointError:
    with playing(*acts) as server, pytest.raises(EndpointError) as caught:
        ask(server, **options)
    assert type(caught.value) is error
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert KEY not in message
    assert len(server.requests) == calls
    return caught.value


def test_request_and_usage() -> None:
    with playing(data(GOOD)) as server:
        reply = ask(server, price_in=2.0, price_out=8.0)
    assert reply == Reply(GOOD, Usage(1, 0, 10, 5, (10 * 2 + 5 * 8) / 1e6))
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Say."}],
            "max_tokens": 32,
            "temperature": 0.0,
            "seed": 0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "word", "strict": True, "schema": SCHEMA},
            },
        }
    ]


def test_building_makes_no_request_and_hides_the_key() -> None:
    llm: LLM = llm_of("http://127.0.0.1:1/v1")
    assert llm.model == "m"
    assert isinstance(llm, OpenAILLM)
    assert llm.base_url == "http://127.0.0.1:1/v1"
    assert KEY not in repr(llm)


def test_a_url_with_a_password_is_refused() -> None:
    with pytest.raises(UsageError, match="SARAG_API_KEY") as caught:
        llm_of("http://user:secret@127.0.0.1:1/v1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("sarag", "openai_key", "sent"),
    [("one", "two", "one"), (None, "two", "two"), (None, None, "none"), ("", " two\n", "two")],
)
def test_key_from_environment(
    monkeypatch: pytest.MonkeyPatch, sarag: str | None, openai_key: str | None, sent: str
) -> None:
    for name, value in (("SARAG_API_KEY", sarag), ("OPENAI_API_KEY", openai_key)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    seen: list[str | None] = []

    def act(handler: Any) -> None:
        seen.append(handler.headers.get("authorization"))
        data(GOOD)(handler)

    with playing(act) as server:
        ask(server, api_key=None)
    assert seen == [f"Bearer {sent}"]


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\nb"])
def test_impossible_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="SARAG_API_KEY") as caught:
        llm_of("http://127.0.0.1:1/v1", api_key=key)
    assert key not in str(caught.value)


def test_impossible_base_url() -> None:
    with pytest.raises(UsageError, match="use http://HOST/PATH"):
        llm_of("localhost:8080")


def test_rate_limit_obeys_retry_after() -> None:
    with playing(failure(429, "slow down", Retry_After="1"), data(GOOD)) as server:
        assert ask(server).data == GOOD
    (first, _), (second, _) = server.requests
    assert 1.0 <= second - first < 3.0


def test_rate_limit_without_retry_after_backs_off() -> None:
    with playing(failure(429, "slow down"), data(GOOD)) as server:
        assert ask(server).data == GOOD
    (first, _), (second, _) = server.requests
    assert 0.3 <= second - first < 2.0


def test_rate_limit_is_raised_after_bounded_retries() -> None:
    act = failure(429, "slow down", Retry_After="0.05")
    expect(RateLimitError, act, calls=4, says="lower the concurrency", max_retries=3)


def test_retry_after_of_hours_does_not_wait() -> None:
    begun = time.monotonic()
    act = failure(429, "tomorrow", Retry_After="86400")
    with playing(act) as server, pytest.raises(RateLimitError, match="It said: tomorrow"):
        ask(server)
    assert time.monotonic() - begun < 5
    assert len(server.requests) <= 2


def test_server_error_is_retried_then_raised() -> None:
    expect(EndpointDownError, failure(500, "oh"), calls=2, says="failed with status 500")


def test_server_error_once_is_survived() -> None:
    with playing(failure(503, "loading model"), data(GOOD)) as server:
        assert ask(server).data == GOOD
    assert len(server.requests) == 2


def test_reset_in_the_middle() -> None:
    expect(EndpointDownError, reset, calls=2, says="no connection with http://127.0.0.1:")


def test_hang_times_out() -> None:
    begun = time.monotonic()
    expect(EndpointTimeoutError, hang, calls=2, says="longer timeout", timeout=0.3)
    assert time.monotonic() - begun < 5


def test_refused_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(
        EndpointDownError, match="start the server, or check the base URL"
    ) as caught:
        ask(url)
    assert url in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_is_not_retried(status: int) -> None:
    expect(EndpointAuthError, failure(status, f"bad key {KEY}"), calls=1, says="set SARAG_API_KEY")


def test_echoed_key_is_blanked() -> None:
    error = expect(EndpointError, failure(400, f"hm {KEY}"), calls=1, says="(400)")
    assert "hm ***" in str(error)


@pytest.mark.parametrize(
    "message",
    [
        "request (9031 tokens) exceeds the available context size (4096 tokens)",
        "This model's maximum context length is 4096 tokens. However, you requested 5000",
        "prompt is too long: 9 > 8",
    ],
)
def test_context_too_long(message: str) -> None:
    expect(ContextTooLongError, failure(400, message), calls=1, says="use smaller chunks")


def test_unknown_model_or_path() -> None:
    expect(EndpointError, failure(404, "no model m"), calls=1, says="mostly ends in /v1")


def test_content_filter_fails_the_prompt_alone() -> None:
    act = failure(400, "The response was filtered: content management policy")
    expect(UnparsableReplyError, act, calls=1, says="content filter")


@pytest.mark.parametrize(
    "act",
    [
        raw(200, b"<html>Welcome</html>", Content_Type="text/html"),
        raw(200, b"{not json"),
        raw(200, b'{"error": {"message": "no provider"}}'),
        raw(200, b"[]"),
    ],
)
def test_not_an_openai_endpoint(act: Play) -> None:
    expect(EndpointError, act, calls=1, says="did not answer like an OpenAI-compatible endpoint")


def test_cut_reply_gets_twice_the_room() -> None:
    with playing(completion('{"word": "tr', finish="length"), data(GOOD)) as server:
        reply = ask(server)
    assert reply.data == GOOD
    assert reply.usage == Usage(2, 0, 20, 10)
    assert [body["max_tokens"] for body in server.bodies] == [32, 64]


def test_reply_cut_twice() -> None:
    act = completion('{"word": "tr', finish="length")
    expect(TruncatedReplyError, act, calls=2, says="within 64 tokens")


def test_cut_reply_when_there_is_no_more_room() -> None:
    acts = (completion("{", finish="length"), failure(400, "max_tokens is too large: 64"))
    expect(TruncatedReplyError, *acts, calls=2, says="smaller chunks")


def test_wrong_schema_is_repaired_once() -> None:
    with playing(data({"word": "tree", "kind": "adverb"}), data(GOOD)) as server:
        reply = ask(server)
    assert reply.data == GOOD
    assert reply.usage.calls == 2
    shown = server.bodies[1]["messages"]
    assert [message["role"] for message in shown] == ["user", "assistant", "user"]
    assert "at $.kind: 'adverb' is not one of ['noun', 'verb']" in shown[2]["content"]


@pytest.mark.parametrize(
    "text", ["I would rather not.", '{"word": "tree", "ki', '{"word": 3}', "", "[1, 2]"]
)
def test_reply_that_stays_wrong(text: str) -> None:
    expect(UnparsableReplyError, completion(text), calls=2, says="use a larger model")


def test_refusal() -> None:
    act = completion(None, refusal="I cannot")
    expect(UnparsableReplyError, act, calls=1, says="refused to answer 'word': I cannot")


def test_worst_case_is_four_completions() -> None:
    cut, bad = completion("{", finish="length"), completion("no")
    expect(UnparsableReplyError, cut, bad, cut, bad, calls=4, says="no valid reply to 'word'")


def test_falls_back_to_json_object_and_remembers() -> None:
    acts = (failure(400, "This response_format type is unavailable now"), data(GOOD))
    with playing(*acts) as server:
        llm = llm_of(server.base_url)
        for _ in range(2):
            assert llm.complete("Say.", SCHEMA, name="word", max_tokens=32).data == GOOD
    formats = [body["response_format"]["type"] for body in server.bodies]
    assert formats == ["json_schema", "json_object", "json_object"]
    prompt = server.bodies[1]["messages"][0]["content"]
    assert prompt.startswith("Say.\n")
    assert json.dumps(SCHEMA) in prompt


def test_falls_back_only_once() -> None:
    act = failure(400, "response_format is not supported")
    expect(EndpointError, act, calls=2, says="refused the request (400)")


def test_bounds_that_the_endpoint_does_not_know_are_left_out() -> None:
    acts = (failure(400, "In context=(), 'maxLength' is not permitted"), data(GOOD))
    with playing(*acts) as server:
        assert ask(server).data == GOOD
    sent = server.bodies[1]["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["word"] == {"type": "string"}
    assert sent["properties"]["kind"] == SCHEMA["properties"]["kind"]


def test_options_that_newer_models_refuse_are_left_out() -> None:
    acts = (
        failure(400, "Unsupported parameter: use 'max_completion_tokens' instead"),
        failure(400, "'temperature' does not support 0 with this model", param="temperature"),
        data(GOOD),
    )
    with playing(*acts) as server:
        assert ask(server).data == GOOD
    last = server.bodies[-1]
    assert last["max_completion_tokens"] == 32
    assert not {"max_tokens", "temperature"} & set(last)


@pytest.mark.parametrize(
    "text",
    [
        '{"word": "tree", "kind": "noun"}',
        'Here you are:\n```json\n{"word": "tree", "kind": "noun"}\n```\nGood luck!',
        '{"word": "tree", "kind": "noun",}',
        "{'word': 'tree', 'kind': 'noun'}",
        '<think>{"word": "bush"}?</think>{"word": "tree", "kind": "noun"}',
    ],
)
def test_tolerant_parsing(text: str) -> None:
    assert parse_reply(text, SCHEMA) == GOOD


@pytest.mark.parametrize("text", ['{"a": [{"b": 1}', '{"a": [{"b": 1}, {"b"', '{"a": "x}'])
def test_a_reply_that_is_never_closed_is_not_completed(text: str) -> None:
    with pytest.raises(ValueError, match="closed"):
        parse_reply(text, {"type": "object"})


def test_deep_nesting_is_no_crash() -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_reply('{"a":' * 100_000 + "1" + "}" * 100_000, SCHEMA)


def test_lone_surrogates_are_replaced() -> None:
    parsed = parse_reply(r'{"word": "a\ud800b\ud83d\ude00", "kind": "noun"}', SCHEMA)
    assert parsed["word"] == "a\ufffdb\U0001f600"


def models(*names: str) -> Play:
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in names]
    return raw(200, json.dumps({"object": "list", "data": listed}).encode())


def test_endpoint_model() -> None:
    with playing(models("only")) as server:
        assert endpoint_model(ModelEndpoint(server.base_url)) == "only"


def test_endpoint_with_several_models_or_none() -> None:
    with playing(models("b", "a")) as server, pytest.raises(UsageError, match="name one of a, b"):
        endpoint_model(ModelEndpoint(server.base_url))
    with playing(models()) as server, pytest.raises(UsageError, match="serves no model"):
        endpoint_model(ModelEndpoint(server.base_url))


def test_endpoint_that_lists_no_models() -> None:
    act = raw(200, b"hello", Content_Type="text/plain")
    with playing(act) as server, pytest.raises(EndpointError, match="mostly ends in /v1"):
        endpoint_model(ModelEndpoint(server.base_url))
    with playing(failure(401, "no")) as server, pytest.raises(EndpointAuthError):
        endpoint_model(ModelEndpoint(server.base_url))


def test_real_server(llm_server: str) -> None:
    model = endpoint_model(ModelEndpoint(llm_server))
    llm = OpenAILLM(ModelEndpoint(llm_server, model), max_retries=0)
    reply = llm.complete("Give a noun.", SCHEMA, name="word", max_tokens=64)
    assert set(reply.data) == {"word", "kind"}
    assert reply.usage.calls >= 1
    assert reply.usage.tokens_in > 0
    assert reply.usage.tokens_out > 0


def test_real_server_context_too_long(llm_server: str) -> None:
    llm = OpenAILLM(ModelEndpoint(llm_server, "smollm2"), max_retries=0)
    with pytest.raises(ContextTooLongError, match="use smaller chunks"):
        llm.complete("word " * 10_000, SCHEMA, name="word", max_tokens=8)


def test_real_server_cut_reply(llm_server: str) -> None:
    llm = OpenAILLM(ModelEndpoint(llm_server, "smollm2"), max_retries=0)
    with pytest.raises(TruncatedReplyError, match="within 4 tokens"):
        llm.complete("Give a noun.", SCHEMA, name="word", max_tokens=2)
