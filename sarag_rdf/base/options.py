"""Options, each declared once: its type, default, range and meaning.

Strategies (retrievers, context builders, reasoners, extractors), endpoints, servers, readers,
importers and exporters declare their options as frozen dataclasses. The declaration validates
values and labels results; the flags of the command line, its settings, the reference pages, the
parameters of the REST API and their OpenAPI schemas are generated from it.

>>> @dataclass(frozen=True, kw_only=True)
... class WalkOptions(Options):
...     name = "walk"
...     hops: int = option(2, "Greatest distance from a seed.", ge=0, le=MAX_HOPS)
...     decay: float = option(0.5, "Share passed on at each hop.", ge=0.0, lt=1.0)
>>> print(Spec.parse("walk:decay=0.25").read(WalkOptions))
walk:decay=0.25
>>> WalkOptions(decay=1.0)
Traceback (most recent call last):
    ...
sarag_rdf.base.errors.UsageError: decay of walk must be a number in [0, 1), not 1.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, partial
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.files import MAX_EXPANSION

MAX_COUNT = 1000
"""Greatest number of documents, relationships or descriptions that one question may start from."""
MAX_HOPS = 10
"""Greatest number of hops, rounds or steps: each may cost as much as all before it."""
MAX_TOKENS = 1_000_000
"""Greatest size of a context or reply, in tokens."""
Harmless = bool | Literal["inside"]
"""Whether the settings file of an untrusted folder may set an option, or only within the folder."""
MAX_SECONDS = 120.0
"""Default time limit of a parser for one document or statement, in seconds."""
_SHOWN = 60
"""Greatest length of a value in an error message, in characters."""


def option(
    default: Any,
    meaning: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: tuple[str, ...] = (),
    recorded: bool = True,
    harmless: Harmless = False,
    flag: str | None = "",
) -> Any:
    """A field of an `Options` dataclass.

    Its type is the field's annotation: bool, int, float, str, a literal type of texts, Path, or one
    of these or None, or ``tuple[str, ...]``. `ge` and `gt` are the inclusive and exclusive minimum,
    `le` and `lt` the maximum; the default may lie outside of them. `recorded` options are part of
    `Options.settings`; those that change only how much is returned are not. `harmless` says whether
    the settings file of a folder that is not trusted may set the option. `flag` is its name on the
    command line, by default ``--name``; None if it is for Python alone.
    """
    declared = Option(
        "", str, False, default, meaning, ge, gt, le, lt, choices, recorded, harmless, flag
    )
    return field(default=default, metadata={"option": declared})


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of one option; see `option`."""

    name: str
    kind: type
    is_optional: bool
    default: Any
    meaning: str
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    choices: tuple[str, ...]
    recorded: bool
    harmless: Harmless
    flag: str | None

    @property
    def allowed(self) -> str:
        """The values that the option takes, in words: ``a number in [0, 1)``."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {bool: "true or false", str: "text", tuple: "a list of texts", Path: "a path"}
        if self.kind in kinds:
            return kinds[self.kind]
        noun = "an integer" if self.kind is int else "a number"
        low = self.gt if self.ge is None else self.ge
        high = self.lt if self.le is None else self.le
        if low is not None and high is not None:
            if self.ge is not None and self.le is not None:
                return f"{noun} between {_number(low)} and {_number(high)}"
            left, right = "(" if self.ge is None else "[", ")" if self.le is None else "]"
            return f"{noun} in {left}{_number(low)}, {_number(high)}{right}"
        if low is not None:
            return f"{noun} {'greater than' if self.ge is None else 'of at least'} {_number(low)}"
        if high is not None:
            return f"{noun} {'less than' if self.le is None else 'of at most'} {_number(high)}"
        return noun

    def read(self, value: Any) -> Any:
        """The value of a text such as ``0.5``, or of a JSON number; others are left to `check`."""
        if isinstance(value, str) and self.kind is bool:
            return {"true": True, "false": False}.get(value, value)
        if self.kind is tuple:
            return tuple(value.split(",")) if isinstance(value, str) else value
        with suppress(ValueError, OverflowError):
            if isinstance(value, str):
                return self.kind(value)
            if self.kind is float and type(value) is int:
                return float(value)
            if self.kind is int and type(value) is float and value.is_integer():
                return int(value)
        return value

    def check(self, strategy: str, value: Any) -> None:
        """Raise `UsageError` unless `value` has the option's type and lies in its range."""
        is_default = type(value) is type(self.default) and value == self.default
        if is_default or (value is None and self.is_optional):
            return
        if not self._admits(value):
            raise UsageError(
                f"{self.name} of {strategy} must be {self.allowed}, not {_shown(value)}"
            )

    def _admits(self, value: Any) -> bool:
        if self.kind is tuple:
            return isinstance(value, tuple) and all(isinstance(each, str) for each in value)
        if self.kind in (bool, str, Path):
            return isinstance(value, self.kind) and value in (self.choices or (value,))
        number: Any = value
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind is int else Real):
            return False
        return (
            (isinstance(number, Integral) or math.isfinite(number))
            and (self.ge is None or number >= self.ge)
            and (self.gt is None or number > self.gt)
            and (self.le is None or number <= self.le)
            and (self.lt is None or number < self.lt)
        )


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _shown(value: Any) -> str:
    """A value for an error message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no integer of more than 4,300 digits
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of classes of options; creating one raises `UsageError` for a bad value.

    `name` is that of the strategy, or of what else has the options. `presets` are named sets of
    values, chosen by ``preset=NAME``. `argument` names the option whose value may follow the name
    directly: ``NAME:FILE``. ``str(options)`` is the `Spec` that reads as these options.
    """

    name: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    argument: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for declared in declared_options(type(self)):
            value: Any = getattr(self, declared.name)
            if (declared.kind, type(value)) in ((tuple, list), (Path, str)):
                kind: Any = declared.kind
                value = kind(value)
                object.__setattr__(self, declared.name, value)
            declared.check(self.name, value)

    @classmethod
    def of(cls, values: Mapping[str, Any], **other: Any) -> Self:
        """Options with these values, before those of a ``preset``; raises `UsageError`."""
        given = dict(values)
        if cls.presets and "preset" in given:
            preset = given.pop("preset")
            if not isinstance(preset, str) or preset not in cls.presets:
                raise UsageError(
                    f"unknown preset {_shown(preset)} of {cls.name}: choose from "
                    f"{', '.join(cls.presets)}"
                )
            given = {**cls.presets[preset], **given}
        cls._check_names(given)
        return cls(**given, **other)

    @classmethod
    def _check_names(cls, values: Mapping[str, Any]) -> None:
        names = [declared.name for declared in declared_options(cls)]
        if unknown := [name for name in values if name not in names]:
            known = ", ".join([*names, "preset"] if cls.presets else names)
            advice = f"choose from {known}" if known else "it has no options"
            raise UsageError(f"unknown option '{unknown[0]}' of {cls.name}: {advice}")

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """These options with some values replaced; raises `UsageError` as `of` does."""
        self._check_names(values)
        return type(self)(**{**asdict(self), **values})

    def settings(self) -> dict[str, Any]:
        """Values of the recorded options, in the order of their declaration."""
        recorded = (each.name for each in declared_options(type(self)) if each.recorded)
        return {name: getattr(self, name) for name in recorded}

    def __str__(self) -> str:
        parts = [self.name]
        for declared in declared_options(type(self)):
            value = getattr(self, declared.name)
            if value != declared.default:
                text = str(value).lower() if declared.kind is bool else str(value)
                parts.append(f"{declared.name}={text}")
        return ":".join(parts)


