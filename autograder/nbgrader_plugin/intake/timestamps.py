"""Read the time of submission from the text of `timestamp.txt`. The grading machine's own time zone plays no part.

nbgrader's `parse_utc` takes a zone that it does not know for UTC, and an offset without a colon for seconds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil import parser

# Names of zones by hours ahead of UTC: those with one offset in today's tz database, and a few that people write. PST
# is the Pacific's, as in nearly all files; Manila's zone has the same name.
NAMES: dict[float, str] = {
    **{-10: "HST", -9: "AKST HDT", -8: "AKDT PST", -7: "MST PDT", -6: "MDT", -5: "EST", -4: "EDT", -3.5: "NST"},
    **{-3: "ADT", -2.5: "NDT", 0: "GMT UTC WET", 1: "CET MET MEZ WAT WEST", 2: "CAT CEST EET MEST MESZ SAST"},
    **{3: "EAT EEST IDT MSK", 5: "PKT", 7: "WIB", 8: "AWST HKT SGT WITA", 9: "JST KST WIT", 9.5: "ACST"},
    **{10: "AEST", 10.5: "ACDT", 11: "AEDT", 12: "NZST", 13: "NZDT"},
}
HOURS = {name: hours for hours, names in NAMES.items() for name in names.split()}
AMBIGUOUS = {
    "AST": "-0400 on the Atlantic, +0300 in Arabia",
    "BST": "+0100 in Britain, +0600 in Bangladesh",
    "CDT": "-0500 in North America, -0400 in Cuba",
    "CST": "-0600 in North America, -0500 in Cuba, +0800 in China",
    "GST": "+0400 at the Gulf, +1000 on Guam",
    "IST": "+0100 in Ireland, +0200 in Israel, +0530 in India",
    "SST": "-1100 on Samoa, +0800 in Singapore",
}
WEST, EAST = timedelta(hours=-12), timedelta(hours=14)  # the offsets of the earth's zones lie between these

ZONE = re.compile(r"\[?\b([A-Za-z]+(?:/[A-Za-z][\w+-]*)+)\]?")  # a zone of the tz database, in Java in brackets
# A name of UTC in front of an offset, which means that offset. dateutil turns the sign round, as POSIX does.
FROM_UTC = re.compile(r"(?<![A-Z])(?:UTC|GMT) ?(?=[+-](?:\d\d?(?::\d\d)?|\d{4})(?![\d:]))")
COMMENT = re.compile(r"(?<=[+-]\d{4}) \(.*\)$")  # JavaScript's name of the zone behind the offset
SIGNED = re.compile(r"([A-Z]+)[+-]\d")  # behind any other name the sign may mean either
DAYS = datetime(2000, 1, 1), datetime(2001, 2, 2)  # missing parts of a date are taken from these, and so differ


class NoTime(ValueError):
    """Raised for a text that holds no point in time."""


class _Unclear(Exception):
    """Raised for a zone whose offset nobody can tell; the message says why."""

    def __init__(self, written: datetime, reason: str) -> None:
        super().__init__(reason)
        self.written = written


@dataclass(frozen=True)
class Stamp:
    """A time stamp as it was read. Without fields, it holds no time."""

    written: datetime | None = None  # as it was written, without its zone
    moment: datetime | None = None  # in UTC; None if it is not known
    doubt: str = ""  # why the moment is not known, or that it is known only if UTC was meant

    @property
    def utc(self) -> datetime | None:
        """Return the moment as nbgrader keeps it: in UTC, without a time zone."""
        return self.moment and self.moment.replace(tzinfo=None)

    @property
    def order(self) -> datetime | None:
        """Return the key that orders one student's submissions: the moment, or else the time as written."""
        return self.utc or self.written


def read(text: str) -> Stamp:
    """Return the time stamp in `text`. Without a zone it is UTC, as nbgrader documents. Raise NoTime if it is none."""
    if not text.strip():
        return Stamp()
    zone = ZONE.search(text)
    plain = " ".join((text.replace(zone[0], " ") if zone else text).upper().split())
    try:
        written, name, seconds = _parse(COMMENT.sub("", FROM_UTC.sub(" ", plain)))
        offset = _offset(written, name, seconds, zone[1] if zone else None)
        moment = (written - (offset or timedelta())).replace(tzinfo=UTC)
    except _Unclear as unclear:
        return Stamp(unclear.written, doubt=str(unclear))
    except Exception:  # the parser of dates may raise anything
        raise NoTime(text) from None
    return Stamp(written, moment, "" if offset is not None else "no zone is named")


def _parse(text: str) -> tuple[datetime, str | None, int | None]:
    """Return date and time, the zone's name, and seconds ahead of UTC. Raise ValueError if they are not all clear."""
    if any(parser.parserinfo().month(word) is None for word in SIGNED.findall(text)):
        raise ValueError("an offset behind a name")
    zones: list[tuple[str | None, int | None]] = []
    found = {parser.parse(text, default=day, tzinfos=lambda *zone: zones.append(zone)) for day in DAYS}
    if len(found) > 1:
        raise ValueError("a part of the date is missing")
    return found.pop(), *zones[0]


def _offset(written: datetime, name: str | None, seconds: int | None, zone: str | None) -> timedelta | None:
    """Return how far a zone is ahead of UTC; None if none is named. Raise _Unclear if nobody can tell."""
    if seconds is not None:
        if WEST <= (offset := timedelta(seconds=seconds)) <= EAST:
            return offset
        raise _Unclear(written, "no zone is that far from UTC")
    if zone is not None:
        return _offset_in(zone, written)
    if name in AMBIGUOUS:
        raise _Unclear(written, f"{name} is {AMBIGUOUS[name]}")
    if name is not None and name not in HOURS:
        raise _Unclear(written, f"{name} is the name of no known zone")
    return None if name is None else timedelta(hours=HOURS[name])


def _offset_in(name: str, written: datetime) -> timedelta:
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise _Unclear(written, f"{name} is the name of no known zone") from None
    first, second = (written.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    if first is None or first != second:
        raise _Unclear(written, f"clocks in {name} were changed then, and showed this time twice or never")
    return first


def remarks(stamps: Mapping[str, Stamp]) -> list[str]:
    """Return a sentence for each doubt about students' time stamps, with what the instructor can do."""
    unclear: dict[str, list[str]] = {}  # students, by what is unclear
    assumed = []
    for student, stamp in stamps.items():
        if stamp.doubt and stamp.moment is None:
            unclear.setdefault(stamp.doubt, []).append(student)
        elif stamp.doubt:
            assumed.append(student)
    groups = "; ".join(f"{', '.join(students)} ({doubt})" for doubt, students in unclear.items())
    decide = "write the offset into it, as in 2027-02-02 00:30:00 +0100, and mark again"
    unknown = f"timestamp.txt does not say when, so nothing is taken off for lateness ({decide}): {groups}"
    without = f"timestamp.txt names no time zone, so UTC is assumed: {', '.join(assumed)}"
    return [sentence for sentence, students in ((unknown, unclear), (without, assumed)) if students]
