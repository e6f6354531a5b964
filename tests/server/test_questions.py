"""``/search`` and ``/ask``: what the commands print, errors with codes, and their description."""

from __future__ import annotations

import inspect
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from openapi_spec_validator import validate

from sarag_rdf.base.options import declared_options
from sarag_rdf.base.types import Source
from sarag_rdf.plugins import explorer
from sarag_rdf.plugins.agents.openai_door import door as openai
from sarag_rdf.plugins.http_writes import graph_store
from sarag_rdf.server import sparql
from sarag_rdf.server.app import routes
from sarag_rdf.server.asking import FILE_OPTIONS, job_of
from sarag_rdf.server.openapi import openapi_document
from sarag_rdf.server.requests import Ask, Search
from sarag_rdf.server.serve_settings import ServeSettings
from tests.command import run_sarag
from tests.fault_server import FaultServer, data, playing
from tests.sample_graph import also_embeds, make_graph, remote_embedder
from tests.server.running import Got, Running, serving
from tests.strategies import RETRIEVERS

QUESTION = "Which river flows through the seat of Orbis?"
OPEN = (openai, graph_store.door, explorer.door)
DOORS = [open_(ServeSettings(Path()), None) for open_ in OPEN]  # type: ignore[arg-type]


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds, and answers from the first document."""
    said = {"reasoning": "D1.", "sufficient": True, "final_answer": "Ada", "citations": ["D1"]}
    data(said)(handler)


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(endpoint) as server:
        yield server


@pytest.fixture(scope="module")
def kg(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions") / "kg"
    return make_graph(folder, embedder=remote_embedder(model.base_url))


@pytest.fixture(scope="module")
def settings(model: FaultServer) -> dict[str, str]:
    return model.settings


@pytest.fixture(scope="module")
def server(kg: Path, settings: dict[str, str]) -> Iterator[Running]:
    with serving(kg, env=settings) as running:
        yield running


def is_error(got: Got, status: int, code: str, *words: str) -> None:
    assert got.status == status, got
    assert got.media_type == "application/json"
    error = got.json()["error"]
    assert error["code"] == code
    assert "\n" not in error["message"]
    for word in words:
        assert word in error["message"]


def schema(name: str) -> dict[str, Any]:
    document = openapi_document("http://a.example", routes())
    return {"$ref": f"#/components/schemas/{name}", "components": document["components"]}


def test_search_gives_what_the_command_gives(
    server: Running, kg: Path, settings: dict[str, str]
) -> None:
    options = {"k": 2, "n": 1, "c": 0.5, "limit": 2}
    flags = ("--retriever", "sarag:k=2:n=1:c=0.5", "--limit", "2")
    done = run_sarag("search", QUESTION, "--kg", kg, "--json", *flags, cwd=kg.parent, env=settings)
    got = server.ask("GET", "/search?" + urlencode({"q": QUESTION, **options}))
    assert got.status == 200, got.text
    assert got.json() == json.loads(done.out)
    posted = server.ask(
        "POST",
        "/search",
        json.dumps({"question": QUESTION, **options}),
        Content_Type="application/json",
    )
    assert posted.json() == got.json()
    jsonschema.validate(got.json(), schema("Found"))
    assert len(server.ask("GET", "/search?q=Ada&retriever=bm25").json()["documents"]) > 0


def test_ask_gives_what_the_command_gives(
    server: Running, kg: Path, settings: dict[str, str]
) -> None:
    done = run_sarag(
        *("ask", "Who founded Orbis?", "--reasoner", "single", "--kg", kg, "--json"),
        cwd=kg.parent,
        env=settings,
    )
    got = server.ask("GET", "/ask?" + urlencode({"q": "Who founded Orbis?", "reasoner": "single"}))
    assert got.status == 200, got.text
    assert got.json()["answer"] == "Ada"
    found, printed = got.json(), json.loads(done.out)
    for part in ("usage", "trace"):
        found.pop(part), printed.pop(part)  # the second reply comes from the cache
    assert found == printed
    jsonschema.validate(got.json(), schema("Answer"))


def test_without_a_match_the_list_is_empty_and_the_status_is_good(server: Running) -> None:
    got = server.ask("GET", "/search?q=zzz&retriever=bm25")
    assert (got.status, got.json()["documents"]) == (200, [])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/search", ["'q'"]),
        ("/search?q=", ["'q'"]),
        ("/search?q=a&q=b", ["more than once"]),
        ("/search?q=a&retriever=nope", ["unknown retriever 'nope'"]),
        ("/search?q=a&k=many", ["k of sarag must be an integer", "'many'"]),
        ("/search?q=a&limit=0", ["'limit': input should be greater than or equal to 1"]),
        ("/search?q=a&limit=100000", ["'limit': input should be less than or equal to 1000"]),
        ("/search?q=a&retriever=sarag:limit=1001", ["limit of sarag must be at most 1000"]),
        ("/search?q=a&retriever=" + 1001 * "a", ["'retriever'", "1000 characters"]),
        ("/search?q=a&tau_a=0.5", ["unknown option 'tau_a' of sarag"]),
        ("/search?q=a&reasoner=single", ["unknown option 'reasoner' of sarag"]),
        ("/search?q=a&weights=nope=1&weights=x=2", ["no such property or class"]),
        ("/search?q=a&weights=a=1,b", ["'a=1,b' is not an activation weight"]),
        ("/search?q=a&weights=", ["is not an activation weight"]),
        ("/search?q=a" + 101 * "&weights=a=1", ["'weights'", "at most 100"]),
        ("/ask?q=a&budget=0", ["'budget': input should be greater than or equal to 1"]),
        ("/ask?q=a&budget=many", ["'budget': input should be a valid integer"]),
        ("/search?q=a&preset=musique", ["preset"]),
        ("/search?q=%ff", ["UTF-8"]),
        ("/ask?q=a&base_url=http%3A%2F%2Fevil.example", ["unknown option 'base_url' of sarag"]),
        ("/ask?q=a&model=other", ["'model' names a file"]),
        ("/ask?q=a&tokenizer=%2Fetc%2Fpasswd", ["unknown option 'tokenizer' of sarag"]),
        ("/ask?q=a&reasoner=nope", ["unknown reasoner"]),
        ("/ask?q=a&context=whole%3Anope%3D1", ["whole"]),
    ],
)
def test_bad_questions(server: Running, path: str, words: list[str]) -> None:
    is_error(server.ask("GET", path), 400, "bad_request", *words)


@pytest.mark.parametrize(
    ("body", "type_", "status", "code"),
    [
        (b"{", "application/json", 400, "bad_request"),
        (b"[]", "application/json", 400, "bad_request"),
        (b"[" * 100_000, "application/json", 400, "bad_request"),
        (b'{"q": 3}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "k": true}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "k": 1.5}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "c": null}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "weights": 1}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "weights": [1]}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "weights": {"a": "1"}}', "application/json", 400, "bad_request"),
        (b'{"q": "a", "weights": {"a": true}}', "application/json", 400, "bad_request"),
        (b"\xff", "application/json", 400, "bad_request"),
        (b"q=a", "text/plain", 415, "wrong_media_type"),
        (b"#" * (2 << 20), "application/json", 413, "too_large"),
    ],
)
def test_bad_bodies(server: Running, body: bytes, type_: str, status: int, code: str) -> None:
    is_error(server.ask("POST", "/ask", body, Content_Type=type_), status, code)


def test_questions_at_the_same_time(server: Running) -> None:
    found: list[int] = []

    def ask() -> None:
        found.append(server.ask("GET", "/search?" + urlencode({"q": QUESTION})).status)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 6


def test_search_sees_what_was_indexed_beside_and_loads_models_once(
    tmp_path: Path, model: FaultServer, settings: dict[str, str]
) -> None:
    embedder = remote_embedder(model.base_url)
    kg = make_graph(tmp_path / "kg", embedder=embedder)
    with serving(kg, env=settings) as server:
        path = "/search?q=Ceres&retriever=bm25"
        assert server.ask("GET", path).json()["documents"] == []
        make_graph(kg, [Source("Ceres orbits Sol.", "Ceres", "ceres.txt")], embedder=embedder)
        assert server.ask("GET", path).json()["documents"][0]["title"] == "Ceres"


def test_a_model_that_is_down_is_told(kg: Path, settings: dict[str, str]) -> None:
    dead = {**settings, "SARAG_BASE_URL": "http://127.0.0.1:9/v1"}
    with serving(kg, env=dead) as server:
        got = server.ask("GET", "/ask?q=Is%20this%20new%3F")
        is_error(got, 502, "model_endpoint")


# --------------------------------------------------------------------------- Description


def test_the_description_is_openapi_and_names_every_path(server: Running) -> None:
    got = server.ask("GET", "/openapi.json")
    document = got.json()
    assert document["openapi"].startswith("3.1")
    validate(document)
    assert document["servers"] == [{"url": server.url}]
    paths: dict[str, set[str]] = {}
    for route in routes(DOORS):
        path = re.sub(r":\w+}", "}", str(getattr(route, "path", ""))).rstrip("/")
        paths.setdefault(path, set()).update(getattr(route, "methods", None) or ())
    pages = {"", "/sparql-editor", "/docs", "/openapi.json", "/static"}
    assert paths.keys() - pages == document["paths"].keys()
    for path, item in document["paths"].items():
        methods = {name.upper() for name in item if name != "parameters"}
        assert methods == paths[path] - {"HEAD"}, path


def closed(schema: Any) -> Any:
    """The schema without properties that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return more | {name: closed(each) for name, each in schema.items()}


