"""Facts that nobody gave: every value they can have, played through and merged again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cudacompat.model import Finding, Gpu, HostFacts, ImageFacts, Scenario, Stage, Verdict
from cudacompat.model.host import Injection
from cudacompat.model.prediction import STAGES
from cudacompat.predict.boards import candidate_boards, gpu_matters, variants
from cudacompat.predict.launch import Launch, launch, stack_compat
from cudacompat.predict.play import Play, play
from cudacompat.predict.verdict import key, merge, rank
from cudacompat.stack import compat_generations, file_injection, injections_of

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
    host = replace(host, injection=file_injection(image.target.source, host.injection))
    scenes: dict[HostFacts, Launch] = {}
    if host.gpus is None:
        return _merge(_played(image, _cases_of_unknown_gpu(image, host), scenes))
    models = tuple(dict.fromkeys(_model(gpu) for gpu in host.gpus)) or (Gpu(),)
    answers = [_merge(_played(image, _cases(image, host, gpu, {}, {}), scenes)) for gpu in models]
    return _worst(answers)


def _model(gpu: Gpu) -> Gpu:
    """The board without what tells it from another one of its kind."""
    return replace(gpu, uuid=None, mig=(), mig_profiles=(), mig_enabled=None, memory_mib=None)


def _worst(answers: Sequence[Merged]) -> Merged:
    worst = min(answers, key=lambda answer: rank(answer.verdict))
    findings = _unique(finding for answer in answers for finding in answer.findings)
    return replace(worst, findings=findings)


def _played(image: ImageFacts, cases: Iterable[Case], scenes: dict[HostFacts, Launch]) -> list[tuple[Case, Play]]:
    """Most cases differ in the board alone, so what does not depend on it is worked out once: ``scenes``."""
    played = []
    for case in cases:
        if case.host not in scenes:
            scenes[case.host] = launch(image, case.host)
        played.append((case, play(replace(scenes[case.host], gpu=case.gpu))))
    return played


def _cases_of_unknown_gpu(image: ImageFacts, host: HostFacts) -> Iterator[Case]:
    if not gpu_matters(image):
        yield from _cases(image, host, Gpu(), {}, {})
        return
    for gpu, given, words in candidate_boards(host):
        # On Jetson the board decides where the stack looks for a compat library.
        board_host = replace(host, gpus=(gpu,)) if host.os == "jetson" else host
        yield from _cases(image, board_host, gpu, given, words)


def _cases(
    image: ImageFacts, host: HostFacts, gpu: Gpu, given: Mapping[str, str], words: Mapping[str, str]
) -> Iterator[Case]:
    for filled, more, more_words in _host_cases(image, host):
        for board, extra in variants(image, filled, gpu):
            yield Case({**given, **more, **extra}, {**words, **more_words, **extra}, filled, board)


def _host_cases(image: ImageFacts, host: HostFacts) -> Iterator[tuple[HostFacts, dict[str, str], dict[str, str]]]:
    for mode, mode_given, mode_words in _modes(host):
        filled = replace(host, injection=mode)
        generations = compat_generations(mode, None)
        looked_at = [stack_compat(image, replace(filled, toolkit=toolkit)) for toolkit, _ in generations]
        if host.toolkit is not None or not any(looked_at):
            yield filled, mode_given, mode_words
            continue
        for toolkit, text in generations:
            more = {"toolkit": toolkit} if len(generations) > 1 else {}
            words = {"toolkit": text} if more else {}
            yield replace(filled, toolkit=toolkit), {**mode_given, **more}, {**mode_words, **words}


def _modes(host: HostFacts) -> Iterator[tuple[Injection, dict[str, str], dict[str, str]]]:
    if host.injection is not None:
        yield host.injection, {}, {}
        return
    if host.os == "jetson":
        yield "csv", {}, {}
        return
    choices = injections_of(host.docker, host.toolkit)
    for choice in choices:
        given: dict[str, str] = {"injection": choice.injection} if len(choices) > 1 else {}
        words = {"injection": _WORDS["injection"].get(choice.injection, choice.injection)} if given else {}
        yield choice.injection, given, words


def _merge(played: Sequence[tuple[Case, Play]]) -> Merged:
    if len({key(result.verdict) for _, result in played}) == 1:
        verdict = merge([result.verdict for _, result in played], (), "")
        first = next(result for _, result in played if result.verdict is verdict)
        return Merged(verdict, _agreed(first.stages, played), (), _findings(played))
    scenarios = _grouped(played)
    facts = tuple(dict.fromkeys(name for scenario in scenarios for name in scenario.given))
    summary = _summary(scenarios)
    failing = "fails in every case: " + _endings(scenarios)
    verdict = merge([result.verdict for _, result in played], facts, summary, failing)
    return Merged(verdict, _stages(played, verdict), scenarios, _findings(played))


def _agreed(stages: tuple[Stage, ...], played: Sequence[tuple[Case, Play]]) -> tuple[Stage, ...]:
    """The stages of scenarios that end alike; where they are worded differently, both words."""
    told = []
    for index, stage in enumerate(stages):
        others = dict.fromkeys(result.stages[index].summary for _, result in played)
        both = list(others)[:2] if stage.status in ("ok", "limited") else [stage.summary]
        told.append(replace(stage, summary="; or ".join(both)))
    return tuple(told)


def _summary(scenarios: Sequence[Scenario]) -> str:
    names = list(dict.fromkeys(name.replace("_", " ") for scenario in scenarios for name in scenario.given))
    return f"depends on {' and '.join(names) or 'facts that were not given'}: {_endings(scenarios)}"


def _endings(scenarios: Sequence[Scenario]) -> str:
    return ", or ".join(list(dict.fromkeys(_ending(scenario.verdict) for scenario in scenarios))[:4])


def _ending(verdict: Verdict) -> str:
    words = {"runs": "runs", "runs-limited": "runs with limits", "unknown": "cannot be told"}
    if verdict.outcome != "fails":
        return words.get(verdict.outcome, verdict.outcome)
    code = f" with {verdict.error.code}" if verdict.error and verdict.error.code is not None else ""
    return "refused at start" if verdict.stage == "start" else f"fails{code} ({verdict.stage})"


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
    """The scenarios with facts that do not decide dropped and values that end alike joined."""
    rows: list[_Row] = [(dict(case.given), result.verdict) for case, result in played]
    for name in _DROP_ORDER:
        if not _decides(name, rows):
            for given, _ in rows:
                given.pop(name, None)
    values = _values(rows)
    for name in (*_DROP_ORDER, *_DROP_ORDER):
        rows = _joined(name, rows, values)
    words: dict[tuple[str, str, str | None], str] = {
        (name, value, case.host.injection): case.words.get(name, value)
        for case, _ in played
        for name, value in case.given.items()
    }
    return tuple(Scenario(_flat(given), verdict, _text(given, words)) for given, verdict in rows)


_Given = dict[str, str | tuple[str, ...]]
_Row = tuple[_Given, Verdict]


def _flat(given: Mapping[str, str | tuple[str, ...]]) -> dict[str, str]:
    return {name: ", ".join(_each(value)) for name, value in given.items()}


def _each(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else ((value,) if isinstance(value, str) else value)


def _text(given: _Given, words: Mapping[tuple[str, str, str | None], str]) -> str:
    """The scenario in plain words; a list of capabilities names what it is only once."""
    modes = _each(given.get("injection")) or tuple(mode for _, _, mode in words if mode)
    parts = []
    for name, value in given.items():
        if name == "compute_capability":
            parts.append("compute capability " + ", ".join(_each(value)))
            continue
        texts = [words[name, each, mode] for each in _each(value) for mode in modes if (name, each, mode) in words]
        parts.append(" or ".join(dict.fromkeys(texts)))
    return ", ".join(parts)


def _without(given: _Given, name: str) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((fact, value) for fact, value in given.items() if fact != name))


def _decides(name: str, rows: Sequence[_Row]) -> bool:
    """Whether two scenarios that differ in this fact alone end differently."""
    seen: dict[object, object] = {}
    return any(seen.setdefault(_without(given, name), key(verdict)) != key(verdict) for given, verdict in rows)


# A fact whose possible values hang on another one.
_SCOPES = {"compute_capability": "board", "forward_compat": "board", "toolkit": "injection"}


def _values(rows: Sequence[_Row]) -> dict[tuple[str, str | None], set[str]]:
    """Every value that a fact takes, within the fact that it hangs on."""
    found: dict[tuple[str, str | None], set[str]] = {}
    for given, _ in rows:
        for name, value in given.items():
            scopes = _each(given.get(_SCOPES.get(name, ""))) or (None,)
            for scope in scopes:
                found.setdefault((name, scope), set()).update(_each(value))
    return found


def _joined(name: str, rows: Sequence[_Row], values: Mapping[tuple[str, str | None], set[str]]) -> list[_Row]:
    """Rows that differ in this fact alone and end alike become one; a fact free to take any value goes."""
    groups: dict[object, list[_Row]] = {}
    for given, verdict in rows:
        groups.setdefault((_without(given, name), key(verdict)), []).append((given, verdict))
    return [_one(name, group, values) for group in groups.values()]


def _one(name: str, group: Sequence[_Row], values: Mapping[tuple[str, str | None], set[str]]) -> _Row:
    given, verdict = dict(group[0][0]), group[0][1]
    if name not in given:
        return given, verdict
    told = tuple(dict.fromkeys(each for row, _ in group for each in _each(row.get(name))))
    scopes = _each(given.get(_SCOPES.get(name, "")))
    every = {
        value
        for (fact, scope), told in values.items()
        if fact == name and (not scopes or scope in scopes)
        for value in told
    }
    if set(told) >= every or any(name not in row for row, _ in group):
        del given[name]
    else:
        given[name] = told if len(told) > 1 else told[0]
    return given, verdict
