"""A machine as ``remote_script`` recorded it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cudacompat.errors import HostError
from cudacompat.host.machine import Answer, oci_architecture

_MOST_ANSWERS = 512
_CODE = re.compile(r"\d{1,3}", re.ASCII)
_TIMED_OUT = (124, 137)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer of the script: what was printed, the exit code, and stderr's beginning."""

    text: str
    code: int
    err: str


Answers = Mapping[tuple[str, str], Recorded]


def read_answers(output: str, token: str) -> Answers:
    """The script's answers by kind and question. What has no proper end was cut off and is left out."""
    found: dict[tuple[str, str], Recorded] = {}
    question, text = None, ""
    for piece in output.split(f"\n{token} ")[1 : 2 * _MOST_ANSWERS]:
        head, _, body = piece.partition("\n")
        word, _, rest = head.partition(" ")
        if word == "begin":
            kind, _, name = rest.partition(" ")
            question, text = (kind, name), body
        elif word == "end" and question is not None:
            code, _, err = rest.partition(" ")
            found[question] = Recorded(text, int(code) if _CODE.fullmatch(code) else 1, err.strip())
            question = None
    return found


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """The machine ``name`` ("ssh://node") with the answers that it gave."""

    name: str
    answers: Answers

    def text(self, path: str) -> str | None:
        """A file's text."""
        answer = self.answers.get(("file", path))
        if answer is not None and answer.code != 0:
            raise HostError(f"{path} cannot be read on {self.name}: {answer.err or 'no reason was given'}")
        return None if answer is None else answer.text

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder."""
        answer = self.answers.get(("folder", folder))
        if answer is not None and answer.code != 0:
            raise HostError(f"the folder {folder} cannot be read on {self.name}: {answer.err or 'no reason was given'}")
        return None if answer is None else tuple(line for line in answer.text.splitlines() if line)

    def exists(self, path: str) -> bool:
        """Whether something has this path."""
        return ("mark", path) in self.answers

    def which(self, program: str) -> str | None:
        """Where a program is."""
        answer = self.answers.get(("program", program))
        return None if answer is None else answer.text.strip() or program

    def ask(self, program: str, *arguments: str) -> Answer | None:
        """What a program answered."""
        answer = self.answers.get(("cmd", " ".join((program, *arguments))))
        if answer is None:
            return None
        if answer.code in _TIMED_OUT:
            raise HostError(f"{program} did not answer within 10 seconds on {self.name}")
        return Answer(answer.code, answer.text, answer.err)

    def nvml(self) -> Answer | None:
        """Nothing: NVML needs our own program there."""
        return None

    def variable(self, name: str) -> str | None:
        """An environment variable."""
        answer = self.answers.get(("variable", name))
        return answer.text or None if answer is not None else None

    def architecture(self) -> str | None:
        """The CPU architecture."""
        answer = self.answers.get(("arch", ""))
        return None if answer is None else oci_architecture(answer.text)
