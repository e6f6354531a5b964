"""The documentation is true: its commands parse, its links lead somewhere, its outputs are real.

``python -m tests.test_docs`` writes the table of settings and the outputs of SPARQL queries anew.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pyoxigraph
import pytest

import sarag_rdf
from sarag_rdf.cli.main import cli
from sarag_rdf.cli.output import show_table
from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.models.fakes import HashEmbedder
from sarag_rdf.ports import Triples
from sarag_rdf.vocab import PREFIXES
from tests.command import Sarag

ROOT = Path(__file__).parent.parent
INDEXING = ROOT / "docs" / "indexing.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUERIED = [page for page in PAGES if "```sparql" in page.read_text("utf-8")]
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

_FENCE = re.compile(
    r"^(?P<mark><!-- run -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SETTINGS = re.compile(r"(?<=<!-- settings -->\n).*?(?=<!-- end of settings -->)", re.DOTALL)
_QUERY_AND_OUTPUT = re.compile(
    r"(?P<before>^```sparql\n(?P<query>.*?)^```\n\n)```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
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


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_marked_commands_run(page: Path, sarag: Sarag, tmp_path: Path) -> None:
    skip_without_models()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page, "sh"):
        for arguments in commands(block) if block.runs else ():
            result = sarag(*arguments)
            assert result.code == 0, (arguments, result)


def skip_without_models() -> None:
    from sarag_rdf.extract.spacy.pipeline import load_pipeline
    from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, _packaged_path

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
        assert target.exists(), f"{page.name}: {link} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link} is no heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    prose = _FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+\s+(.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_table_of_settings_is_that_of_the_command_line() -> None:
    found = _SETTINGS.search(INDEXING.read_text("utf-8"))
    assert found
    assert found[0] == settings_table(), "write it anew with python -m tests.test_docs"


def settings_table() -> str:
    """Every option of every command: flag, variable, key, default, commands, meaning."""
    rows: dict[tuple[str, str, str, str, str], list[str]] = {}
    found = list(leaves(cli))
    for name, command in [("sarag", cli), *found]:
        for option in command.params:
            if isinstance(option, click.Option) and option.name != "version":
                rows.setdefault(_cells(option, key=name != "sarag"), []).append(name)
    lines = ["| flag | environment | sarag.toml | default | of | meaning |", "|" + " --- |" * 6]
    for (flag, variable, key, default, meaning), names in rows.items():
        of = "all" if len(names) == len(found) else ", ".join(names)
        lines.append(f"| {flag} | {variable} | {key} | {default} | {of} | {meaning} |")
    return "\n".join(lines) + "\n"


def leaves(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by its name behind those of its groups."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from leaves(command, f"{before}{name} ")
            else:
                yield f"{before}{name}", command


def _cells(option: click.Option, *, key: bool) -> tuple[str, str, str, str, str]:
    flags = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    long = next(name for name in option.opts if name.startswith("--"))
    default = option.default
    if option.is_flag:
        shown = "off"
    else:
        shown = f"`{default}`" if isinstance(default, int | float | str | Path) else ""
    meaning = option.help or ""
    if isinstance(option.type, click.Choice):
        meaning = f"{meaning} One of {', '.join(option.type.choices)}."
    return (
        flags,
        ", ".join(f"`{name}`" for name in variables),
        f"`{long.lstrip('-')}`" if key and option.envvar else "",
        shown,
        meaning.replace("|", "\\|"),
    )


@pytest.mark.parametrize("page", QUERIED, ids=lambda page: page.name)
def test_outputs_of_queries_are_true(page: Path) -> None:
    text = page.read_text("utf-8")
    queries = [block.body for block in blocks(page, "sparql")]
    shown = _QUERY_AND_OUTPUT.findall(text)
    assert len(shown) == len(queries), "each query is followed by its output"
    for match in _QUERY_AND_OUTPUT.finditer(text):
        assert match["output"] == output_of(match["query"]), "python -m tests.test_docs writes it"


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
            assert quad in known or "[...]" in quad.object.value, f"{page.name}: {quad}"


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
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
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
    text = INDEXING.read_text("utf-8")
    INDEXING.write_text(_SETTINGS.sub(lambda _: settings_table(), text), "utf-8")
    for page in QUERIED:
        text = _QUERY_AND_OUTPUT.sub(
            lambda match: f"{match['before']}```text\n{output_of(match['query'])}```",
            page.read_text("utf-8"),
        )
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
