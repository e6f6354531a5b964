"""Declarations of options, the values they allow, and specifications ``NAME:KEY=VALUE``."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Options, RetrieverOptions, Spec, declared_options, option


@dataclass(frozen=True, kw_only=True)
class WalkOptions(RetrieverOptions):
    """One option of each type and form of range."""

    name = "walk"
    presets: ClassVar[dict[str, dict[str, Any]]] = {"far": {"hops": 9, "unit": "km"}}
    hops: int = option(2, "Hops.", ge=0, le=10)
    share: float = option(0.5, "Share.", ge=0.0, lt=1.0)
    rate: float = option(1.0, "Rate.", gt=0.0, le=2.0)
    least: float = option(0.0, "Least.", ge=-1.5)
    above: float = option(1.0, "Above.", gt=0.0)
    most: float = option(1.0, "Most.", le=3.0)
    below: float = option(1.0, "Below.", lt=3.0)
    free: float = option(0.0, "Free.")
    back: bool = option(False, "Back.")
    unit: str = option("m", "Unit.", choices=("m", "km"))
    note: str | None = option(None, "Note.", recorded=False)


def test_declarations_come_in_order_and_inherited_ones_last() -> None:
    declared = declared_options(WalkOptions)
    assert [each.name for each in declared] == [
        *("hops", "share", "rate", "least", "above", "most", "below", "free", "back", "unit"),
        *("note", "limit"),
    ]
    assert declared[0].kind is int
    assert (declared[0].default, declared[0].meaning) == (2, "Hops.")
    assert [each.name for each in declared if each.is_optional] == ["note", "limit"]


@pytest.mark.parametrize(
    ("name", "allowed", "good", "bad"),
    [
        ("hops", "an integer between 0 and 10", [0, 10, np.int64(3)], [-1, 11, 2.0, True, "2"]),
        ("share", "a number in [0, 1)", [0, 0.5, np.float32(0.5)], [1.0, -0.1, True, "0.5"]),
        ("rate", "a number in (0, 2]", [2, 0.1], [0.0, 2.1]),
        ("least", "a number of at least -1.5", [-1.5, 10**400], [-1.6]),
        ("above", "a number greater than 0", [0.1], [0.0]),
        ("most", "a number of at most 3", [3.0, -9], [3.1]),
        ("below", "a number less than 3", [2.9], [3.0]),
        ("free", "a number", [-1e9], [float("nan"), float("inf"), -float("inf"), None, "x"]),
        ("back", "true or false", [True, False], [0, 1, "true", None]),
        ("unit", "one of m, km", ["m", "km"], ["cm", "", 1, None]),
        ("note", "text", ["", "a b", None], [1, True]),
        ("limit", "an integer of at least 1", [None, 1, 10**9], [0, -1, 1.0, False]),
    ],
)
def test_ranges(name: str, allowed: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert getattr(WalkOptions(**{name: value}), name) is value
    for value in bad:
        with pytest.raises(UsageError) as raised:
            WalkOptions(**{name: value})
        assert str(raised.value) == f"{name} of walk must be {allowed}, not {value!r}"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("hops", "3", 3),
        ("hops", 3.0, 3),
        ("share", "0", 0.0),
        ("share", 0, 0.0),
        ("back", "true", True),
        ("back", "false", False),
        ("unit", "km", "km"),
        ("note", "3", "3"),
        ("limit", "7", 7),
    ],
)
def test_texts_and_json_are_read_by_type(name: str, text: Any, value: Any) -> None:
    [declared] = [each for each in declared_options(WalkOptions) if each.name == name]
    read = declared.read(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("value", ["3.5", "many", "True", "9" * 5000, 2.5, None, True])
def test_what_cannot_be_read_is_left_for_the_check(value: Any) -> None:
    hops = declared_options(WalkOptions)[0]
    assert hops.read(value) is value
    with pytest.raises(UsageError) as raised:
        hops.check("walk", value)
    assert len(str(raised.value)) < 130


def test_settings_hold_the_recorded_options() -> None:
    settings = WalkOptions(hops=3, note="x", limit=5).settings()
    assert list(settings)[:2] == ["hops", "share"]
    assert settings["hops"] == 3
    assert not {"note", "limit"} & settings.keys()


def test_options_are_values() -> None:
    options = WalkOptions(hops=3)
    assert options == WalkOptions(hops=3)
    assert hash(options) == hash(WalkOptions(hops=3))
    assert pickle.loads(pickle.dumps(options)) == options
    assert options.replaced({"back": True}) == WalkOptions(hops=3, back=True)
    with pytest.raises(UsageError, match="unknown option 'x' of walk: choose from hops, share"):
        options.replaced({"x": 1})


def test_the_text_of_options_reads_as_the_same_options() -> None:
    options = WalkOptions(hops=3, back=True, unit="km", limit=5)
    assert str(options) == "walk:hops=3:back=true:unit=km:limit=5"
    assert Spec.parse(str(options)).read(WalkOptions) == options
    assert str(WalkOptions()) == "walk"


def test_presets() -> None:
    assert WalkOptions.of({"preset": "far"}) == WalkOptions(hops=9, unit="km")
    assert Spec.parse("walk:preset=far:hops=1").read(WalkOptions) == WalkOptions(hops=1, unit="km")
    with pytest.raises(UsageError) as raised:
        WalkOptions.of({"preset": "near"})
    assert str(raised.value) == "unknown preset 'near' of walk: choose from far"
    with pytest.raises(UsageError, match="unknown preset"):
        WalkOptions.of({"preset": ["far"]})


def test_a_strategy_without_options() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Bare(Options):
        """None."""

        name = "bare"

    assert declared_options(Bare) == ()
    with pytest.raises(UsageError, match="unknown option 'preset' of bare: it has no options"):
        Bare.of({"preset": "far"})


def test_a_name_with_options() -> None:
    spec = Spec.parse(" cot:steps=2:x=0.5:brief=false:name=a=b ")
    assert (spec.label, spec.name) == ("cot:steps=2:x=0.5:brief=false:name=a=b", "cot")
    assert spec.options == {"steps": "2", "x": "0.5", "brief": "false", "name": "a=b"}
    assert Spec.parse("cot") == Spec("cot", "cot", {})
    assert Spec.parse("walk:hops=1").read(WalkOptions, {"hops": 5}) == WalkOptions(hops=5)


@pytest.mark.parametrize("text", ["cot:", "cot:steps", "cot:steps=", "cot:=2", "cot::steps=2"])
def test_options_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Spec.parse(text)
    assert str(raised.value) == f"cannot read '{text}': write NAME or NAME:KEY=VALUE:KEY=VALUE"
