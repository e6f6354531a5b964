"""JSON and JSON Lines: records ``{title?, text, id?}``, or ``{title: [sentence, ...]}``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sarag_rdf.read.format import ID_KEYS, TEXT_KEYS, Fault, Opened, Record, UnreadableError
from sarag_rdf.read.text import bounded_lines, read_decoded, text_stream, undecodable

_EXPECTED = 'expected {"title": ..., "text": ...}, a list of these, or {title: [sentences]}'
_ESCAPED = 6
"""Characters that one character takes as a JSON escape."""
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}


def read(opened: Opened) -> Iterator[Record | Fault]:
    """Yield the records of a JSON file, which is read whole.

    One object with a text is the sole record of its file.
    """
    value = _parsed(read_decoded(opened))
    if _is_linked_data(value):
        raise UnreadableError(
            "is JSON-LD, a graph and no document: import it with  sarag import FILE --as rdf "
            "--format jsonld"
        )
    if isinstance(value, dict):
        yield from _records(value, "the object", is_sole=True)
        return
    if not isinstance(value, list):
        raise UnreadableError(f"holds {_kind(value)}: {_EXPECTED}")
    for number, item in enumerate(value, 1):
        yield from _records(item, f"record {number}")


def read_lines(opened: Opened) -> Iterator[Record | Fault]:
    """Yield the records of a JSON Lines file, which is read line by line."""
    limit = _ESCAPED * opened.max_chars + 65_536
    with text_stream(opened, "\n") as stream:
        for number, line in enumerate(bounded_lines(stream, limit), 1):
            where = f"line {number}"
            if line is None:
                yield Fault(f"{where} is too long: split it, or raise the limit with --max-chars")
            elif undecodable(line):
                yield Fault(f"{where} is not UTF-8 text: save the file as UTF-8")
            elif line.strip():
                try:
                    value = _parsed(line)
                except UnreadableError as error:
                    yield Fault(f"{where} {error}")
                else:
                    yield from _records(value, where)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = (
            f"line {error.lineno} column {error.colno}"
            if "\n" in text.strip()
            else (f"column {error.colno}")
        )
        raise UnreadableError(f"is not JSON ({error.msg}, {place}): repair it") from None
    except RecursionError:
        raise UnreadableError(f"is nested too deeply: {_EXPECTED}") from None
    except ValueError as error:
        raise UnreadableError(f"is not usable JSON ({error}): repair it") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {_quoted(twice)} occurs twice in one object")
    return found


def _records(item: Any, where: str, *, is_sole: bool = False) -> Iterator[Record | Fault]:
    if not isinstance(item, dict):
        yield Fault(f"{where} is {_kind(item)}: {_EXPECTED}")
        return
    key = next((key for key in TEXT_KEYS if item.get(key) is not None), None)
    if key is not None:
        yield _record(item, key, where, is_sole=is_sole)
    elif item and all(_is_sentences(value) for value in item.values()):
        for title, sentences in item.items():
            yield Record(" ".join(sentences), title, "", f"{where}, {_quoted(title)}")
    else:
        found = ", ".join(map(_quoted, list(item)[:10])) or "none"
        yield Fault(f"{where} has no text (keys found: {found}): {_EXPECTED}")


def _record(item: dict[str, Any], key: str, where: str, *, is_sole: bool) -> Record | Fault:
    text = item[key]
    if _is_sentences(text):
        text = " ".join(text)
    if not isinstance(text, str):
        return Fault(f"{where} has {_kind(text)} as {key}: expected a string or a list of strings")
    title = item.get("title")
    identifier = next((item[name] for name in ID_KEYS if item.get(name) is not None), None)
    for name, value in (("title", title), ("id", identifier)):
        if isinstance(value, bool | dict | list):
            return Fault(f"{where} has {_kind(value)} as {name}: expected a string")
    return Record(text, _string(title), _string(identifier), where, is_sole=is_sole)


def _is_sentences(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _string(value: object) -> str:
    return "" if value is None else str(value)


def _is_linked_data(value: Any) -> bool:
    """Whether a file holds JSON-LD and no texts: an object with its keywords, or a list of such."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(v, dict) and _is_linked_data(v) for v in value)
    if not isinstance(value, dict) or any(value.get(key) is not None for key in TEXT_KEYS):
        return False
    return not {"@context", "@graph", "@id"}.isdisjoint(value)


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), "a number")


def _quoted(key: str) -> str:
    return json.dumps(key[:60])
