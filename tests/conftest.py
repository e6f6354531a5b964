"""What all tests share; none of them waits for a hub of models."""

import os
import re
from functools import cache
from pathlib import Path

import hypothesis
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported
for _kind in ("CONFIG", "STATE"):  # no settings of the user
    os.environ[f"XDG_{_kind}_HOME"] = f"/nonexistent/{_kind.lower()}"

# examples of a property that does not say how many it needs: SARAG_EXAMPLES=1000 looks harder
hypothesis.settings.register_profile(
    "sarag", max_examples=int(os.environ.get("SARAG_EXAMPLES", "50")), deadline=None
)
hypothesis.settings.load_profile("sarag")

pytest_plugins = [
    "tests.ci_skips",
    "tests.command",
    "tests.llm_server",
    "tests.servers",
    "tests.shared_models",
    "tests.vector_engines",
]

HERE = Path(__file__).parent
MARKED_FOLDERS = {
    HERE / "attack": pytest.mark.attack,
    HERE / "fuzz": pytest.mark.attack,
    HERE / "faults": pytest.mark.fault,
}
"""Folders whose tests all have a marker."""

UNMARKED = "tests.servers"
"""Files that import it may have tests with Virtuoso, which a fixture marks."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where tests with some markers are wanted, files that name none of them are not imported."""
    wanted = set(re.findall(r"\w+", config.option.markexpr)) - {"or"}
    if not wanted or wanted & {"and", "not"} or collection_path.is_dir():
        return None
    return not names_marker(collection_path, frozenset(wanted)) or None


@cache
def names_marker(file: Path, markers: frozenset[str]) -> bool:
    """Whether there may be tests with one of these markers in a file."""
    if file.parent in MARKED_FOLDERS:
        return MARKED_FOLDERS[file.parent].name in markers
    text = file.read_text("utf-8") if file.suffix == ".py" else ""
    return any(name in text for name in (*markers, UNMARKED))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = MARKED_FOLDERS.get(item.path.parent)
        if mark is not None:
            item.add_marker(mark)
        if "llm_server" in getattr(item, "fixturenames", ()):  # a real model, loaded once a process
            item.add_marker(pytest.mark.llm)
        if uses_virtuoso(item):
            item.add_marker(pytest.mark.virtuoso)
            assert names_marker(item.path, frozenset(["virtuoso"])), item
    items.sort(key=lambda item: item.get_closest_marker("minute") is None)


def uses_virtuoso(item: pytest.Item) -> bool:
    """Whether a test talks to the Virtuoso server of `tests.servers`, perhaps as one of several."""
    call = getattr(item, "callspec", None)
    texts = [value for value in call.params.values() if isinstance(value, str)] if call else []
    return "virtuoso" in (*getattr(item, "fixturenames", ()), *texts)
