"""A run that an endpoint breaks off goes on where it was: no reply is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointError, SaragError
from sarag_rdf.base.ports import LLM, Reply
from sarag_rdf.base.types import Source
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.models.client import OpenAIEmbedder
from sarag_rdf.models.openai_llm import OpenAILLM
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.llm.extractor import LLMExtractor
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import FaultServer, Play, data, failure, hang, playing, raw, relay, reset
from tests.sample_graph import CapitalExtractor, embeddings, nquads

SOURCES = [
    Source(f"Ada knows Ulm. It was seen {number} times.", f"Part {number}", f"{number}.txt")
    for number in range(5)
]
CALLS = 2 * len(SOURCES)
"""Two a document."""
ENTITY = {"type": "person", "aliases": [], "information": "Ada knows Ulm."}
ENTITIES = {"entities": [{"name": "Ada", **ENTITY}, {"name": "Ulm", **ENTITY}]}
RELATIONSHIPS = {
    "relationships": [
        {"subject": "Ada", "phrase": "knows", "object": "Ulm", "sentence": "Ada knows Ulm."}
    ]
}
FAULTS: dict[str, Play] = {
    "reset": reset,
    "429": failure(429, "slow down", Retry_After="0.01"),
    "500": failure(500, "out of order"),
    "503": failure(503, "busy", Retry_After="0.01"),
    "401": failure(401, "no"),
    "hang": hang,
    "truncated": raw(200, b'{"id": "1", "choi'),
    "empty": raw(200, b""),
    "web page": raw(200, b"<html>Hi</html>", Content_Type="text/html"),
    "other JSON": raw(200, b'{"a": 1}'),
    "redirect": raw(307, b"", Location="http://127.0.0.1:9/v1"),
}


class Flow:
    """Plays `good` for so many requests and then a fault; `good` alone once it is mended."""

    def __init__(self, good: Play, sound: int, fault: Play) -> None:
        self._good, self._sound, self._fault = good, sound, fault
        self.answered = self.failed = 0
        self.asked: list[str] = []
        """What was answered."""
        self.mended = False

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        if self.mended or self.answered < self._sound:
            self.answered += 1
            owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
            self.asked.append(json.dumps(owner.bodies[-1]))
            self._good(handler)
        else:
            self.failed += 1
            self._fault(handler)


def chat(handler: BaseHTTPRequestHandler) -> None:
    """Answer as a model would that has read the prompt."""
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    name = owner.bodies[-1]["response_format"]["json_schema"]["name"]
    data(ENTITIES if name == "entities" else RELATIONSHIPS)(handler)


def index(
    folder: Path,
    base_url: str,
    model: str = "m",
    around: Callable[[LLM], LLM] = lambda llm: llm,
    seconds: float = 60,
    count: int = len(SOURCES),
) -> int:
    """Index with a new client and the cache of replies in `folder`; how many sources came."""
    llm = OpenAILLM(ModelEndpoint(base_url, model, timeout=seconds), max_retries=1)
    cached = CachedLLM(around(llm), folder / "replies.sqlite")
    try:
        with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
            return kg.index(SOURCES[:count], extractor=LLMExtractor(cached, 1)).added
    finally:
        cached.close()


def evidence(folder: Path) -> list[str]:
    """What the graph holds, but for what says when it was made."""
    lines = nquads(folder / "kg").splitlines()
    return [line for line in lines if "/graph/meta>" not in line and "/graph/runs>" not in line]


@pytest.mark.parametrize(
    ("fault", "sound"), [*((fault, 3) for fault in FAULTS), ("reset", 0), ("500", 6)]
)
def test_no_reply_is_paid_for_twice(tmp_path: Path, fault: str, sound: int) -> None:
    flow = Flow(chat, sound, FAULTS[fault])
    with playing(flow) as server:
        with pytest.raises(EndpointError) as caught:
            index(tmp_path / "a", server.base_url, seconds=2 if fault == "hang" else 60)
        assert "\n" not in str(caught.value)
        assert (flow.answered, 1 <= flow.failed <= 2) == (sound, True)
        with sarag_rdf.open(tmp_path / "a" / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
            assert kg.stats()["sources"] == sound // 2  # what was done is kept
            assert fsck(kg).in_order
        flow.mended = True
        assert index(tmp_path / "a", server.base_url) == len(SOURCES) - sound // 2
        assert flow.answered == CALLS
        assert index(tmp_path / "a", server.base_url) == 0
        assert flow.answered == CALLS
        index(tmp_path / "b", server.base_url)
    assert evidence(tmp_path / "a") == evidence(tmp_path / "b")


@pytest.mark.parametrize("fault", ["reset", "500", "truncated", "hang"])
def test_no_vector_is_paid_for_twice(tmp_path: Path, fault: str) -> None:
    flow = Flow(embeddings, 2, FAULTS[fault])
    sources = [Source(f"Ada{n} knows Ulm{n}. Ulm{n} lies.", "", f"{n}.txt") for n in range(40)]

    def embed(folder: Path, server: FaultServer, seconds: float = 60) -> None:
        embedder = OpenAIEmbedder(
            ModelEndpoint(server.base_url, "m", timeout=seconds), max_retries=1, batch_size=16
        )
        with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as kg:
            kg.index(sources, extractor=CapitalExtractor())

    with playing(flow) as server:
        with pytest.raises(EndpointError):
            embed(tmp_path / "a", server, 2 if fault == "hang" else 60)
        assert (flow.answered, 1 <= flow.failed <= 2) == (2, True)
        flow.mended = True
        embed(tmp_path / "a", server)
        disturbed = flow.answered
        embed(tmp_path / "b", server)
        assert flow.answered == 2 * disturbed
        texts = [text for body in server.bodies[-disturbed:] for text in body["input"]]
        assert len(texts) == len(set(texts)) > 48


class Narrow:
    """A model that may say little: a small one, too, keeps to the schema then."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.model = llm.model
        self.base_url = getattr(llm, "base_url", "")

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        text = json.dumps(schema)
        wire: dict[str, Any] = json.loads(text)
        items = wire["properties"][name]
        items["minItems"] = items["maxItems"] = 2
        for key, value in items["items"]["properties"].items():
            if value.get("type") == "array":
                value["maxItems"] = 0
            elif "enum" not in value:
                value.clear()
                value["enum"] = ["Ada", "Ulm"] if key == "name" else ["Ada knows Ulm."]
        return self._llm.complete(prompt, wire, name=name, max_tokens=256)


@pytest.mark.llm
def test_a_real_model_is_not_asked_twice(llm_server: str, tmp_path: Path) -> None:
    flow = Flow(relay(llm_server.removesuffix("/v1")), 1, reset)
    with playing(flow) as server:
        with pytest.raises(SaragError, match="no connection"):
            index(tmp_path, server.base_url, "smollm2", Narrow, count=2)
        assert (flow.answered, flow.failed) == (1, 2)
        flow.mended = True
        index(tmp_path, server.base_url, "smollm2", Narrow, count=2)
        answered = flow.answered
        assert len(set(flow.asked)) == answered > 1
        (tmp_path / "first").mkdir()
        (tmp_path / "kg").rename(tmp_path / "first" / "kg")
        index(tmp_path, server.base_url, "smollm2", Narrow, count=2)
        assert flow.answered == answered  # all replies are at hand
    assert evidence(tmp_path) == evidence(tmp_path / "first")
