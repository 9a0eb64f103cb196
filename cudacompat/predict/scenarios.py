"""Facts that nobody gave: every value they can have, played through and merged again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cudacompat.model import Finding, Gpu, HostFacts, ImageFacts, Scenario, Stage, Verdict
from cudacompat.model.prediction import STAGES
from cudacompat.predict.boards import candidate_boards, gpu_matters, variants
from cudacompat.predict.play import Play, play
from cudacompat.predict.verdict import key, merge, rank
from cudacompat.stack import compat_generations, injections_of

# Which fact is dropped first when several tell the same story; the last ones are easiest to look up.
_DROP_ORDER = ("forward_compat", "brand", "compute_capability", "board", "toolkit", "injection")
_WORDS = {
    "injection": {
        "legacy": "the legacy hook injects the GPU",
        "cdi": "CDI injects the GPU",
        "csv": "the csv mode injects the GPU",
    }
}


@dataclass(frozen=True, slots=True)
class Case:
    """One complete set of facts; ``given`` are those that nobody gave, ``words`` their plain names."""

    given: Mapping[str, str]
    words: Mapping[str, str]
    host: HostFacts
    gpu: Gpu


@dataclass(frozen=True, slots=True)
class Merged:
    """The answer over all scenarios of one host."""

    verdict: Verdict
    stages: tuple[Stage, ...]
    scenarios: tuple[Scenario, ...]
    findings: tuple[Finding, ...]


def judge(image: ImageFacts, host: HostFacts) -> Merged:
    """Every GPU model must pass, so the worst one is the host's answer."""
    if host.gpus is None:
        return _merge(_played(image, _cases_of_unknown_gpu(image, host)))
    models = tuple(dict.fromkeys(replace(gpu, uuid=None) for gpu in host.gpus)) or (Gpu(),)
    answers = [_merge(_played(image, _cases(image, host, gpu, {}, {}))) for gpu in models]
    return _worst(answers)


def _worst(answers: Sequence[Merged]) -> Merged:
    worst = min(answers, key=lambda answer: rank(answer.verdict))
    findings = _unique(finding for answer in answers for finding in answer.findings)
    return replace(worst, findings=findings)


def _played(image: ImageFacts, cases: Iterable[Case]) -> list[tuple[Case, Play]]:
    return [(case, play(image, case.host, case.gpu)) for case in cases]


def _cases_of_unknown_gpu(image: ImageFacts, host: HostFacts) -> Iterator[Case]:
    if not gpu_matters(image):
        yield from _cases(image, host, Gpu(), {}, {})
        return
    for gpu, given, words in candidate_boards(host):
        yield from _cases(image, host, gpu, given, words)


def _cases(
    image: ImageFacts, host: HostFacts, gpu: Gpu, given: Mapping[str, str], words: Mapping[str, str]
) -> Iterator[Case]:
    for filled, more, more_words in _host_cases(image, host):
        for board, extra in variants(image, filled, gpu):
            yield Case({**given, **more, **extra}, {**words, **more_words, **extra}, filled, board)


def _host_cases(image: ImageFacts, host: HostFacts) -> Iterator[tuple[HostFacts, dict[str, str], dict[str, str]]]:
    for mode, mode_given, mode_words in _modes(host):
        filled = replace(host, injection=mode)  # type: ignore[arg-type]
        if host.toolkit is not None or not any(directory.standard for directory in image.compat):
            yield filled, mode_given, mode_words
            continue
        generations = compat_generations(mode, None)
        for toolkit, text in generations:
            more = {"toolkit": toolkit} if len(generations) > 1 else {}
            words = {"toolkit": text} if more else {}
            yield replace(filled, toolkit=toolkit), {**mode_given, **more}, {**mode_words, **words}


