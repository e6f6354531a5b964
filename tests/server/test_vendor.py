"""The bundled libraries of the pages: licensed, without eval, and the same bytes when rebuilt."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sarag_rdf.server.app import STATIC

VENDOR = STATIC / "vendor"
TOOLS = Path(__file__).parents[2] / "tools" / "explorer"


def test_every_pinned_library_has_its_licence() -> None:
    licences = (VENDOR / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    package = json.loads((TOOLS / "package.json").read_text(encoding="utf-8"))
    for name, version in package["dependencies"].items():
        assert f"\n{name} {version}\n" in licences
    assert licences.count("\nLicence: MIT\n") == licences.count("\nLicence: ")


def test_the_bundles_need_no_eval_and_no_other_server() -> None:
    for path in (*VENDOR.glob("*.js"), *STATIC.glob("*.js")):
        text = path.read_text(encoding="utf-8")
        assert "new Function(" not in text
        assert "eval(" not in text
        assert "importScripts(" not in text


@pytest.mark.browser
def test_the_script_rebuilds_the_same_bytes(tmp_path: Path) -> None:
    if not shutil.which("node") or not (TOOLS / "node_modules" / "esbuild").is_dir():
        pytest.skip("no esbuild, which  npm ci  in tools/explorer installs")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=TOOLS, check=True, timeout=120)
    names = sorted(path.name for path in VENDOR.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (VENDOR / name).read_bytes(), name
