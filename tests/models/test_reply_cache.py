from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointDownError
from sarag_rdf.base.ports import LLM, Reply
from sarag_rdf.base.types import Usage
from sarag_rdf.models.caches import CachedLLM, SqliteCache
from sarag_rdf.models.openai_llm import OpenAILLM
from sarag_rdf.testing.fakes import QueuedLLM
from tests.fault_server import data, playing

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
KEY = "sk-secret-0123456789"


class Counting:
    """Passes calls on, and counts them."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.calls = 0

    @property
    def model(self) -> str:
        return self.llm.model

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        self.calls += 1
        return self.llm.complete(prompt, schema, name=name, max_tokens=max_tokens)


def numbers(count: int = 20) -> QueuedLLM:
    return QueuedLLM({"n": n} for n in range(count))


def ask(llm: LLM, prompt: str = "p", name: str = "a", max_tokens: int = 9) -> Reply:
    return llm.complete(prompt, SCHEMA, name=name, max_tokens=max_tokens)


def test_the_same_call_is_made_once(tmp_path: Path) -> None:
    inner = numbers()
    llm = CachedLLM(inner, tmp_path / "deep" / "replies.sqlite")
    assert ask(llm).usage.calls == 1
    assert ask(llm) == Reply({"n": 0}, Usage(cached_calls=1))
    llm.close()
    assert ask(llm) == Reply({"n": 0}, Usage(cached_calls=1))
    assert ask(CachedLLM(inner, tmp_path / "deep" / "replies.sqlite")).data == {"n": 0}
    assert len(inner.calls) == 1


def test_a_cached_reply_has_the_cost_of_its_call(tmp_path: Path) -> None:
    llm = CachedLLM(numbers(), tmp_path / "c")
    first, cached = ask(llm), ask(llm)
    assert first.first_usage is None
    assert (cached.usage, cached.first_usage) == (Usage(cached_calls=1), first.usage)
    assert cached.first_seconds >= 0.0


def stored(path: Path, value: bytes) -> CachedLLM:
    """A cache that has this value for the first call of `ask`, and a model that answers 1."""
    llm = CachedLLM(numbers(), path)
    ask(llm)
    llm.close()
    with closing(sqlite3.connect(path)) as database:
        [(key,)] = database.execute("SELECT key FROM kept").fetchall()
    with closing(SqliteCache(path, what="reply cache")) as cache:
        cache.put_many({key: value})
    return llm


def test_replies_that_an_earlier_version_stored(tmp_path: Path) -> None:
    reply = ask(stored(tmp_path / "c", b'{"n": 5}'))
    assert (reply.data, reply.usage, reply.first_usage) == ({"n": 5}, Usage(cached_calls=1), None)


@pytest.mark.parametrize(
    "entry",
    [b'{"data": {"n": 5}, "usage": 1, "seconds": 0}', b'{"data": 1, "usage": [], "seconds": ""}'],
)
def test_an_entry_of_another_form_is_asked_again(tmp_path: Path, entry: bytes) -> None:
    assert ask(stored(tmp_path / "c", entry)).data == {"n": 1}


def test_all_that_matters_is_in_the_key(tmp_path: Path) -> None:
    path = tmp_path / "c"
    llm = CachedLLM(numbers(), path)
    replies = [
        ask(llm),
        ask(llm, prompt="q"),
        ask(llm, name="b"),
        ask(llm, max_tokens=10),
        llm.complete("p", {**SCHEMA, "title": "t"}, name="a", max_tokens=9),
    ]
    assert [reply.data["n"] for reply in replies] == [0, 1, 2, 3, 4]
    assert ask(CachedLLM(QueuedLLM([{"n": 50}], model="other"), path)).data == {"n": 50}


def test_endpoint_temperature_and_seed_are_in_the_key(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with playing(data({"n": 1})) as one, playing(data({"n": 1})) as two:
        variants: list[dict[str, Any]] = [
            {"base_url": one.base_url},
            {"base_url": two.base_url},
            {"base_url": one.base_url, "seed": 1},
            {"base_url": one.base_url, "temperature": 0.5},
        ]
        for _ in range(2):
            for options in variants:
                ask(CachedLLM(OpenAILLM(ModelEndpoint(model="m", **options), api_key=KEY), path))
        assert len(one.requests) + len(two.requests) == len(variants)
        ask(CachedLLM(OpenAILLM(ModelEndpoint(one.base_url, "m"), api_key="another"), path))
        assert len(one.requests) == 3
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_errors_are_not_kept(tmp_path: Path) -> None:
    llm = CachedLLM(QueuedLLM([EndpointDownError("down"), {"n": 7}]), tmp_path / "c")
    with pytest.raises(EndpointDownError):
        ask(llm)
    assert ask(llm).data == {"n": 7}


def test_in_memory() -> None:
    llm = CachedLLM(numbers(), ":memory:")
    assert [ask(llm).usage.cached_calls for _ in range(3)] == [0, 1, 1]


def test_replies_are_not_shared_objects(tmp_path: Path) -> None:
    llm = CachedLLM(numbers(), tmp_path / "c")
    ask(llm).data["n"] = 99
    ask(llm).data["n"] = 99
    assert ask(llm).data == {"n": 0}


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"x" * 9])
def test_a_damaged_file_is_set_aside(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.sqlite"
    for number in (1, 2):
        path.write_bytes(content)
        llm = CachedLLM(numbers(), path)
        assert ask(llm).usage.calls == 1
        assert ask(llm).usage.cached_calls == 1
        llm.close()
        aside = tmp_path / f"c.sqlite.damaged-{number}"
        assert aside.read_bytes() == content
        assert f"renamed to {aside.name}" in caplog.text


def test_a_file_damaged_while_in_use(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "c"
    llm = CachedLLM(numbers(600), path)
    for n in range(300):
        ask(llm, prompt=f"{n}" * 50)
    llm.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    replies = [ask(llm, prompt=f"{n}" * 50) for n in range(3)]
    assert all(reply.usage.calls == 1 for reply in replies)
    assert "is damaged" in caplog.text
    assert ask(llm, prompt="0" * 50).usage.cached_calls == 1


def test_a_spoiled_row_is_asked_again(tmp_path: Path) -> None:
    llm = CachedLLM(numbers(), tmp_path / "c")
    ask(llm)
    with sqlite3.connect(tmp_path / "c") as database:
        database.execute("UPDATE kept SET value = '{'")
    assert ask(llm).data == {"n": 1}
    assert ask(llm).data == {"n": 1}


def test_a_place_that_cannot_hold_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "c", tmp_path):
        llm = CachedLLM(numbers(), path)
        assert [ask(llm).data["n"] for _ in range(3)] == [0, 1, 2]
    assert caplog.text.count("cannot write caches") == 2
    assert caplog.records[0].levelno == logging.WARNING


def test_threads(tmp_path: Path) -> None:
    inner = QueuedLLM({"n": 1} for _ in range(10_000))
    llm = CachedLLM(inner, tmp_path / "c")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            asked = pool.map(lambda i: ask(llm, prompt=str(i % 50)), range(800))
            assert all(reply.data == {"n": 1} for reply in asked)
    finally:
        sys.setswitchinterval(interval)
    assert 50 <= len(inner.calls) <= 50 * 8


def test_real_server_is_asked_once(llm_server: str, tmp_path: Path) -> None:
    inner = Counting(OpenAILLM(ModelEndpoint(llm_server, "smollm2"), max_retries=0))
    llm = CachedLLM(inner, tmp_path / "c")
    schema = {**SCHEMA, "properties": {"n": {"type": "integer", "enum": [1, 2, 3]}}}
    first = llm.complete("A number.", schema, name="n", max_tokens=32)
    second = llm.complete("A number.", schema, name="n", max_tokens=32)
    assert inner.calls == 1
    assert second == Reply(first.data, Usage(cached_calls=1))
