"""What is installed is pinned with hashes, and importing it reaches no network."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.command import environment

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"(?m)^([\w.-]+)==([^\s;]+)[^\n\\]*((?:\s*\\\n\s*--hash=sha256:[0-9a-f]{64})*)")


def pins(name: str) -> dict[str, tuple[str, int]]:
    """Package, normalised, -> its version, and the number of hashes."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return {
        re.sub(r"[-_.]+", "-", package).lower(): (version, hashes.count("--hash"))
        for package, version, hashes in PINNED.findall(text)
    }


def test_what_the_core_needs_is_pinned_with_hashes() -> None:
    locked = pins("locked.txt")
    assert all(hashes > 0 for _, hashes in locked.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[^\w.-]", line)[0].lower() for line in project["dependencies"]}
    assert len(needed) > 20
    assert needed <= locked.keys()


def test_both_lists_of_versions_agree() -> None:
    locked, constraints = pins("locked.txt"), pins("constraints.txt")
    both = locked.keys() & constraints.keys()
    assert len(both) > 10
    assert {name: locked[name][0] for name in both} == {name: constraints[name][0] for name in both}


IMPORT_ALL = """
import pkgutil, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        sys.stderr.write(f"{event}{arguments}")
        raise SystemExit(9)

sys.addaudithook(refuse)
import sarag_rdf
names = [module.name for module in pkgutil.walk_packages(sarag_rdf.__path__, "sarag_rdf.")]
for name in names:
    if not name.endswith("__main__"):
        __import__(name)
print(len(names))
"""


def test_no_import_reaches_the_network() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 200
    proof = IMPORT_ALL.replace("import sarag_rdf\n", "import socket; socket.getaddrinfo('x', 1)\n")
    done = subprocess.run([sys.executable, "-c", proof], capture_output=True, text=True)
    assert done.returncode == 9
