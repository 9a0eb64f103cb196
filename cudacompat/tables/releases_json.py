"""NVIDIA's releases.json: data center drivers by branch. It has no CUDA versions and no end of life.

An object keyed by branch; each value has ``type`` and ``driver_info``, a list of releases with
``release_version`` and ``release_date``, newest first. What it can renew are the newest release of a branch,
its first one, its designation, and branches that the table does not have yet.
"""

from __future__ import annotations

import re
from typing import Any

from cudacompat.errors import DataError, UsageError
from cudacompat.tables.store import Row
from cudacompat.tables.versions import driver_branch, parse_driver

_DESIGNATIONS = {"production branch": "PB", "lts branch": "LTSB", "new feature branch": "NFB"}
_BRANCH = re.compile(r"[0-9]{3,4}", re.ASCII)
_DATE = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", re.ASCII)
_MOST_BRANCHES, _MOST_RELEASES = 200, 1000


def recognise(loaded: dict[str, Any]) -> bool:
    """Whether a JSON object has the form of NVIDIA's file."""
    return bool(loaded) and all(
        _BRANCH.fullmatch(key) and isinstance(value, dict) and isinstance(value.get("driver_info"), list)
        for key, value in loaded.items()
    )


def merged(loaded: dict[str, Any], table: Row, origin: str) -> Row:
    """The driver_branches table with what the file says newer. Raises DataError naming the branch."""
    if len(loaded) > _MOST_BRANCHES:
        raise DataError(f"{origin} has {len(loaded)} branches: more than NVIDIA's file can have")
    by_branch = {row["branch"]: dict(row) for row in table["rows"]}
    key = _new_key(table["sources"])
    dates = []
    for name, given in loaded.items():
        releases = _releases(name, given, origin)
        number = int(name)
        row = by_branch.setdefault(number, {"branch": number, "source": []})
        if releases and _renewed(row, releases, given):
            row["source"] = [*row["source"], key]
        dates += [date for _, date in releases if date]
    kept = [row for row in sorted(by_branch.values(), key=lambda row: -int(row["branch"])) if row["source"]]
    if not any(key in row["source"] for row in kept):
        raise DataError(f"{origin} has nothing newer than the tables in use")
    words = f"NVIDIA's releases.json, imported from {origin}" + (f" (newest release {max(dates)})" if dates else "")
    edition = max([str(table["edition"]), *(date[:7] for date in dates)])
    return {**table, "edition": edition, "sources": {**table["sources"], key: words}, "rows": kept}


def _new_key(sources: dict[str, str]) -> str:
    number = 1
    while f"r{number}" in sources:
        number += 1
    return f"r{number}"


def _releases(name: str, given: dict[str, Any], origin: str) -> list[tuple[str, str | None]]:
    """(version, date or None) of a branch, oldest first."""
    found = []
    for item in given["driver_info"][:_MOST_RELEASES]:
        version = item.get("release_version") if isinstance(item, dict) else None
        date = item.get("release_date") if isinstance(item, dict) else None
        try:
            fits = isinstance(version, str) and driver_branch(version) == int(name) and "." in version
        except UsageError:
            fits = False
        if not fits:
            raise DataError(f"{origin}, branch {name}: {str(version)[:40]!r} is no driver version of the branch")
        found.append((str(version).strip(), date if isinstance(date, str) and _DATE.fullmatch(date) else None))
    return sorted(found, key=lambda release: parse_driver(release[0]))


def _renewed(row: Row, releases: list[tuple[str, str | None]], given: dict[str, Any]) -> bool:
    """Put newer facts into a row; whether there were any."""
    before = dict(row)
    newest, newest_date = releases[-1]
    oldest, oldest_date = releases[0]
    if "newest_seen" not in row or parse_driver(newest) > parse_driver(row["newest_seen"]):
        row["newest_seen"] = newest
        _set(row, "newest_seen_date", newest_date)
    if "first_release" not in row or parse_driver(oldest) < parse_driver(row["first_release"]):
        row["first_release"] = oldest
        _set(row, "first_release_date", oldest_date)
    designation = _DESIGNATIONS.get(str(given.get("type")).lower())
    if designation is not None and row.get("designation") != designation:
        row["designation"] = designation
        row.pop("designation_single_source", None)
    return row != before


def _set(row: Row, key: str, value: str | None) -> None:
    row.pop(key, None)
    if value is not None:
        row[key] = value