def _modes(host: HostFacts) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    if host.injection is not None:
        yield host.injection, {}, {}
        return
    if host.os == "jetson":
        yield "csv", {}, {}
        return
    choices = injections_of(host.docker, host.toolkit)
    for choice in choices:
        given = {"injection": choice.injection} if len(choices) > 1 else {}
        words = {"injection": _WORDS["injection"].get(choice.injection, choice.injection)} if given else {}
        yield choice.injection, given, words


def _merge(played: Sequence[tuple[Case, Play]]) -> Merged:
    if len({key(result.verdict) for _, result in played}) == 1:
        verdict = merge([result.verdict for _, result in played], (), "")
        first = next(result for _, result in played if result.verdict is verdict)
        return Merged(verdict, first.stages, (), _findings(played))
    scenarios = _grouped(played)
    facts = tuple(dict.fromkeys(name for scenario in scenarios for name in scenario.given))
    summary = _summary(scenarios)
    verdict = merge([result.verdict for _, result in played], facts, summary)
    return Merged(verdict, _stages(played, verdict), scenarios, _findings(played))


def _summary(scenarios: Sequence[Scenario]) -> str:
    parts = [f"{scenario.text}: {scenario.verdict.outcome}" for scenario in scenarios[:3]]
    more = f"; and {len(scenarios) - 3} more" if len(scenarios) > 3 else ""
    return "; ".join(parts) + more


def _stages(played: Sequence[tuple[Case, Play]], verdict: Verdict) -> tuple[Stage, ...]:
    """Each stage as all scenarios tell it, or "unknown" where they differ."""
    for _, result in played:
        if key(result.verdict) == key(verdict):
            return result.stages
    stages = []
    for index in range(len(STAGES)):
        told = [result.stages[index] for _, result in played]
        statuses = {stage.status for stage in told}
        if len(statuses) == 1:
            stages.append(told[0])
        else:
            summaries = list(dict.fromkeys(stage.summary for stage in told if stage.summary != "not reached"))
            stages.append(Stage(STAGES[index], "unknown", "depends: " + "; or ".join(summaries[:2])))
    return tuple(stages)


def _findings(played: Sequence[tuple[Case, Play]]) -> tuple[Finding, ...]:
    return _unique(finding for _, result in played for finding in result.findings)


def _unique(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per rule and place: scenarios word the same thing with other facts."""
    seen: dict[tuple[str, object, object], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.rule, finding.evidence, finding.location), finding)
    return tuple(seen.values())


def _grouped(played: Sequence[tuple[Case, Play]]) -> tuple[Scenario, ...]:
    """The scenarios with facts that do not decide dropped and values that agree joined."""
    rows = [(dict(case.given), dict(case.words), result.verdict) for case, result in played]
    for name in _DROP_ORDER:
        if not _decides(name, rows):
            for given, words, _ in rows:
                given.pop(name, None)
                words.pop(name, None)
    for name in _DROP_ORDER:
        rows = _joined(name, rows)
    return tuple(Scenario(given, verdict, ", ".join(words.values())) for given, words, verdict in rows)


_Row = tuple[dict[str, str], dict[str, str], Verdict]


def _without(given: Mapping[str, str], name: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((fact, value) for fact, value in given.items() if fact != name))


def _decides(name: str, rows: Sequence[_Row]) -> bool:
    """Whether two scenarios that differ in this fact alone end differently."""
    seen: dict[object, object] = {}
    for given, _, verdict in rows:
        other = _without(given, name)
        if seen.setdefault(other, key(verdict)) != key(verdict):
            return True
    return False


def _joined(name: str, rows: Sequence[_Row]) -> list[_Row]:
    groups: dict[object, list[_Row]] = {}
    for row in rows:
        groups.setdefault((_without(row[0], name), key(row[2])), []).append(row)
    joined = []
    for group in groups.values():
        given, words, verdict = group[0]
        if name in given:
            given = {**given, name: ", ".join(dict.fromkeys(row[0][name] for row in group))}
            words = {**words, name: " or ".join(dict.fromkeys(row[1].get(name, "") for row in group))}
        joined.append((given, words, verdict))
    return joined