_REPLIES: dict[str, list[str]] = {
    "/health": [""],
    "/search": [
        "?q=Ada",
        "?q=Ada&trace=true",
        "?q=x&limit=0",
        *(f"?q=Who+taught+Ada%3F&retriever={name}" for name in RETRIEVERS),
    ],
    "/ask": ["?q=Who+taught+Ada%3F", "?q=Ada&reasoner=cot", "?q=Ada&retriever=paths", "?q="],
    "/graph/neighbours": ["?iri=https://example.org/kg/entity/ada", "?iri=urn:none", "?iri="],
    "/graph/complete": ["?prefix=A", "?kind=class&prefix=E", "?kind=property", "?kind=x"],
    "/graph/prefixes": [""],
    "/graph/names": ["", "?over=none"],
    "/v1/models": [""],
    "/v1/models/{name}": [""],
    "/v1/chat/completions": ["", "?x=1"],
}
_BODIES: dict[str, Any] = {
    "/graph/names": ["https://example.org/kg/entity/ada", "urn:none"],
    "/v1/chat/completions": {"model": "single", "messages": [{"role": "user", "content": "Ada"}]},
}


def test_replies_have_what_the_description_says_and_no_more(server: Running) -> None:
    document = closed(server.ask("GET", "/openapi.json").json())
    described = {
        path
        for path, item in document["paths"].items()
        for operation in item.values()
        if "responses" in operation
        and "application/json" in operation["responses"].get("200", {}).get("content", {})
    }
    assert described == _REPLIES.keys()
    statuses = set()
    for path, queries in _REPLIES.items():
        method, body = ("POST", json.dumps(_BODIES[path])) if path in _BODIES else ("GET", None)
        for query in queries:
            kind = {"Content_Type": "application/json"} if body else {}
            url = path.replace("{name}", "cot") + query
            got = server.ask(method, url, body, token=False, **kind)
            statuses.add(got.status)
            responses = document["paths"][path][method.lower()]["responses"]
            response = responses.get(str(got.status), responses["default"])
            if "$ref" in response:
                response = document["components"]["responses"][response["$ref"].split("/")[-1]]
            schema = response["content"][got.media_type]["schema"]
            if got.media_type == "application/json":
                whole = {"components": document["components"], **schema}
                jsonschema.Draft202012Validator(whole).validate(got.json())
    assert {200, 400} <= statuses <= {200, 400, 502}  # the model fails some strategies


