"""Secrets are found in text in every form that servers and libraries give them back in."""

from __future__ import annotations

import base64
import html
import json
import quopri
import string
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base import redaction
from sarag_rdf.base.errors import EndpointError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.redaction import (
    holds_password,
    is_distinctive,
    masked,
    redact_exception,
    redacted,
    redacted_body,
    redacted_data,
    redacted_remark,
)
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.testing.fakes import QueuedLLM

SECRET = 'sk-f0rb1dden/"quoted" & <more>+é'
"""Holds what each of the encodings writes in another way."""

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": quote,
    "percent, fully": lambda s: "".join(f"%{byte:02X}" for byte in s.encode()),
    "percent, lower case": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()),
    "percent, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "percent, Latin-1": lambda s: quote(s, safe="", encoding="latin-1"),
    "form": lambda s: quote(s, safe=" ").replace(" ", "+"),
    "JSON": json.dumps,
    "JSON in JSON": lambda s: json.dumps(json.dumps(json.dumps(s))),
    "JSON, all escaped": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "JSON, all escaped, upper case": lambda s: "".join(f"\\u{ord(c):04X}" for c in s),
    "JSON, slashes escaped": lambda s: json.dumps(s).replace("/", "\\/"),
    "HTML in JSON of Go": lambda s: json.dumps(html.escape(s)).replace("&", "\\u0026"),
    "Python": lambda s: repr(s.encode()),
    "JavaScript": lambda s: "".join(f"\\u{{{ord(c):x}}}" for c in s),
    "HTML": html.escape,
    "HTML, twice": lambda s: html.escape(html.escape(s)),
    "XML": escape,
    "XML, decimal": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "XML, hexadecimal": lambda s: "".join(f"&#x{ord(c):X};" for c in s),
    "hexadecimal": lambda s: s.encode().hex(),
    "hexadecimal, upper case": lambda s: s.encode().hex().upper(),
    "hexadecimal, with colons": lambda s: s.encode().hex(":"),
    "quoted-printable": lambda s: quopri.encodestring(s.encode(), quotetabs=True).decode(),
    "quoted-printable, folded": lambda s: "=\r\n".join(
        quopri.encodestring(c.encode()).decode() for c in s
    ),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64, no padding": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "base64url": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "base64, percent": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
    "base64 of MIME": lambda s: base64.encodebytes(b"x" * 40 + s.encode()).decode(),
    "Basic": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "Bearer": lambda s: base64.b64encode(f"Bearer {s}".encode()).decode(),
}
"""Encodings by name; those of base64 keep a few bits of the first and last character."""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*redaction.VARIABLES, redaction.USER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(redaction, "_remembered", deque(maxlen=32))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def is_gone(form: str, text: str, secret: str = SECRET) -> bool:
    """Whether not even twelve characters are left of what an encoding makes of a secret."""
    coded, of_another = FORMS[form](secret), FORMS[form]("Z" * len(secret))
    left = text.replace(redaction.MASK, "\0")
    pieces = {coded[i : i + 12] for i in range(len(coded) - 11)}
    return "\0" in left and not any(p in left for p in pieces if p not in of_another)


@pytest.mark.parametrize("form", FORMS)
def test_every_encoding_is_found(form: str) -> None:
    text = f"before key={FORMS[form](SECRET)}; after"
    for found in (redacted(text), redacted_remark(text), redacted_data({"a": [text]})["a"][0]):
        assert found.startswith("before key=")
        assert found.endswith("; after")
        assert is_gone(form, found), found
    body = redacted_body(text.encode(), remark=False).decode()
    assert is_gone(form, body)


CHARACTERS = string.ascii_letters + string.digits + "-_.~+/=%&;:@!$*()'\" \\<>éß€😀"


