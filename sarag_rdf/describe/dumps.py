"""Files of a data set that can be fetched: address, format, size and checksum."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sarag_rdf.errors import InputError, UsageError

MEDIA_TYPES = {
    "turtle": "text/turtle",
    "trig": "application/trig",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
    "jsonld": "application/ld+json",
    "rdfxml": "application/rdf+xml",
}


@dataclass(frozen=True, slots=True)
class Dump:
    """`size` in bytes and `sha256` are known of a local file."""

    url: str
    media_type: str
    size: int | None = None
    sha256: str = ""


def dump_of(text: str) -> Dump:
    """Read ``URL=FORMAT``, or a file's path in place of a URL; FORMAT may be a media type."""
    where, equals, format_ = text.rpartition("=")
    media_type = MEDIA_TYPES.get(format_, format_)
    if not equals or not where or "/" not in media_type:
        raise UsageError(
            f"'{text}' is no distribution: write URL=FORMAT or FILE=FORMAT, with one of "
            f"{', '.join(MEDIA_TYPES)}, or a media type"
        )
    parts = urlsplit(where)
    if parts.scheme in ("http", "https", "ftp"):
        return Dump(where, media_type)
    path = Path(unquote(parts.path) if parts.scheme == "file" else where)
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return Dump(path.resolve().as_uri(), media_type, path.stat().st_size, digest)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
