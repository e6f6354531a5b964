"""A model server that is still loading its model is waited for, and no longer than was said."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointDownError
from sarag_rdf.models.client import OpenAIEmbedder, endpoint_model
from sarag_rdf.models.openai_llm import OpenAILLM
from tests.command import Sarag, environment
from tests.fault_server import FaultServer, Play, data, failure, playing, raw
from tests.sample_graph import embeddings

SCHEMA: dict[str, Any] = {"type": "object"}
LOADING = json.dumps(
    {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
).encode()
"""What llama.cpp says."""
OTHERS = (
    b'{"error": "Model Qwen/Qwen2.5 is currently loading", "estimated_time": 20.0}',
    b'{"detail": "the model is loading"}',
)


def loading(body: bytes = LOADING, **headers: str) -> Play:
    return raw(503, body, **headers)


def llm_of(server: FaultServer, seconds: float) -> OpenAILLM:
    return OpenAILLM(ModelEndpoint(server.base_url, "m", loading_wait=seconds), max_retries=4)


def ask(llm: OpenAILLM) -> object:
    return llm.complete("q", SCHEMA, name="n", max_tokens=9).data


@pytest.mark.parametrize("body", [LOADING, *OTHERS])
def test_it_is_waited_for_and_said_once(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with playing(*[loading(body)] * 2, data({"a": 1})) as server:
        assert ask(llm_of(server, 60 if body is LOADING else 4)) == {"a": 1}
        assert len(server.requests) == 3
    said = [record.getMessage() for record in caplog.records if record.name.startswith("sarag")]
    seconds = 60 if body is LOADING else 4
    assert said == [f"the model server is still loading; waiting up to {seconds} s"]


def test_it_is_asked_no_more_when_the_time_is_over() -> None:
    """Not by the retries for other faults either."""
    with playing(loading(), data({"a": 1})) as server:
        with pytest.raises(EndpointDownError, match="--loading-wait"):
            ask(llm_of(server, 0))
        assert len(server.requests) == 1
    with playing(loading(Retry_After="3600")) as server:
        begun = time.monotonic()
        with pytest.raises(EndpointDownError, match="still loading its model"):
            ask(llm_of(server, 0.3))
        assert len(server.requests) == 2  # one more at the end
        assert time.monotonic() - begun < 30


def test_retry_after_counts_within_the_time() -> None:
    with playing(loading(Retry_After="0.4"), data({"a": 1})) as server:
        assert ask(llm_of(server, 60)) == {"a": 1}
        (first, _), (second, _) = server.requests
    assert second - first >= 0.4


def test_another_503_is_a_fault_like_others(caplog: pytest.LogCaptureFixture) -> None:
    with playing(failure(503, "too many requests", Retry_After="0.01"), data({"a": 1})) as server:
        assert ask(llm_of(server, 0)) == {"a": 1}
    assert "still loading" not in caplog.text


def test_the_list_of_models_and_embeddings_wait_too() -> None:
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "created": 0}]}
    good = raw(200, json.dumps(listed).encode())
    acts = [loading()] * 3
    with playing(*acts, good, *acts, embeddings) as server:
        assert endpoint_model(ModelEndpoint(server.base_url, loading_wait=2)) == "m"
        embedder = OpenAIEmbedder(ModelEndpoint(server.base_url, "m", loading_wait=2))
        assert embedder.embed(["a"]).shape[0] == 1
        assert len(server.requests) == 8


def test_several_threads_say_it_once(caplog: pytest.LogCaptureFixture) -> None:
    with playing(*[loading()] * 12, data({"a": 1})) as server:
        llm = llm_of(server, 4)
        threads = [threading.Thread(target=ask, args=(llm,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert caplog.text.count("still loading") == 1


def test_the_command_line_has_the_setting(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada knows Ulm.")
    with playing(loading()) as server:
        options = ("--extractor", "llm", "--base-url", server.base_url, "--loading-wait", "0.2")
        done = sarag("index", "a.txt", "--kg", "new", *options)
    assert done.code == 1
    assert "is still loading its model" in done.complaints[-1]


@pytest.mark.parametrize("model", [(), ("--model", "m")])
def test_ctrl_c_ends_the_wait(tmp_path: Path, model: tuple[str, ...]) -> None:
    """In the list of models, and in the threads that extract."""
    (tmp_path / "a.txt").write_text("Ada knows Ulm.")
    with playing(loading()) as server, (tmp_path / "said").open("wb") as said:
        command = ["index", "a.txt", "--extractor", "llm", "--base-url", server.base_url, *model]
        process = subprocess.Popen(
            [sys.executable, "-m", "sarag_rdf", *command, "--embedder", "openai:m"],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            until = time.monotonic() + 120
            while not server.requests and time.monotonic() < until:
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGINT)
            begun = time.monotonic()
            assert process.wait(45) == 130
            assert time.monotonic() - begun < 45  # and not the 60 s of the wait
        finally:
            process.kill()
            process.wait()
    told = (tmp_path / "said").read_text()
    assert "interrupted" in told
    assert "Traceback" not in told


def test_it_is_a_warning_of_the_library(caplog: pytest.LogCaptureFixture) -> None:
    """So that the command line writes it on standard error, and programs can do as they like."""
    with playing(loading(), data({"a": 1})) as server:
        ask(llm_of(server, 2))
    levels = [r.levelno for r in caplog.records if "still loading" in r.getMessage()]
    assert levels == [logging.WARNING]
