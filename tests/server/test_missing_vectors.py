"""A server whose graph lacks vectors embeds in steps, one for each request."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.asking import job_of
from sarag_rdf.server.jobs import AccessibleGraphs, JobReply, RequestError
from sarag_rdf.server.requests import Search
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import EmbeddingSteps, Worker, attempt
from sarag_rdf.testing.fakes import HashEmbedder


class SmallBatches(HashEmbedder):
    """Embeds two texts in one call."""

    batch_size = 2


def opened(folder: Path, **options: Any) -> KnowledgeGraph:
    return sarag_rdf.open(
        folder, embedder=SmallBatches(), endpoint=None, keep_vectors=False, **options
    )


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """Five imported entities without vectors."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<https://example.org/{n}> {label} "N {n}" .\n' for n in range(5)]
    (tmp_path / "numbers.nt").write_text("".join(lines))
    with opened(tmp_path / "kg") as graph:
        graph.import_graph(tmp_path / "numbers.nt", "rdf", embed=False)
    return tmp_path / "kg"


def test_each_request_embeds_on_and_tells_how_far_it_is(kg: Path, tmp_path: Path) -> None:
    """The time limit of zero allows one step in each request; each has a new process."""
    settings = ServeSettings(kg=kg, question_timeout=1e-9)
    job = job_of(Search.model_validate({"q": "Which number is N 1?", "retriever": "dense"}))
    for done in (2, 4):
        worker = Worker(settings, tmp_path, partial(opened, kg))
        error = attempt(job, worker)
        assert isinstance(error, RequestError)
        assert (error.status, error.headers["Retry-After"]) == (503, "1")
        assert f"embedding document texts, {done} of 5 are done" in str(error)
    worker.begin(AccessibleGraphs())
    reply = attempt(job, worker)
    assert isinstance(reply, JobReply)
    assert (reply.status, len(json.loads(reply.body())["documents"])) == (200, 5)


def test_the_time_of_a_request_counts_from_its_first_text() -> None:
    now = 100.0
    steps = EmbeddingSteps(30.0, lambda: now)
    advance = steps("embedding document texts", 10)
    now = 129.0
    advance(4)
    now = 130.0
    with pytest.raises(RequestError, match="6 of 10 are done"):
        advance(2)
    advance = steps("embedding entity texts", 3)
    advance(1)
    with pytest.raises(RequestError, match="2 of 3 are done"):
        advance(1)
    steps.begin()
    advance = steps("embedding document texts", 10)
    now = 200.0
    advance(10)
