"""The registry of formats: one line a suffix."""

from __future__ import annotations

from sarag_rdf.errors import UsageError
from sarag_rdf.index.read import html, json_, markdown, office, plain, table
from sarag_rdf.index.read.contract import Format

_MARKDOWN = Format(markdown.read, "text/markdown")
_HTML = Format(html.read, "text/html")
_JSON_LINES = Format(json_.read_lines, "application/x-ndjson", is_streamed=True)
_OOXML = "application/vnd.openxmlformats-officedocument."

FORMATS: dict[str, Format] = {
    ".txt": Format(plain.read, "text/plain"),
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": Format(html.read, "application/xhtml+xml"),
    ".json": Format(json_.read, "application/json"),
    ".jsonl": _JSON_LINES,
    ".ndjson": _JSON_LINES,
    ".csv": Format(table.read_commas, "text/csv", is_streamed=True),
    ".tsv": Format(table.read_tabs, "text/tab-separated-values", is_streamed=True),
    ".pdf": Format(office.read, "application/pdf", is_text=False),
    ".docx": Format(office.read, _OOXML + "wordprocessingml.document", is_text=False),
    ".pptx": Format(office.read, _OOXML + "presentationml.presentation", is_text=False),
    ".xlsx": Format(office.read, _OOXML + "spreadsheetml.sheet", is_text=False),
    ".epub": Format(office.read, "application/epub+zip", is_text=False),
}
RDF_SUFFIXES = frozenset({".jsonld", ".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl"})
"""Files that hold graphs, which ``sarag import`` takes."""


def stdin_format(name: str) -> Format:
    """Return the format of standard input; raise `UsageError` if it has no such format."""
    names = [suffix[1:] for suffix, form in FORMATS.items() if form.is_text]
    if name not in names:
        raise UsageError(
            f"'{name}' is not a format of standard input: give one of {', '.join(names)}"
        )
    return FORMATS[f".{name}"]