@given(
    st.text(CHARACTERS, min_size=12, max_size=150).filter(is_distinctive),
    st.lists(st.sampled_from(["%", "j", "h", "q", "."]), min_size=4, max_size=4),
)
def test_encodings_may_be_mixed(secret: str, kinds: list[str]) -> None:
    """Character by character, in any order: nothing of the secret is left."""
    forms: dict[str, Callable[[str], str]] = {
        "%": lambda c: "".join(f"%{byte:02x}" for byte in c.encode()),
        "j": lambda c: json.dumps(c)[1:-1],
        "h": lambda c: f"&#{ord(c)};",
        "q": lambda c: "".join(f"={byte:02X}" for byte in c.encode()),
        ".": str,
    }
    secret = secret.strip()
    redaction.remember(secret)
    coded = "".join(forms[kinds[i % len(kinds)]](c) for i, c in enumerate(secret))
    try:
        assert set(redacted_data(f"({coded})")) == {"(", "*", ")"}
    finally:
        redaction._remembered.clear()


@given(st.binary(max_size=5), st.binary(max_size=5), st.integers(0, 1))
def test_base64_is_found_at_every_offset(before: bytes, after: bytes, url: int) -> None:
    encode = (base64.b64encode, base64.urlsafe_b64encode)[url]
    left = redacted(encode(before + SECRET.encode() + after).decode())
    around = len(base64.b64encode(before)) + len(base64.b64encode(after))
    assert len(left.replace(redaction.MASK, "")) <= around + 4


@pytest.mark.parametrize(
    ("value", "everywhere", "in_remarks"),
    [
        ("none", False, False),
        ("abc12", False, False),
        ("ollama", False, True),
        ("lm-studio", False, True),
        ("not-needed", False, True),
        ("12345678", False, True),
        ("pa55word", True, True),
        ("sk-no-key-required", True, True),
        ("1234567890123456", True, True),
    ],
)
def test_what_may_be_an_ordinary_word_stays_in_data(
    monkeypatch: pytest.MonkeyPatch, value: str, everywhere: bool, in_remarks: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    text = f"It is called {value}."
    assert (value not in redacted(text)) == everywhere
    assert (value not in redacted_data([text])[0]) == everywhere
    assert (value.encode() not in redacted_body(text.encode(), remark=False)) == everywhere
    assert (value not in redacted_remark(text)) == in_remarks
    assert (value.encode() not in redacted_body(text.encode(), remark=True)) == in_remarks


def test_a_text_without_secrets_stays_as_it_is() -> None:
    text = "50% of &amp; \\u0041 =3D c2s= https://example.org/@user/a?b=c \udc80"
    assert redacted(text) == redacted_remark(text) == redacted_data(text) == text
    assert (
        redacted_body(b"\xff\x00" + text.encode("utf-8", "replace"), remark=True)[:2] == b"\xff\0"
    )


def test_a_user_name_is_kept_out_of_messages_and_not_out_of_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SARAG_SPARQL_USER", "reader@example.org")
    text = "Write to reader@example.org."
    assert redacted_data(text) == text
    assert redacted_remark(text) == redacted(text) == "Write to ***."


def test_user_info_of_a_url_is_removed() -> None:
    said = redacted("see http://me:hunter2@example.org/x, and http://example.org/@me")
    assert said == "see http://***@example.org/x, and http://example.org/@me"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/users/@me/sparql", "https://example.org/users/@me/sparql"),
        ("https://example.org:8080/@me", "https://example.org:8080/@me"),
        ("https://example.org?to=@me#@me", "https://example.org?to=@me#@me"),
        ("http://[::1]:8080/@me", "http://[::1]:8080/@me"),
        ("http://me:hunter2@example.org/@me", "http://example.org/@me"),
        ("http://me:hunt@er2@example.org/x", "http://example.org/x"),
        ("http://me:hunt/er2@example.org/x", "http://example.org/x"),
        ("//me@example.org/x", "//example.org/x"),
    ],
)
def test_user_info_ends_with_the_authority(url: str, expected: str) -> None:
    assert masked(url) == expected
    assert holds_password(url) is (url != expected)
    assert redacted(url) == (url if url == expected else expected.replace("//", "//***@", 1))


