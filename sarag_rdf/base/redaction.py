"""Removes the secrets of this process from text, in plain form and in common encodings.

Secrets are the values of environment variables (`VARIABLES`), and values passed to `remember`. They
are matched literally and, character by character and in any mixture, percent-encoded, as JSON or
Python escapes, as HTML or XML character references and in quoted-printable; and as a whole in
hexadecimal and in base64 or base64url at any offset, so that the ``user:password`` of HTTP Basic
authentication is matched by its password.

Two rules protect ordinary text. Values of fewer than `SHORTEST` characters are ignored. And a value
that could be an ordinary word or number (see `is_distinctive`), such as the key ``ollama`` that is
often set for a local server, is removed only from error messages of servers (`redacted_remark`),
not from replies, graphs and other messages.
"""

from __future__ import annotations

import html.entities
import logging
import os
import re
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Final
from urllib.parse import unquote, urlsplit

MASK: Final = "***"
VARIABLES: Final = (
    *("SARAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN"),
    *("SARAG_SPARQL_PASSWORD", "SARAG_SPARQL_TOKEN", "SARAG_SERVE_TOKEN"),
    *("SARAG_VECTORS_KEY", "PGPASSWORD"),
)
"""Environment variables whose values are secrets."""
USER: Final = "SARAG_SPARQL_USER"
"""The variable of a user name, which is removed from messages but may occur in data."""
SHORTEST: Final = 6
"""The minimum length of a value that is redacted."""
DISTINCTIVE: Final = 8
"""The minimum length of a value with mixed characters that is removed everywhere."""
LONG: Final = 16
"""The minimum length of any value that is removed everywhere."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_CHUNK: Final = 256
"""Longer secrets, such as JSON web tokens, are matched in pieces of this size."""
_PARAMETER: Final = re.compile(
    r"(?<=[?&;])([^=&;#]*(?:key|token|secret|passw|pwd|auth|sig|credential|session)[^=&;#]*)"
    r"=([^&;#]*)",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(
    r"(?<=//)(?:[^\s/?#\"'<>]*@"
    r"|(?!\[)[^\s/?#@:\"'<>]*:(?!\d*(?:[\s/?#\"'<>]|$))[^\s\"'<>]{0,256}@)"
)
"""User info before a host: up to the last ``@`` of the authority (RFC 3986, 3.2); beyond the first
slash only where the authority is no host and port, so that a password may hold one."""
_KEYWORD: Final = re.compile(r"(?<=password=)(?!\s)(?:'[^']*'|[^\s&;#\"']*)", re.IGNORECASE)
"""The password in a connection string of keywords, as PostgreSQL has them."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:[ ._-]+[^\W\d_]+)*")

_remembered: deque[str] = deque(maxlen=32)


def remember(*secrets: str) -> None:
    """Treat values as secrets from now on; at most 32 are remembered, the oldest are dropped."""
    for secret in secrets:
        if secret and secret not in _remembered:
            _remembered.append(secret)


def remember_url(url: str) -> None:
    """Remember the values of URL parameters with names such as ``token`` or ``key``."""
    remember(*(unquote(value) for _, value in _PARAMETER.findall(url)))


def holds_password(url: str) -> bool:
    """Whether a URL contains user info (``user:password@``)."""
    return _USER_INFO.search(url) is not None


def masked(url: str) -> str:
    """A URL without user info, for messages."""
    return _USER_INFO.sub("", url)


def public_origin(url: str) -> str:
    """A URL for display and storage, without the values of parameters such as ``token``."""
    return _PARAMETER.sub(rf"\1={MASK}", url)


def is_distinctive(secret: str) -> bool:
    """Whether a value is unlikely to be an ordinary word, compound or number."""
    is_plain = secret.isdecimal() or _WORD.fullmatch(secret)
    return len(secret) >= (LONG if is_plain else DISTINCTIVE)


def redacted(text: str) -> str:
    """Text for messages and logs, without distinctive secrets and user info in URLs."""
    return _no_user_info(_without(text, filter(is_distinctive, _secrets())))


def redacted_remark(text: str) -> str:
    """The error message of a server, without any secret of `SHORTEST` characters or more."""
    return _no_user_info(_without(text, _secrets()))


def _no_user_info(text: str) -> str:
    return _KEYWORD.sub(MASK, _USER_INFO.sub(f"{MASK}@", text))


def redacted_data(value: Any) -> Any:
    """A JSON value without distinctive secrets in strings and keys."""
    secrets = _secrets_in_data()
    return _in_json(value, secrets) if secrets else value


def redacted_body(body: bytes, *, remark: bool) -> bytes:
    """The body of an HTTP response without secrets; `remark` is true for an error message."""
    if secrets := _secrets() if remark else _secrets_in_data():
        text = _without(body.decode("utf-8", "surrogateescape"), secrets)
        return text.encode("utf-8", "surrogateescape")
    return body


def redact_exception(error: BaseException) -> None:
    """Redact an exception of another package and its causes in place: arguments and attributes."""
    current: BaseException | None = error
    seen: list[BaseException] = []  # some packages raise an error from itself
    while current is not None and current not in seen:
        seen.append(current)
        current.args = tuple(redacted_remark(a) if isinstance(a, str) else a for a in current.args)
        for name, value in vars(current).items():
            if isinstance(value, str):
                setattr(current, name, redacted_remark(value))
        current = current.__cause__ or current.__context__


