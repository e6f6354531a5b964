"""The documentation is true: its commands parse, its links resolve, its outputs are real.

``python -m tests.test_docs`` rewrites the generated parts of the reference and the outputs of
SPARQL queries.
"""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pyoxigraph
import pytest

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.ports import Triples
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.cli.answers import show_table
from sarag_rdf.cli.main import cli
from sarag_rdf.plugins import demo as demo_command
from sarag_rdf.testing.fakes import HashEmbedder
from tests import reference
from tests.command import Sarag
from tests.server.running import Running, serving

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
QUERIED = [page for page in PAGES if "```sparql" in page.read_text("utf-8")]


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=page_name)

_FENCE = re.compile(
    r"^(?P<mark><!-- run(?:: exit code \d)? -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_QUERY_AND_OUTPUT = re.compile(
    r"(?P<before>^```sparql\n(?P<query>.*?)^```\n\n)```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_RUN_AND_OUTPUT = re.compile(
    r"^<!-- run(?:: exit code (?P<code>\d))? -->\n```sh\n(?P<commands>.*?)^```$"
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_SERVED_AND_OUTPUT = re.compile(
    r"^<!-- served -->\n```sh\n(?P<commands>.*?)^```\n\n```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_DECIMALS = re.compile(r"\d+\.\d+")
_SEPARATORS = {"|", "||", "&&", ";", "&"}
_REDIRECTIONS = {">", ">>", "<"}


@dataclass(frozen=True)
class Block:
    """A fenced block; `runs` if it is marked to be run."""

    language: str
    body: str
    runs: bool


def blocks(page: Path, language: str) -> Iterator[Block]:
    for match in _FENCE.finditer(page.read_text("utf-8")):
        if match["language"] == language:
            yield Block(language, match["body"], bool(match["mark"]))


def commands(block: Block) -> list[list[str]]:
    """The arguments of every call of ``sarag`` in a block of shell lines."""
    found = []
    for line in block.body.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        parts = iter([*lexer, ";"])
        for word in parts:
            if word in _REDIRECTIONS:
                next(parts)
                continue
            if word not in _SEPARATORS:
                words.append(word)
                continue
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words and words[0] == "sarag":
                found.append(words[1:])
            words = []
    return found


def parse(arguments: list[str]) -> None:
    """Raise an error of click for what the command line would not take."""
    with cli.make_context("sarag", list(arguments)) as context:
        parse_rest(cli, context)


def parse_rest(group: click.Group, context: click.Context) -> None:
    """Parse what a group left to the command below it."""
    rest = [*context._protected_args, *context.args]
    name, command, rest = group.resolve_command(context, rest)
    assert command is not None
    with command.make_context(name, rest, parent=context) as inner:
        if isinstance(command, click.Group):
            parse_rest(command, inner)


@EACH_PAGE
def test_every_command_parses(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "sh"):
        for arguments in commands(block):
            try:
                parse(arguments)
            except click.ClickException as error:
                pytest.fail(f"sarag {shlex.join(arguments)}: {error.format_message()}")


def test_a_command_that_does_not_parse_is_found() -> None:
    block = Block("sh", 'A=1 sarag search "x y" --nope | sarag query - > out  # comment\n', False)
    assert commands(block) == [["search", "x y", "--nope"], ["query", "-"]]
    with pytest.raises(click.NoSuchOption):
        parse(["search", "x", "--nope"])


RUN = [page for page in PAGES if any(block.runs for block in blocks(page, "sh"))]


@pytest.mark.guide
@pytest.mark.parametrize("page", RUN, ids=page_name)
def test_marked_commands_run(
    page: Path,
    sarag: Sarag,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """They end with the exit code of the mark, 0 without one, and print the output shown."""
    monkeypatch.setenv("COLUMNS", "100")  # that of the outputs shown
    skip_without_models()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = page.read_text("utf-8")
    if "--kg demo/kg" in text:
        demo: Path = request.getfixturevalue("demo")
        shutil.copytree(demo / "demo" / "kg", tmp_path / "demo" / "kg")
    for match in _RUN_AND_OUTPUT.finditer(text):
        printed = ""
        if match["commands"].startswith("sed "):
            subprocess.run(["sh", "-ec", match["commands"]], cwd=tmp_path, check=True)
        for arguments in commands(Block("sh", match["commands"], True)):
            result = sarag(*arguments)
            assert result.code == int(match["code"] or 0), (arguments, result)
            printed += result.out
        if match["output"] is not None:
            assert shows(match["output"], printed), (match["commands"], printed)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo ran, with the examples and what it printed."""
    skip_without_models()
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "printed.txt").write_text(run_demo(folder), "utf-8")
    return folder


def run_demo(folder: Path) -> str:
    """What the demo prints; it runs in this process, which has the models."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        for name in [name for name in os.environ if name.startswith(("OPENAI_", "SARAG_"))]:
            patch.delenv(name)
        patch.setenv("COLUMNS", "100")
        patch.setattr(demo_command, "example_files", lambda: folder / "examples")
        patch.chdir(folder)
        demo_command.command.main([], standalone_mode=False)
    return printed.getvalue()


@pytest.mark.guide
def test_the_readme_shows_what_the_demo_prints(demo: Path) -> None:
    printed = (demo / "printed.txt").read_text("utf-8")
    passages, query, *_ = (block.body for block in blocks(ROOT / "README.md", "text"))
    assert shows(f"...\n{passages}...", printed)
    assert shows(f"...\n{query}", printed)


@pytest.mark.guide
def test_the_demo_prints_no_result_that_it_read_from_the_expected_answers(demo: Path) -> None:
    """With other answers in the file, only the lines that begin with "Expected" differ."""
    questions = demo / "examples" / "questions.json"
    answers = [each["answer"] for each in json.loads(questions.read_text("utf-8"))]
    text = questions.read_text("utf-8")
    for answer in answers:
        text = text.replace(f'"answer": "{answer}"', '"answer": "elsewhere"')
    questions.write_text(text, "utf-8")
    first = (demo / "printed.txt").read_text("utf-8").splitlines()
    second = run_demo(demo).splitlines()
    assert len(first) == len(second)
    differing = {a for a, b in zip(first, second, strict=True) if a != b}
    expected = {line for line in first if line.startswith("Expected ")}
    assert len(expected) == 3
    assert differing - expected <= {line for line in first if re.search(r"indexed|^done in", line)}


SERVED = [page for page in PAGES if "<!-- served -->\n" in page.read_text("utf-8")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for two documents of the example corpus."""
    skip_without_models()
    folder = tmp_path_factory.mktemp("served") / "kg"
    corpus = ROOT / "examples" / "corpus"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([corpus / "marie-curie.md", corpus / "warsaw.md"], extractor="spacy")
    with serving(folder, "--workers", "1") as running:
        yield running


@pytest.mark.parametrize("page", SERVED, ids=page_name)
def test_marked_requests_are_answered(page: Path, server: Running) -> None:
    """Blocks marked ``served`` are run with the server, and print the output shown."""
    text = page.read_text("utf-8")
    found = list(_SERVED_AND_OUTPUT.finditer(text))
    assert len(found) == text.count("<!-- served -->\n")
    for match in found:
        script = match["commands"].replace("http://localhost:7878", server.url)
        result = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=True)
        assert shows(match["output"], result.stdout), (script, result.stdout)


def shows(output: str, printed: str) -> bool:
    """Whether an output is that of a page, where ``...`` stands for any text.

    Decimals are not compared: they differ in their last digits between processors.
    """
    expected = re.escape(_DECIMALS.sub("#", output)).replace(re.escape("..."), ".*?")
    lines = "\n".join(line.rstrip() for line in _DECIMALS.sub("#", printed).splitlines()) + "\n"
    return re.fullmatch(expected, lines, re.DOTALL) is not None


def test_outputs_are_compared() -> None:
    assert shows("a 1.25\n...\nb\n", "a 1.24  \nany\nthing\nb\n")
    assert not shows("a 1.25\nb\n", "a 1.25\n")
    assert not shows("2 rows\n", "3 rows\n")


def skip_without_models() -> None:
    from sarag_rdf.extraction.spacy_extractor import load_pipeline
    from sarag_rdf.models.local_embedder import DEFAULT_MODEL, _packaged_path

    try:
        load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    if _packaged_path(DEFAULT_MODEL) is None:
        pytest.skip("the default embedding model's package is not installed")


@EACH_PAGE
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    prose = _FENCE.sub("", page.read_text("utf-8"))
    for link in _LINK.findall(prose):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page_name(page)}: {link} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{page_name(page)}: {link} is no heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    prose = _FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+\s+(.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "part"), reference.GENERATED)
def test_generated_parts_are_up_to_date(page: Path, part: str) -> None:
    found = reference.part_pattern(part).search(page.read_text("utf-8"))
    assert found
    assert found[0] == reference.GENERATED[page, part](), "run: python -m tests.test_docs"


def test_the_reference_describes_every_command_and_query() -> None:
    commands = [name for name, _ in reference.commands()]
    assert len(commands) > 20
    headings = anchors(reference.REFERENCE / "command-line.md")
    assert {f"sarag-{name.replace(' ', '-')}" for name in commands} <= headings
    queries = (reference.REFERENCE / "queries.md").read_text("utf-8")
    files = sorted((ROOT / "queries" / "sarag").glob("*.rq"))
    files += sorted((ROOT / "queries" / "index").glob("*.rq"))
    assert len(files) > 50
    for file in files:
        assert f"(../../{file.relative_to(ROOT).as_posix()})" in queries


def test_the_site_lists_every_page() -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"^ +- .*: ([\w/-]+\.md)$", config, re.MULTILINE)
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert pages <= set(listed)
    assert all((ROOT / name).exists() for name in set(listed) - pages)


def test_every_module_of_the_glossary_exists() -> None:
    named = set(re.findall(r"`(sarag_rdf(?:\.\w+)+)`", (DOCS / "glossary.md").read_text("utf-8")))
    assert len(named) > 50
    assert [module for module in sorted(named) if find_spec(module) is None] == []


def test_pages_that_the_code_names_exist() -> None:
    files = [ROOT / "Makefile", *ROOT.glob("*/*.md"), *ROOT.glob("ontology/*")]
    for folder in ("sarag_rdf", "benchmarks", "examples"):
        files += sorted((ROOT / folder).rglob("*.py"))
    found = 0
    for file in files:
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text("utf-8")):
            found += 1
            assert (ROOT / name).exists(), f"{file.relative_to(ROOT)}: {name} does not exist"
    assert found > 3


@pytest.mark.parametrize("page", QUERIED, ids=page_name)
def test_outputs_of_queries_are_true(page: Path) -> None:
    text = page.read_text("utf-8")
    queries = [block.body for block in blocks(page, "sparql")]
    shown = _QUERY_AND_OUTPUT.findall(text)
    assert len(shown) == len(queries), "each query is followed by its output"
    for match in _QUERY_AND_OUTPUT.finditer(text):
        assert match["output"] == output_of(match["query"]), "run: python -m tests.test_docs"


def output_of(query: str) -> str:
    """What ``sarag query`` prints over the example corpus, without blank margins."""
    result = example_graph().query(
        "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items()) + query
    )
    assert not isinstance(result, Triples)
    buffer = io.StringIO()
    with redirect_stdout(buffer):
        show_table(result)
    lines = [line.rstrip().removeprefix(" ") for line in buffer.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines if line)


@EACH_PAGE
def test_excerpts_of_the_graph_are_true(page: Path) -> None:
    """All quads that a page shows are in the example graph, but for shortened literals."""
    for block in blocks(page, "trig"):
        buffer = io.BytesIO()
        example_graph().export("trig", buffer)
        exported = buffer.getvalue()
        prefixes = b"".join(re.findall(rb"^@prefix .*\n", exported, re.MULTILINE))
        known = set(pyoxigraph.parse(exported, pyoxigraph.RdfFormat.TRIG))
        shown = list(pyoxigraph.parse(prefixes + block.body.encode(), pyoxigraph.RdfFormat.TRIG))
        assert shown
        for quad in shown:
            assert quad in known or "[...]" in quad.object.value, f"{page_name(page)}: {quad}"


WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "sarag_rdf").rglob("*.py"))
    if ">>> " in path.read_text("utf-8") and path.stem != "__init__"
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_are_true(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_every_promise_names_a_test_that_exists() -> None:
    page = (DOCS / "explanation" / "security.md").read_text("utf-8")
    promises = [line for line in page.splitlines() if line.startswith("| ") and "::" in line]
    assert len(promises) > 50
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page)
    assert len(named) >= len(promises)
    for file, name in named:
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{name}"


@cache
def example_graph() -> sarag_rdf.kg.graph.KnowledgeGraph:
    kg = sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None)
    try:
        kg.index(ROOT / "examples" / "corpus", extractor="spacy")
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return kg


def write() -> None:
    """Bring the generated parts of the documentation up to date."""
    reference.write()
    for page in QUERIED:
        text = _QUERY_AND_OUTPUT.sub(
            lambda match: f"{match['before']}```text\n{output_of(match['query'])}```",
            page.read_text("utf-8"),
        )
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
