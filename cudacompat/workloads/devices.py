"""CUDA_VISIBLE_DEVICES as a small pure model: which device each index of a program is.

Sources: the CUDA programming guide (environment variables), PyTorch's and nvitop's readers of the variable,
and jobs run in a real Slurm. What the driver does with blanks around entries is not documented; PyTorch's
rule (blanks are dropped) is used and said so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cudacompat.errors import UsageError

ListKind = Literal["unset", "empty", "index", "uuid", "mig"]
ProblemKind = Literal["duplicate", "empty", "invalid", "mixed", "several-mig", "not-a-list", "absent", "ambiguous"]
#: More devices than a node has; what follows in a list is not read.
MAX_ENTRIES = 1024
_NUMBER = re.compile(r"[+-]?\d{1,9}")
_INJECTION_WORDS = ("", "void", "none")


@dataclass(frozen=True, slots=True)
class Device:
    """A device as the host numbers it (nvidia-smi's order). ``mig`` are the UUIDs of its MIG instances."""

    index: int
    name: str | None = None
    uuid: str | None = None
    mig: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a value that does not mean what it seems to. ``entry`` is the text, "" for the whole."""

    kind: ProblemKind
    entry: str
    text: str


@dataclass(frozen=True, slots=True)
class VisibleList:
    """A value read by itself, without a host: the entries that count and what is wrong with the text."""

    kind: ListKind
    entries: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """One device as a program sees it: ``cuda_index`` there, ``device`` on the host, ``mig`` the instance."""

    cuda_index: int
    device: Device
    mig: str | None = None


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a program sees. ``problems`` say where the list was cut and why; ``notes`` what is uncertain."""

    seen: tuple[Seen, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def read_value(value: str | None) -> VisibleList:
    """Read a value of CUDA_VISIBLE_DEVICES (None: unset) as far as the text alone decides."""
    if value is None:
        return VisibleList("unset", ())
    if value.strip() == "":
        problem = Problem("empty", "", "an empty value hides every GPU")
        return VisibleList("empty", (), (problem,))
    texts = [text.strip() for text in value.split(",", MAX_ENTRIES)[:MAX_ENTRIES]]
    if texts[0].startswith("GPU-"):
        return _uuids(texts, "GPU-", "uuid")
    if texts[0].startswith("MIG-"):
        return _uuids(texts, "MIG-", "mig")
    return _indices(texts)


def _uuids(texts: list[str], prefix: str, kind: Literal["uuid", "mig"]) -> VisibleList:
    entries: list[str] = []
    problems: list[Problem] = []
    for text in texts:
        if text in entries:
            return VisibleList(kind, (), (_duplicate(text),))
        if not text.startswith(prefix):
            problems.append(_foreign(text, entries))
            break
        entries.append(text)
    if kind == "mig" and len(entries) > 1:
        message = "a process enumerates only one MIG instance, whatever the list"
        problems.append(Problem("several-mig", entries[1], message))
    return VisibleList(kind, tuple(entries), tuple(problems))


def _duplicate(text: str) -> Problem:
    return Problem("duplicate", text, f"{text} stands in the list twice: the program sees no device at all")


def _foreign(text: str, kept: list[str]) -> Problem:
    left = f"only {','.join(kept)} stays" if kept else "no device stays"
    if text.startswith(("GPU-", "MIG-")) or _NUMBER.match(text):
        return Problem("mixed", text, f"the list is cut at {text}: indices and UUIDs cannot be mixed, {left}")
    return Problem("invalid", text, f"the list is cut at {text!r}, which names no device: {left}")


def _indices(texts: list[str]) -> VisibleList:
    entries: list[str] = []
    problems: list[Problem] = []
    for text in texts:
        match = _NUMBER.match(text)
        number = int(match[0]) if match else -1
        if number < 0:
            problems.append(_bad_index(text, entries, match is not None))
            break
        if str(number) in entries:
            return VisibleList("index", (), (_duplicate(str(number)),))
        if match and match[0] != text:
            problems.append(
                Problem("not-a-list", text, f"{text!r} is read as {number}: digits count up to the first other sign")
            )
        entries.append(str(number))
    return VisibleList("index" if entries else "empty", tuple(entries), tuple(problems))


def _bad_index(text: str, kept: list[str], is_number: bool) -> Problem:
    if not kept:
        if is_number:
            return Problem("empty", text, f"{text} as the first entry hides every GPU")
        return Problem("not-a-list", text, f"{text!r} is no index and no UUID: the program sees no device")
    return (
        _foreign(text, kept)
        if not is_number
        else Problem("invalid", text, f"the list is cut at {text}: only {','.join(kept)} stays")
    )


def visible(value: str | None, devices: Sequence[Device], *, order: str | None = None) -> Visibility:
    """Which of ``devices`` a program sees under ``value`` (None: unset), and as which index.

    ``devices`` are those that the process can open at all, in nvidia-smi's order; ``order`` is the value of
    CUDA_DEVICE_ORDER.
    """
    listed = read_value(value)
    problems = list(listed.problems)
    if listed.kind == "unset":
        chosen: list[tuple[Device, str | None]] = [(device, _first_mig(device)) for device in devices]
    else:
        chosen, cut = _choose(listed, devices)
        problems.extend(cut)
    notes = _order_notes(listed, devices, order)
    chosen, more = _one_mig(chosen)
    seen = tuple(Seen(index, device, mig) for index, (device, mig) in enumerate(chosen))
    return Visibility(seen, tuple(problems), tuple(notes + more))


def _first_mig(device: Device) -> str | None:
    return device.mig[0] if device.mig else None


def _choose(listed: VisibleList, devices: Sequence[Device]) -> tuple[list[tuple[Device, str | None]], list[Problem]]:
    chosen: list[tuple[Device, str | None]] = []
    for entry in listed.entries:
        found = _find(entry, listed.kind, devices)
        if isinstance(found, Problem):
            return chosen, [found]
        if found in chosen:
            return [], [_duplicate(entry)]
        chosen.append(found)
    return chosen, []


def _find(entry: str, kind: ListKind, devices: Sequence[Device]) -> tuple[Device, str | None] | Problem:
    if kind == "index":
        number = int(entry)
        if number < len(devices):
            return devices[number], _first_mig(devices[number])
        have = f"there are {len(devices)} here, numbered from 0" if devices else "there is none here"
        return Problem("absent", entry, f"the list is cut at {entry}: no such device, {have}")
    if kind == "uuid":
        matches = [(device, _first_mig(device)) for device in devices if (device.uuid or "").startswith(entry)]
    else:
        matches = [(d, mig) for d in devices for mig in d.mig if mig.startswith(entry)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        return Problem("ambiguous", entry, f"the list is cut at {entry}: {len(matches)} devices begin so")
    return Problem("absent", entry, f"the list is cut at {entry}: no device here has this UUID")


def _one_mig(chosen: list[tuple[Device, str | None]]) -> tuple[list[tuple[Device, str | None]], list[str]]:
    first = next((pair for pair in chosen if pair[1] is not None), None)
    if first is None or len(chosen) == 1:
        return chosen, []
    return [first], ["a process uses one MIG instance: the first of the list, the others are not enumerated"]


def _order_notes(listed: VisibleList, devices: Sequence[Device], order: str | None) -> list[str]:
    names = {device.name for device in devices}
    if listed.kind != "index" or len(names) < 2 or order == "PCI_BUS_ID":
        return []
    return [
        "the GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA numbers the fastest first, "
        "so indices need not be nvidia-smi's; the table below shows PCI_BUS_ID order"
    ]


def injected(nvidia_visible_devices: str | None, devices: Sequence[Device]) -> tuple[Device, ...]:
    """The devices that NVIDIA_VISIBLE_DEVICES brings into a container, in the host's order.

    Raises UsageError for an entry that names no device: the container would not start.
    """
    value = (nvidia_visible_devices or "").strip()
    if value in _INJECTION_WORDS:
        return ()
    if value == "all":
        return tuple(devices)
    wanted: dict[int, set[str]] = {}
    for entry in (text.strip() for text in value.split(",")):
        device, mig = _injected_entry(entry, devices)
        wanted.setdefault(device.index, set()).update(mig)
    return tuple(
        replace(device, mig=tuple(m for m in device.mig if m in wanted[device.index]))
        for device in devices
        if device.index in wanted
    )


def _injected_entry(entry: str, devices: Sequence[Device]) -> tuple[Device, tuple[str, ...]]:
    for device in devices:
        if entry == str(device.index) or (device.uuid is not None and entry == device.uuid):
            return device, device.mig
        for number, mig in enumerate(device.mig):
            if entry in (mig, f"{device.index}:{number}"):
                return device, (mig,)
    raise UsageError(
        f"NVIDIA_VISIBLE_DEVICES: {entry!r} names none of the host's {len(devices)} GPUs "
        "(an index from 0, a UUID, or index:instance); a container with it would not start"
    )


@dataclass(frozen=True, slots=True)
class SlurmGrant:
    """What Slurm gives a process: the value it sets (None: unset) and the devices that can be opened."""

    value: str | None
    reachable: tuple[Device, ...]


def slurm_grant(granted: Sequence[int], devices: Sequence[Device], *, constrain: bool) -> SlurmGrant:
    """What a job or task sees that was granted these global indices.

    With ConstrainDevices=yes only they can be opened and the value counts from 0; with no, every device
    can be opened and the value holds the global indices. Without a GPU the value is unset.
    """
    unknown = [number for number in granted if number not in {d.index for d in devices}]
    if unknown:
        raise UsageError(f"the node has no GPU {unknown[0]}: it has {len(devices)}, numbered from 0")
    reachable = tuple(d for d in devices if d.index in set(granted)) if constrain else tuple(devices)
    numbers = range(len(set(granted))) if constrain else sorted(set(granted))
    return SlurmGrant(",".join(map(str, numbers)) or None, reachable)