class RedactingFilter(logging.Filter):
    """Redacts log records of packages that log messages of servers."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted_remark(record.getMessage()), None
        return True


def _secrets() -> list[str]:
    """The current secrets, longest first, because one may be part of another."""
    return _sorted([os.environ.get(USER, ""), *_values()])


def _secrets_in_data() -> list[str]:
    """The secrets that are removed from replies, results and stored data."""
    return list(filter(is_distinctive, _sorted(_values())))


def _values() -> list[str]:
    proxies = (
        os.environ.get(form(name), "") for name in _PROXIES for form in (str.lower, str.upper)
    )
    values = [os.environ.get(name, "") for name in VARIABLES]
    return [*values, *(_password(proxy) for proxy in proxies if "@" in proxy), *_remembered]


def _sorted(values: Iterable[str]) -> list[str]:
    stripped = {value.strip() for value in values}
    return sorted((s for s in stripped if len(s) >= SHORTEST), key=lambda s: (-len(s), s))


def _password(url: str) -> str:
    with suppress(ValueError):
        return unquote(urlsplit(url).password or "")
    return ""


def _without(text: str, secrets: Iterable[str]) -> str:
    for pattern in chain.from_iterable(map(_patterns, secrets)):
        text = pattern.sub(MASK, text)
    return text


def _in_json(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return _without(value, secrets)
    if isinstance(value, Mapping):
        return {_in_json(key, secrets): _in_json(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(item, secrets) for item in value]
    return value


# In the patterns below, every repetition is bounded and every pattern begins with literals, so that
# matching takes linear time for any text.

_SLASHES: Final = r"\\\\{0,31}"
"""Up to 32 backslashes: JSON within JSON doubles them each time."""
_PERCENT: Final = (r"%(?:25){0,4}", rf"{_SLASHES}u0025(?:25){{0,4}}")
_AMPERSAND: Final = (r"&(?:amp;){0,4}", rf"{_SLASHES}u0026(?:amp;){{0,4}}")
_FOLD: Final = r"(?:=(?:\s|\\{1,9}[rn]){1,4})?"
"""The soft line break of quoted-printable."""
_BREAK: Final = r"(?:(?:\s|\\{1,9}[rn]|%0[aAdD]){1,4})?"
"""The line break of base64 in MIME."""


@lru_cache(maxsize=64)
def _patterns(secret: str) -> tuple[re.Pattern[str], ...]:
    """Patterns for a secret: by characters first, which may be part of an escape, then encoded."""
    patterns = []
    for piece in _pieces(secret):
        data = piece.encode("utf-8", "surrogatepass")
        patterns.append(_FOLD.join(map(_character, piece)))
        patterns.append(r"[ :,-]?".join(_digits(f"{byte:02x}") for byte in data))
        for offset in range(3):
            encoded = b64encode(bytes(offset) + data).decode()
            begin, end = (0, 2, 3)[offset], (len(data) + offset) * 8 // 6
            patterns.append(_BREAK.join(map(_base64_digit, encoded[begin:end])))
    return tuple(re.compile(pattern) for pattern in patterns)


def _pieces(secret: str) -> list[str]:
    """A long secret in pieces of similar length."""
    count = -(-len(secret) // _CHUNK)
    offsets = [len(secret) * number // count for number in range(count + 1)]
    return [secret[a:b] for a, b in pairwise(offsets)]


def _character(character: str) -> str:
    """A pattern for a character in all encodings; the literal last, as others may begin with it."""
    code, forms = ord(character), []
    latin = [bytes([code])] if code < 256 else []
    for data in {character.encode("utf-8", "surrogatepass"), *latin}:
        hexadecimal = [_digits(f"{byte:02x}") for byte in data]
        forms += ["".join(percent + digits for digits in hexadecimal) for percent in _PERCENT]
        forms.append("".join(f"={digits}" for digits in hexadecimal))
        forms.append("".join(f"{_SLASHES}x{digits}" for digits in hexadecimal))
    units = memoryview(character.encode("utf-16-be", "surrogatepass"))
    pairs = [_digits(units[i : i + 2].hex()) for i in range(0, len(units), 2)]
    forms.append("".join(f"{_SLASHES}u{digits}" for digits in pairs))
    forms.append(rf"{_SLASHES}[uUx]\{{?0{{0,6}}{_digits(f'{code:x}')}\}}?")
    names = "|".join(_entities().get(character, ()))
    references = rf"#0{{0,6}}{code};?|#[xX]0{{0,6}}{_digits(f'{code:x}')};?"
    forms += [f"{start}(?:{references}{'|' + names if names else ''})" for start in _AMPERSAND]
    literal = _SLASHES if character == "\\" else re.escape(character)
    if not character.isalnum() and literal != _SLASHES:
        forms.append(_SLASHES + literal)
    forms += [r"\+", literal] if character == " " else [literal]
    return f"(?:{'|'.join(forms)})"


def _base64_digit(digit: str) -> str:
    """A pattern for a digit of base64 or base64url; ``+`` and ``/`` in all encodings."""
    if digit in "+/":
        return f"(?:{_character(digit)}|{_character({'+': '-', '/': '_'}[digit])})"
    return digit


def _digits(hexadecimal: str) -> str:
    """A pattern for hexadecimal digits in upper or lower case."""
    return "".join(d if d.isdecimal() else f"[{d.lower()}{d.upper()}]" for d in hexadecimal)


@lru_cache(maxsize=1)
def _entities() -> dict[str, list[str]]:
    """The names of HTML character references, with semicolons, by character."""
    names: dict[str, list[str]] = {}
    for name, character in html.entities.html5.items():
        if name.endswith(";"):
            names.setdefault(character, []).append(name)
    return names