def parameters_of(path: str) -> set[str]:
    """Names of the parameters of a path, by any method, in the URL or in a body."""
    item = openapi_document("http://a.example", routes(DOORS))["paths"][path]
    listed = [*item.get("parameters", [])]
    names: set[str] = set()
    for method in item.keys() - {"parameters"}:
        listed += item[method].get("parameters", [])
        for content in item[method].get("requestBody", {}).get("content", {}).values():
            names |= content["schema"].get("properties", {}).keys()
    return names | {parameter["name"] for parameter in listed}


def test_the_description_has_the_parameters_that_questions_take() -> None:
    paths = openapi_document("http://a.example", routes())["paths"]
    for path, kind in (("/search", Search), ("/ask", Ask)):
        operation = paths[path]["get"]["parameters"]
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert {parameter["name"] for parameter in operation} == kind.model_fields.keys()
        assert schema["properties"].keys() == kind.model_fields.keys()
        for parameter in operation:
            if parameter["name"] == "weights":  # has more forms in a body
                assert parameter["schema"] in schema["properties"]["weights"]["anyOf"]
                continue
            written = {**parameter["schema"], "description": parameter["description"]}
            assert schema["properties"][parameter["name"]] == written


@pytest.mark.parametrize("name", RETRIEVERS)
def test_options_of_every_retriever_are_parameters(name: str) -> None:
    """With the values that they have by default, but the names of files."""
    body = openapi_document("http://a.example", routes())["paths"]["/search"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    given = {
        option.name: 10 if option.default is None else option.default
        for option in declared_options(RETRIEVERS[name])
        if option.name not in FILE_OPTIONS and option.name != "preset"
    }
    values = {"q": "a", "retriever": name, **given}
    jsonschema.validate(values, schema)
    options = job_of(Search.checked(values)).options["retriever"]
    assert {key: getattr(options, key) for key in given} == given


def test_the_description_has_the_parameters_of_the_sparql_protocols() -> None:
    """Every name that the code looks for in a query string or form, and no other."""
    text = inspect.getsource(sparql)
    names = set(re.findall(r'_(?:has|single|graphs)\(\w+, "([\w-]+)"\)', text, re.IGNORECASE))
    names |= set(re.findall(r'name == "([\w-]+)"', text))
    assert {"query", "update", "over", "using-graph-uri"} <= names
    assert parameters_of("/sparql") == names
    assert parameters_of("/update") == {name for name in names if name.startswith("us")} | {
        "update"
    }
    text = inspect.getsource(graph_store)
    assert parameters_of("/rdf-graph-store") == {"graph", "default"}
    assert '[("default", "")]' in text
    assert '[0][0] == "graph"' in text


def test_weights_are_repeated_or_an_object(server: Running) -> None:
    """A comma is part of an IRI; all forms give the same."""
    odd, other = "http://a.example/related,odd", "common:birthPlace"
    pairs = [("q", QUESTION), ("weights", f"{other}=2"), ("weights", "common:Place=0.5")]
    got = server.ask("GET", "/search?" + urlencode(pairs))
    assert got.status == 200, got.text
    assert got.json()["settings"]["weights"].count("=") == 2
    for weights in ({other: 2, "common:Place": 0.5}, [f"{other}=2", "common:Place=0.5"]):
        body = json.dumps({"q": QUESTION, "weights": weights})
        jsonschema.validate(json.loads(body), search_body())
        posted = server.ask("POST", "/search", body, Content_Type="application/json")
        assert posted.json() == got.json()
    got = server.ask("GET", "/search?" + urlencode({"q": QUESTION, "weights": f"{odd}=1"}))
    assert f"<{odd}>=1" in got.json()["settings"]["weights"]


def search_body() -> Any:
    content = openapi_document("http://localhost", routes())["paths"]["/search"]["post"][
        "requestBody"
    ]["content"]
    return content["application/json"]["schema"]


def test_parameters_of_retrievers(server: Running) -> None:
    """Options are parameters of their own or part of ``retriever``, with the same ranges."""
    asked = {"q": QUESTION, "retriever": "ppr", "damping": 0.3, "k": 4, "limit": 2}
    got = server.ask("GET", "/search?" + urlencode(asked))
    assert got.json()["settings"]["damping"] == 0.3
    spec = {"q": QUESTION, "retriever": "ppr:damping=0.3:k=9:limit=2", "k": 4}
    assert server.ask("GET", "/search?" + urlencode(spec)).json() == got.json()
    body = json.dumps({**asked, "k": 4.0})
    posted = server.ask("POST", "/search", body, Content_Type="application/json")
    assert posted.json() == got.json()
    wrong = {"q": QUESTION, "retriever": "sarag:decay=2"}
    for given in (wrong, {"q": QUESTION, "decay": 2}):
        is_error(
            server.ask("GET", "/search?" + urlencode(given)),
            400,
            "bad_request",
            "decay of sarag must be a number between 0 and 1, not 2.0",
        )
    preset = {"q": QUESTION, "retriever": "sarag-paper", "preset": "2wiki"}
    settings = server.ask("GET", "/search?" + urlencode(preset)).json()["settings"]
    assert (settings["k"], settings["n"]) == (10, 3)


def test_no_request_names_a_file(server: Running) -> None:
    is_error(server.ask("GET", "/search?q=a&model=/etc/passwd"), 400, "bad_request", "model")
    got = server.ask("GET", "/search?q=a&retriever=paths:model=/etc/passwd")
    is_error(got, 400, "bad_request", "'model' names a file")
