"""The formats that the mask holds, as patterns, and whether that is all the format asks.

`date` is held to the last leap year; `hostname` is not held to 253 characters, so it is checked afterwards.
Of the formats that are not listed here, those in `CHECKED` are checked afterwards; nobody knows any others.
"""

from dataclasses import dataclass

_DAY = (
    r"([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    r"|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])"
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+\-]([01][0-9]|2[0-3]):[0-5][0-9])"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(\.{_OCTET}){{3}}"
_H16 = r"[0-9a-fA-F]{1,4}"
_IPV6 = "|".join(
    (
        rf"({_H16}:){{7}}{_H16}",
        rf"({_H16}:){{1,7}}:",
        *(rf"({_H16}:){{1,{7 - tail}}}(:{_H16}){{1,{tail}}}" for tail in range(1, 7)),
        rf":(:{_H16}){{1,7}}",
        "::",
        rf"::([fF]{{4}}:)?{_IPV4}",
    )
)
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?\^_`{|}~\-]+"
_HEX = "[0-9a-fA-F]"
_PERCENT = rf"(%{_HEX}{_HEX}|[A-Za-z0-9\-._~!$&'()*+,;=:@/?])"
_SPAN_TIME = r"T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)"
_SPAN_DATE = r"([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)"


@dataclass(frozen=True, slots=True)
class Format:
    pattern: str
    exact: bool
    """Whether every string that the pattern allows is of the format."""


FORMATS = {
    "date": Format(f"^{_DAY}$", exact=True),
    "time": Format(f"^{_TIME}$", exact=True),
    "date-time": Format(f"^{_DAY}T{_TIME}$", exact=True),
    "duration": Format(f"^P({_SPAN_DATE}({_SPAN_TIME})?|{_SPAN_TIME}|[0-9]+W)$", exact=True),
    "uuid": Format(f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$", exact=True),
    "ipv4": Format(f"^{_IPV4}$", exact=True),
    "ipv6": Format(f"^({_IPV6})$", exact=True),
    "hostname": Format(f"^{_HOST}$", exact=False),
    "email": Format(rf"^{_ATOM}(\.{_ATOM})*@{_HOST}$", exact=False),
    "uri": Format(rf"^[A-Za-z][A-Za-z0-9+.\-]*:{_PERCENT}*(#{_PERCENT}*)?$", exact=False),
    "uri-reference": Format(rf"^{_PERCENT}*(#{_PERCENT}*)?$", exact=False),
    "json-pointer": Format(r"^(/([^~/]|~[01])*)*$", exact=True),
    "relative-json-pointer": Format(r"^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$", exact=True),
}

CHECKED = frozenset(
    {"idn-email", "idn-hostname", "iri", "iri-reference", "uri-template", "regex"},
)
"""Formats that the check behind the mask knows and the mask does not."""
