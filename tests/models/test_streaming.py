"""Replies that are read while they are written."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from itertools import pairwise

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointDownError, EndpointTimeoutError
from sarag_rdf.base.ports import StreamingLLM
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.models.openai_llm import OpenAILLM
from tests.fault_server import FaultServer, completion, failure, playing, streamed

SCHEMA = object_of(final_answer=string(100))
REPLY = json.dumps({"final_answer": "The Danube flows through Vienna."})


def ask(server: FaultServer) -> tuple[list[str], str, OpenAILLM]:
    llm = OpenAILLM(ModelEndpoint(server.base_url, "m"), max_retries=0)
    seen: list[str] = []
    reply = llm.stream("Which?", SCHEMA, name="answer", max_tokens=50, seen=seen.append)
    assert reply.usage.tokens_in == 10
    return seen, reply.data["final_answer"], llm


def test_the_text_grows_and_the_reply_is_that_without_a_stream() -> None:
    with playing(streamed(REPLY)) as server:
        seen, answer, llm = ask(server)
        assert answer == "The Danube flows through Vienna."
        assert seen[0] == ""
        assert seen[-1] == REPLY
        assert len(seen) > 5
        assert all(two.startswith(one) for one, two in pairwise(seen))
        assert server.bodies[0]["stream_options"] == {"include_usage": True}
        assert isinstance(llm, StreamingLLM)


def test_an_endpoint_that_does_not_stream_answers_all_the_same() -> None:
    with playing(completion(REPLY)) as server:
        seen, answer, _ = ask(server)
        assert (seen, answer) == ([""], "The Danube flows through Vienna.")
    with playing(failure(400, "unknown field stream_options"), streamed(REPLY)) as server:
        assert len(ask(server)[0]) > 5
        assert "stream_options" not in server.bodies[1]
    with playing(failure(400, "streaming is not supported"), completion(REPLY)) as server:
        assert ask(server)[0] == [""]
        assert "stream" not in server.bodies[1]


def test_a_reply_that_is_cut_or_ends_with_an_error_is_an_error() -> None:
    with (
        playing(streamed(REPLY, pieces=3)) as server,
        pytest.raises(EndpointDownError, match=r"broke its reply off .it ended before"),
    ):
        ask(server)
    with (
        playing(streamed(REPLY, pieces=3, error="out of memory")) as server,
        pytest.raises(EndpointDownError, match=r"broke its reply off .out of memory"),
    ):
        ask(server)


def test_a_reply_in_the_cache_is_not_streamed() -> None:
    with playing(streamed(REPLY)) as server:
        llm = CachedLLM(OpenAILLM(ModelEndpoint(server.base_url, "m")), ":memory:")
        seen: list[str] = []
        for _ in range(2):
            llm.stream("Which?", SCHEMA, name="answer", max_tokens=50, seen=seen.append)
        assert len(server.requests) == 1
        assert seen.count("") == 1


def test_a_stream_that_stops_is_timed_out() -> None:
    def hang(handler: BaseHTTPRequestHandler) -> None:
        streamed(REPLY, pieces=2, hang=True)(handler)

    with (
        playing(hang) as server,
        pytest.raises(EndpointTimeoutError, match="did not answer in time"),
    ):
        OpenAILLM(ModelEndpoint(server.base_url, "m", timeout=0.3), max_retries=0).stream(
            "Which?", SCHEMA, name="answer", max_tokens=50, seen=lambda _: None
        )
