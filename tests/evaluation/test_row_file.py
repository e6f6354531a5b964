"""Rows that are kept: found again, never lost, and nothing else is taken for one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.plugins.evaluation.runner import RowFile, key_of


def test_rows_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile(path) as kept:
        assert not path.exists()
        assert kept.get("a", ()) is None
        assert kept.put("a", {"n": 1, "text": "é\n\u2028\ud800"}) == {
            "key": "a",
            "n": 1,
            "text": "é\n\u2028\ud800",
        }
        kept.put("b", {"n": 2})
        assert len(path.read_bytes().splitlines()) == 2  # at once, and each on a line
    with RowFile(path) as kept:
        assert [record["n"] for record in kept] == [1, 2]
        assert kept.get("a", ["n", "text"]) == {"key": "a", "n": 1, "text": "é\n\u2028\ud800"}
        assert kept.get("b", ["n", "text"]) is None
        kept.put("a", {"n": 3})
    with RowFile(path) as kept:
        assert [record["n"] for record in kept] == [3, 2]
    assert len(path.read_bytes().splitlines()) == 3


def test_without_a_file() -> None:
    with RowFile() as kept:
        kept.put("a", {"n": 1})
        assert kept.get("a", ["n"]) == {"key": "a", "n": 1}


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_line_that_was_cut_short(tmp_path: Path, cut: int) -> None:
    """Wherever it was cut, it is as if it had not been written; what follows is whole."""
    path = tmp_path / "rows.jsonl"
    with RowFile(path) as kept:
        kept.put("a", {"n": 1})
        kept.put("b", {"n": 2})
    path.write_bytes(path.read_bytes()[:-cut])
    for round_ in range(2):
        with RowFile(path) as kept:
            known = ["a", "b"] if cut == 1 else ["a"]
            assert [record["key"] for record in kept] == known + round_ * ["c"]
            kept.put("c", {"n": 3})


def test_a_line_that_was_not_ended_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"key": "a", "n": 1}')
    with RowFile(path) as kept:
        kept.put("b", {"n": 2})
    with RowFile(path) as kept:
        assert [record["n"] for record in kept] == [1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"hello\n",
        b'{"key": "a"}\n[1]\n',
        b'{"key": "a"}\n{"id": "a"}\n',
        b'{"key": 3}\n',
        b'{"key": "a"}\n\xff\n',
        b'[{"title": "A", "text": "b"}]',
        b"\x89PNG\r\n",
        b"[" * 100_000,
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"rows\.jsonl, line \d: not a row.*--rows"):
        RowFile(path)
    assert path.read_bytes() == content


def test_a_folder_and_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        RowFile(tmp_path)


def test_two_writers_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code = (
        "import sys; from pathlib import Path\n"
        "from sarag_rdf.plugins.evaluation.runner import RowFile\n"
        "with RowFile(Path(sys.argv[1])) as kept:\n"
        "    for n in range(200): kept.put(f'{sys.argv[2]}{n}', {'text': sys.argv[2] * 5000})"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, path, name], cwd=Path(__file__).parents[2])
        for name in "ab"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    with RowFile(path) as kept:
        assert len(list(kept)) == 400
    lines = path.read_text("utf-8").splitlines()
    assert all(len(json.loads(line)["text"]) == 5000 for line in lines)


def test_keys() -> None:
    assert key_of("a", {"x": 1, "y": [2]}) == key_of("a", {"y": [2], "x": 1})
    keys = [key_of("a", 1), key_of("a1"), key_of(["a", 1]), key_of("a", "1"), key_of("a", None)]
    assert len(set(keys)) == len(keys)