@pytest.mark.parametrize("filling", ["//a:b", "//a", "//", "//a:1", "//["])
def test_finding_user_info_takes_time_in_proportion(filling: str) -> None:
    text = filling * (2_000_000 // len(filling))
    assert redacted(text) == text


@pytest.mark.parametrize("name", ["https_proxy", "HTTP_PROXY"])
def test_the_password_of_a_proxy_is_a_secret(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "http://me:pr%40xy-pass-1@127.0.0.1:3128")
    assert redacted("it is pr@xy-pass-1") == "it is ***"


def test_the_tokens_of_a_url_are_secrets() -> None:
    redaction.remember_url("http://example.org/sparql?format=json-ld-1&access_token=a%2Fbc-1234")
    assert redacted("a/bc-1234 and json-ld-1") == "*** and json-ld-1"


def test_a_long_token_is_found_also_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    token = base64.urlsafe_b64encode(Random(1).randbytes(1000)).decode()
    monkeypatch.setenv("SARAG_SPARQL_TOKEN", token)
    for form in ("plain", "base64", "percent, fully", "hexadecimal"):
        assert is_gone(form, redacted(FORMS[form](token)), token)
    assert len(redacted(f"it begins with {token[:300]}").replace("*", "")) < 100


@pytest.mark.parametrize("filling", ["\\", "%25", "&amp;", "=\n", "\\u0025", "sk-", "73", "c2st"])
def test_the_work_is_in_proportion_to_the_text(filling: str) -> None:
    """A pattern that began anew at each character of a run would not end in hours."""
    text = filling * (2_000_000 // len(filling))
    assert redacted_body(text.encode(), remark=True) == text.encode()


# ---------------------------------------------------------------- Borders


def test_no_error_of_the_library_holds_a_secret() -> None:
    for form, encode in FORMS.items():
        assert is_gone(form, str(EndpointError(f"it said {encode(SECRET)}")))
    assert EndpointError("a", 1).args == ("a", 1)


def test_replies_are_kept_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    said = {"text": f"it is {SECRET}", SECRET: [base64.b64encode(SECRET.encode()).decode()]}
    first = CachedLLM(QueuedLLM([said]), path)
    reply = first.complete("q", {}, name="n", max_tokens=1)
    again = first.complete("q", {}, name="n", max_tokens=1)
    first.close()
    assert reply.data == again.data
    assert again.usage.cached_calls == 1
    stored = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"it is ***" in stored
    assert b"f0rb1dden" not in stored
    assert base64.b64encode(SECRET.encode())[:12] not in stored


@pytest.mark.parametrize(
    "base", ["http://alice:hunter2@x/", "https://alice@x/kg/", "http://alice@x"]
)
def test_a_base_with_a_password_is_refused(base: str) -> None:
    with pytest.raises(UsageError, match="must not contain a user name or password") as caught:
        Minter.for_base(base)
    assert "alice" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_error_that_is_raised_from_itself_is_redacted_once() -> None:
    error = ValueError(f"refused: {SECRET}")
    error.__cause__ = error
    redact_exception(error)
    assert error.args == ("refused: ***",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host=h password=geheim dbname=x", "host=h password=*** dbname=x"),
        ("host=h password='ge heim' dbname=x", "host=h password=*** dbname=x"),
        ("postgresql://h/x?password=geheim&a=b", "postgresql://h/x?password=***&a=b"),
        ('vectors = "postgres:password=geheim"', 'vectors = "postgres:password=***"'),
        ("a password is needed", "a password is needed"),
    ],
)
def test_the_password_of_a_connection_string_is_found(text: str, expected: str) -> None:
    assert redacted(text) == redacted_remark(text) == expected
