"""Units of measurement and currencies: their names in English, and their IRIs in QUDT 2.1."""

from __future__ import annotations

UNIT = "http://qudt.org/vocab/unit/"
"""Namespace of the units of QUDT 2.1."""
CURRENCY = "http://qudt.org/vocab/currency/"
"""Namespace of the currencies of QUDT 2.1; local names are ISO 4217 codes."""

_NAMES: dict[str, str] = {
    "KiloM": "km|kilometre|kilometres|kilometer|kilometers",
    "M": "m|metre|metres|meter|meters",
    "CentiM": "cm|centimetre|centimetres|centimeter|centimeters",
    "MilliM": "mm|millimetre|millimetres|millimeter|millimeters",
    "FT": "ft|foot|feet",
    "IN": "in|inch|inches",
    "YD": "yd|yard|yards",
    "MI": "mi|mile|miles",
    "MI_N": "nmi|nautical mile|nautical miles",
    "LY": "ly|light-year|light-years|light year|light years",
    "AU": "au|AU|astronomical unit|astronomical units",
    "PARSEC": "parsec|parsecs",
    "KiloM2": "km²|km2|sq km|square kilometre|square kilometres|square kilometer|square kilometers",
    "M2": "m²|m2|sq m|square metre|square metres|square meter|square meters",
    "FT2": "ft²|sq ft|square foot|square feet",
    "MI2": "sq mi|square mile|square miles",
    "HA": "ha|hectare|hectares",
    "AC": "acre|acres",
    "M3": "m³|m3|cubic metre|cubic metres|cubic meter|cubic meters",
    "KiloM3": "km³|cubic kilometre|cubic kilometres|cubic kilometer|cubic kilometers",
    "CentiM3": "cc|cm³|cm3|cubic centimetre|cubic centimetres|cubic centimeters",
    "L": "l|L|litre|litres|liter|liters",
    "MilliL": "ml|millilitre|millilitres|milliliter|milliliters",
    "GAL_US": "gallon|gallons",
    "KiloGM": "kg|kilogram|kilograms|kilo|kilos",
    "GM": "g|gram|grams|gramme|grammes",
    "MilliGM": "mg|milligram|milligrams",
    "TONNE": "t|tonne|tonnes|metric ton|metric tons",
    "LB": "lb|lbs|pound|pounds",
    "OZ": "oz|ounce|ounces",
    "DEG_C": "°C|degrees Celsius|degree Celsius",
    "DEG_F": "°F|degrees Fahrenheit|degree Fahrenheit",
    "K": "K|kelvin|kelvins",
    "W": "W|watt|watts",
    "KiloW": "kW|kilowatt|kilowatts",
    "MegaW": "MW|megawatt|megawatts",
    "GigaW": "GW|gigawatt|gigawatts",
    "HP": "hp|horsepower",
    "V": "V|volt|volts",
    "HZ": "Hz|hertz",
    "KiloHZ": "kHz|kilohertz",
    "MegaHZ": "MHz|megahertz",
    "GigaHZ": "GHz|gigahertz",
    "N": "N|newton|newtons",
    "KiloN": "kN|kilonewton|kilonewtons",
    "J": "J|joule|joules",
    "KiloCAL": "kcal|kilocalorie|kilocalories",
    "PA": "Pa|pascal|pascals",
    "BAR": "bar",
    "KiloM-PER-HR": "km/h|kph|kmh|kilometres per hour|kilometers per hour",
    "KiloM-PER-SEC": "km/s|kilometres per second|kilometers per second",
    "MI-PER-HR": "mph|miles per hour",
    "M-PER-SEC": "m/s|metres per second|meters per second",
    "KN": "kn|knot|knots",
    "BYTE": "byte|bytes",
    "KiloBYTE": "kB|KB|kilobyte|kilobytes",
    "MegaBYTE": "MB|megabyte|megabytes",
    "GigaBYTE": "GB|gigabyte|gigabytes",
    "TeraBYTE": "TB|terabyte|terabytes",
    "PERCENT": "%|percent|per cent",
    "SEC": "s|sec|second|seconds",
    "MIN": "min|mins|minute|minutes",
    "HR": "h|hr|hrs|hour|hours",
    "DAY": "day|days",
    "WK": "week|weeks",
    "MO": "month|months",
    "YR": "year|years",
}
"""Local names of units in QUDT -> their names in English."""
UNIT_IRIS = {name: UNIT + local for local, names in _NAMES.items() for name in names.split("|")}

SYMBOLS = {
    "US$": "USD", "A$": "AUD", "C$": "CAD", "HK$": "HKD", "NZ$": "NZD", "$": "USD", "£": "GBP",
    "€": "EUR", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS",
}  # fmt: skip
"""Symbols of currencies -> their codes; a bare dollar is that of the United States."""
CODES = (
    "USD EUR GBP JPY CHF CAD AUD NZD CNY INR RUB BRL MXN SEK NOK DKK PLN CZK HUF TRY ZAR KRW SGD "
    "HKD ILS THB IDR MYR PHP AED SAR EGP"
).split()
"""Codes of ISO 4217 that are read before and after numbers."""
CURRENCY_WORDS = {
    "dollar": "USD", "dollars": "USD", "US dollar": "USD", "US dollars": "USD", "euro": "EUR",
    "euros": "EUR", "pounds sterling": "GBP", "British pounds": "GBP", "yen": "JPY",
    "Japanese yen": "JPY", "Swiss franc": "CHF", "Swiss francs": "CHF", "rupees": "INR",
    "Indian rupees": "INR", "Canadian dollars": "CAD", "Australian dollars": "AUD",
    "Swedish kronor": "SEK", "Norwegian kroner": "NOK", "Danish kroner": "DKK",
    "zloty": "PLN", "rubles": "RUB", "roubles": "RUB", "yuan": "CNY", "won": "KRW",
}  # fmt: skip
"""Names of currencies -> their codes."""


def unit_names(unit: str) -> tuple[str, ...]:
    """The English names of a unit or currency by its IRI, the label first; empty if unknown.

    >>> unit_names("http://qudt.org/vocab/unit/KiloM")[0]
    'kilometre'
    """
    if unit.startswith(CURRENCY):
        code = unit.removeprefix(CURRENCY)
        return (code, *(name for name, known in CURRENCY_WORDS.items() if known == code))
    names = _NAMES.get(unit.removeprefix(UNIT), "").split("|")
    label = max(names, key=lambda name: (not name.endswith("s"), len(name)))
    return tuple(dict.fromkeys((label, *names))) if label else ()