AnyOptions = TypeVar("AnyOptions", bound=Options)


def declared_options(options: type[Options]) -> tuple[Option, ...]:
    """The declarations of a class by `option`: its own in their order, then inherited ones."""
    declared: tuple[Option, ...] = _declared(cast("Any", options))
    return declared


@cache
def _declared(options: Any) -> tuple[Option, ...]:
    hints = get_type_hints(options)
    own = vars(options).get("__annotations__", {})
    declarations = []
    for part in sorted(fields(options), key=lambda part: part.name not in own):
        if "option" in part.metadata:
            (kind, is_optional), option_ = _kind(hints[part.name]), part.metadata["option"]
            flag = f"--{part.name.replace('_', '-')}" if option_.flag == "" else option_.flag
            declarations.append(
                replace(option_, name=part.name, kind=kind, is_optional=is_optional, flag=flag)
            )
    return tuple(declarations)


def _kind(hint: Any) -> tuple[type, bool]:
    """The type that an annotation allows, and whether it allows None."""
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    [kind] = [each for each in types if each is not type(None)]
    origin = get_origin(kind)
    return (str if origin is Literal else origin or kind), type(None) in types


DEFAULT_LIMIT: Final = 10
"""Documents that are returned for a question that names no limit."""


@dataclass(frozen=True, kw_only=True)
class RetrieverOptions(Options):
    """Options that all retrievers have; activation weights concern those that are steered."""

    is_steered: ClassVar[bool] = False
    limit: int | None = option(
        None,
        "Maximum number of documents returned, by default 10. In Python, the keyword limit=None "
        "returns all that are ranked, which takes seconds on large graphs.",
        ge=1,
        recorded=False,
    )


_REPLY = "Maximum size of a reply, in tokens, reasoning included."
_EXPANSION = "Maximum ratio of unpacked to packed size, for compressed files and archives."
_SECONDS = "Time limit for reading a document, or for the next statement of RDF, in seconds."

budget_option = partial(
    option, meaning="Maximum size of the context, in tokens.", ge=1, le=MAX_TOKENS
)
max_tokens_option = partial(option, meaning=_REPLY, ge=1, le=MAX_TOKENS)
max_expansion_option = partial(option, MAX_EXPANSION, _EXPANSION, ge=1)
max_seconds_option = partial(option, MAX_SECONDS, _SECONDS, gt=0)


@dataclass(frozen=True, slots=True)
class Spec:
    """A strategy as it is written: ``name:key=value:key=value``; `label` is the text itself."""

    label: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, label: str) -> Spec:
        """Split a text at its colons; raises `UsageError` for one of another form.

        >>> Spec.parse("single:brief=true:max_tokens=300").options
        {'brief': 'true', 'max_tokens': '300'}
        """
        name, *settings = label.strip().split(":")
        options = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not (key and equals and value):
                raise UsageError(f"cannot read '{label}': write NAME or NAME:KEY=VALUE:KEY=VALUE")
            options[key] = value
        return cls(label.strip(), name, options)

    def read(
        self, options: type[AnyOptions], values: Mapping[str, Any] | None = None
    ) -> AnyOptions:
        """The options that the text stands for; `values` take precedence over it."""
        return options.of({**read_values(options, self.options), **(values or {})})


def read_values(options: type[Options], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Texts or JSON values as values of their options; see `Option.read`."""
    declared = {each.name: each for each in declared_options(options)}
    return {
        name: declared[name].read(text) if name in declared else text
        for name, text in texts.items()
    }
