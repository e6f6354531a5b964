"""What a worker does: it loads the models once, extracts batches of documents and embeds texts.

The same object works in a process of this machine and in an actor of a cluster.
"""

from __future__ import annotations

import copyreg
import io
import logging
import pickle
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sarag_rdf import __version__
from sarag_rdf.base.errors import ModelError, SaragError, UsageError
from sarag_rdf.base.ports import CountsDiscarded, Embedder, Extractor, Matrix
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.documents.format import InputProblem, Record
from sarag_rdf.documents.reading import InputFile

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = Extraction | Exception
"""What an extractor yields for a document."""


@dataclass(frozen=True, slots=True)
class Shard:
    """What a batch of documents extracts to, with the vectors of its texts.

    `results` are those of the first documents; `error` is what the extractor raised then, if it did
    not get to the last one. `vectors` are those of `texts`, which are documents and relationships.
    `warnings` are what was logged meanwhile.
    """

    results: tuple[Result, ...]
    error: Exception | None = None
    discarded: dict[str, int] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    vectors: Matrix | None = None
    warnings: tuple[str, ...] = ()


Converted = tuple[list[Record | InputProblem], tuple[str, ...]]
"""What is read of a file, and what was logged meanwhile."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a worker needs to build its models, which never contains a key.

    An extractor or an embedder that is None stays with the caller. An embedder that is text is the
    name of a model on the worker's machine.
    """

    extractor: Extractor | None
    embedder: Embedder | str | None

    def pickled(self) -> bytes:
        """As bytes, with the version of this package in front.

        Raises `UsageError` if a part cannot be sent to another process.
        """
        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer)
        pickler.dispatch_table = {**copyreg.dispatch_table, MappingProxyType: _reduce}
        try:
            pickler.dump(self)
        except Exception as error:
            raise UsageError(
                f"an object cannot be sent to workers ({type(error).__name__}: {error}): give "
                "extractor and embedder by name, or index without workers"
            ) from error
        return __version__.encode() + b"\0" + buffer.getvalue()


def _reduce(mapping: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    """How a read-only mapping is pickled, which Python does not do."""
    return read_only, (dict(mapping),)


def read_only(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    """A read-only mapping; its class has no name that pickle finds."""
    return MappingProxyType(mapping)


def without_models(extractor: Extractor) -> Extractor:
    """A copy without its cached properties, such as models: each worker loads its own.

    >>> class Parser:
    ...     @cached_property
    ...     def model(self):
    ...         return "large"
    >>> parser = Parser()
    >>> parser.model, vars(without_models(parser))
    ('large', {})
    """
    other = copy(extractor)
    for name in [*getattr(other, "__dict__", ())]:
        if isinstance(getattr(type(other), name, None), cached_property):
            delattr(other, name)
    return other


class Models:
    """The models of one worker, loaded when they are first needed."""

    def __init__(self, recipe: bytes) -> None:
        """Nothing is loaded, not even the recipe: an actor whose `__init__` fails says not why."""
        self._pickled = recipe

    def check(self) -> None:
        """Raise `UsageError` for a recipe that does not fit this process."""
        _ = self._recipe

    @cached_property
    def _recipe(self) -> Recipe:
        version, _, pickled = self._pickled.partition(b"\0")
        if version.decode() != __version__:
            raise UsageError(
                f"a worker has sarag-rdf {__version__}, not {version.decode()}: install the same "
                "version on all machines"
            )
        try:
            recipe: Recipe = pickle.loads(pickled)  # noqa: S301 - of the process that started this
        except Exception as error:
            raise UsageError(
                f"a worker cannot load the extractor or the embedder ({type(error).__name__}: "
                f"{error}): define their classes in a module that workers can import"
            ) from error
        return recipe

    def extract(self, documents: Sequence[Document], *, embeds: bool) -> Shard:
        """Extract documents, and with `embeds` embed what will be embedded of them."""
        extractor = self._recipe.extractor
        assert extractor is not None  # noqa: S101 - else nothing calls this
        before = _discarded(extractor)
        results: list[Result] = []
        error = None
        with _warnings() as warnings:
            try:
                results += extractor.extract(iter(documents))
            except Exception as raised:  # noqa: BLE001 - raised by the caller in its place
                error = _sendable(raised)
            texts = tuple(dict.fromkeys(_texts(documents, results))) if embeds else ()
            vectors = self._try_embed(texts)
        after = _discarded(extractor)
        return Shard(
            tuple(_sendable(r) if isinstance(r, Exception) else r for r in results),
            error,
            {reason: count - before.get(reason, 0) for reason, count in after.items()},
            texts if vectors is not None else (),
            vectors,
            tuple(warnings),
        )

    def convert(self, file: InputFile, data: bytes) -> Converted:
        """The records of a file of another machine, with its contents."""
        with TemporaryDirectory() as folder, _warnings() as warnings:
            path = Path(folder, f"file{file.path.suffix}")
            path.write_bytes(data)
            return [*replace(file, path=path, size=len(data)).records()], tuple(warnings)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The vectors of texts. Raises what the embedder raises."""
        return self._embedder.embed(texts)

    @cached_property
    def _embedder(self) -> Embedder:
        named = self._recipe.embedder
        if isinstance(named, str):
            from sarag_rdf.kg.vectors import make_embedder

            return make_embedder(named, None, is_recorded=True)
        assert named is not None  # noqa: S101 - else nothing calls this
        return named

    def _try_embed(self, texts: Sequence[str]) -> Matrix | None:
        """The vectors of texts; None without an embedder, and if it fails: it is called again."""
        if not texts or self._recipe.embedder is None:
            return None
        try:
            return self.embed(texts)
        except SaragError:
            return None


def _texts(documents: Iterable[Document], results: Iterable[Result]) -> Iterator[str]:
    """The texts of documents that will be embedded: their own, and those of relationships."""
    for document, result in zip(documents, results, strict=False):
        if isinstance(result, Extraction):
            yield document.titled_text
            yield from (relation.sentence for relation in result.relations)


def _discarded(extractor: Extractor) -> dict[str, int]:
    return dict(extractor.discarded) if isinstance(extractor, CountsDiscarded) else {}


def _sendable(error: Exception) -> Exception:
    """The exception without its traceback, or one that says the same if it cannot be pickled."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - this process wrote it
    except Exception:  # noqa: BLE001 - whatever an exception of others raises
        text = f"{type(error).__name__}: {error}"
        return ModelError(text) if isinstance(error, SaragError) else RuntimeError(text)
    return error


class _Collecting(logging.Handler):
    """Appends the messages of records to a list."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The warnings of the library during a block, which the caller logs."""
    messages: list[str] = []
    handler, log = _Collecting(messages), logging.getLogger("sarag_rdf")
    log.addHandler(handler)
    try:
        yield messages
    finally:
        log.removeHandler(handler)


_models_of: Final = cache(Models)
"""The models of this process, by their recipe, of which it has one."""


def perform(recipe: bytes, method: str, arguments: tuple[Any, ...], options: Any) -> Any:
    """Call a method of the models of this process, which are those of a recipe."""
    return getattr(_models_of(recipe), method)(*arguments, **options)
