"""The file detectors, and which of them want a path."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cudacompat.evidence.interface import FileDetector
from cudacompat.evidence.packages import Apk, Conda, Dpkg
from cudacompat.evidence.python import DistInfo, TensorFlowBuild, TorchVersion
from cudacompat.evidence.rpm import RpmOther, RpmSqlite
from cudacompat.evidence.system import LdSoCache, LdSoConf, OsRelease
from cudacompat.evidence.toolkit import VersionJson, VersionText

DETECTORS: tuple[FileDetector, ...] = (
    Dpkg(),
    RpmSqlite(),
    RpmOther(),
    Apk(),
    Conda(),
    DistInfo(),
    TorchVersion(),
    TensorFlowBuild(),
    VersionJson(),
    VersionText(),
    LdSoConf(),
    LdSoCache(),
    OsRelease(),
)


class Wanted:
    """Answers, for each path of an image, which detector reads it: one regular expression for all."""

    def __init__(self, detectors: Sequence[FileDetector] = DETECTORS) -> None:
        self._detectors = tuple(detectors)
        self._match = re.compile("|".join(f"({detector.pattern})" for detector in detectors)).fullmatch

    def detector(self, path: str) -> FileDetector | None:
        """The first detector whose pattern fits the whole path."""
        match = self._match(path)
        return self._detectors[match.lastindex - 1] if match and match.lastindex else None
