"""One report: what was checked, against what, and what was found. Every output format starts here."""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.model.host import HostFacts
from cudacompat.model.image import ImageFacts, Target
from cudacompat.model.prediction import Finding, Prediction, Remedy, Scenario, Stage, Verdict


@dataclass(frozen=True, slots=True)
class Tool:
    """Who says so: name, version and the edition of the tables used ("2026-12")."""

    name: str
    version: str
    data_edition: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of checking one image against one host."""

    tool: Tool
    host: HostFacts
    image: ImageFacts
    prediction: Prediction

    @property
    def target(self) -> Target:
        """What was checked."""
        return self.image.target

    @property
    def verdict(self) -> Verdict:
        """The answer."""
        return self.prediction.verdict

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The launch stages in order."""
        return self.prediction.stages

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The verdict for each way of filling in facts that nobody gave."""
        return self.prediction.scenarios

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know."""
        return self.prediction.findings

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Changes that were predicted to end better."""
        return self.prediction.remedies

    def to_dict(self) -> dict[str, object]:
        """The report as plain data, schema id ``cudacompat/report/v1``."""
        from cudacompat.report.document import report_document

        return report_document(self)
