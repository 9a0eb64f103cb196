"""Bad input, bounds, suppressions, and the readers of a site's and a fleet's facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.errors import Error, TargetError, UsageError
from cudacompat.workloads import Ignore, check_text, check_workload, ignores_from_config, recognise, rule_cards
from cudacompat.workloads.arguments import Grammar, parse
from cudacompat.workloads.kubernetes.quantity import quantity
from cudacompat.workloads.shell import read_script
from cudacompat.workloads.slurm.directives import read_directives
from cudacompat.workloads.slurm.gpus import gres_entries

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
POD = "apiVersion: v1\nkind: Pod\nspec:\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("broken.yaml", POD + "  containers: [\n", r"broken.yaml, line \d+: broken YAML"),
        ("tab.yaml", POD + "\tcontainers: 1\n", r"tab.yaml, line 4"),
        ("bomb.yaml", POD + BOMB, r"bomb.yaml, line \d+: it holds more than"),
        ("loop.yaml", POD + "  a: &a [*a]\n", r"loop.yaml, line 4: an anchor contains itself"),
        ("many.yaml", POD + "---\na: 1\n" * 10_100, r"many.yaml, line \d+: more than 10000 documents"),
        ("deep.yaml", POD + "  a: " + "[" * 300 + "]" * 300 + "\n", r"deep.yaml, line 4: nested deeper"),
        (
            "large.sh",
            "#!/bin/bash\n#SBATCH -N1\n" + "x=1\n" * 300_000,
            r"large.sh, line \d+: the script goes on after 256 KiB",
        ),
        (
            "commands.sh",
            "#!/bin/bash\n#SBATCH -N1\n" + "a\n" * 60_000,
            r"commands.sh, line \d+: more than 50000 commands",
        ),
        (
            "nested.sh",
            "#!/bin/bash\n#SBATCH -N1\n" + "{ " * 500 + "a" + "; }" * 500 + "\n",
            r"nested.sh, line 3: the script nests",
        ),
        ("tangled.sh", "#!/bin/bash\n#SBATCH -N1\n" + "a | " * 20_000, r"tangled.sh, line \d+: more than 3000 pipes"),
        ("prose.txt", "Nothing to see here.\n", "prose.txt, line 1: no workload is recognised"),
        ("list.yaml", "- a\n- b\n", "no workload is recognised"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".yaml", ".sh", ".txt")) else "",
)
def test_bad_input_is_one_sentence_with_file_and_line(name: str, text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words) as caught:
        check_text(text, name)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"\x7fELF\0\0\0", "no text file"),
        (None, "cannot be read"),
        (b"x" * (9 << 20), "goes on after 4096 KiB"),
    ],
    ids=["an empty file", "blank lines", "a binary", "no file", "a very large one"],
)
def test_files_that_are_no_workload(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "job"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TargetError, match=words):
        check_workload(path)


def test_a_name_or_a_byte_order_mark_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "job"
    path.write_bytes(b"\xef\xbb\xbf#!/bin/bash\r\n#SBATCH --gres=gpus:2\r\nsrun python t.py\r\n")
    assert "S18" in {finding.rule for finding in check_workload(path).findings}


SCRIPT = "#!/bin/bash\n#SBATCH --gpus-per-node=4\n{above}\nexport CUDA_VISIBLE_DEVICES=0{behind}\nsrun python t.py\n"


@pytest.mark.parametrize(
    ("above", "behind", "silenced"),
    [
        ("", "  # cudacompat: ignore[S10] the site's wrapper wants it", True),
        ("# cudacompat: ignore[S10] the site's wrapper wants it", "", True),
        ("# cudacompat: ignore[V01, S10] both are known", "", True),
        ("# cudacompat: ignore[S11] another rule", "", False),
        ("# cudacompat: ignore[S10]", "", False),
        ("", "", False),
    ],
    ids=["behind", "above", "several rules", "another rule", "no reason", "no comment"],
)
def test_a_comment_silences_a_finding(above: str, behind: str, silenced: bool) -> None:
    report = check_text(SCRIPT.format(above=above, behind=behind), "job.sh")
    assert ("S10" not in {f.rule for f in report.findings}) == silenced
    assert [s.finding.rule for s in report.suppressed] == (["S10"] if silenced else [])
    assert all(s.reason for s in report.suppressed)


def test_a_comment_works_in_yaml_too() -> None:
    text = (
        POD
        + "  containers:\n  - image: a/b:latest  # cudacompat: ignore[X03] a nightly job\n    resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    report = check_text(text, "p.yaml")
    assert not report.findings
    assert [s.reason for s in report.suppressed] == ["a nightly job"]


def test_the_ignore_list_names_rule_file_and_reason() -> None:
    text = SCRIPT.format(above="", behind="")
    listed = ignores_from_config([{"rule": "s10", "reason": "known", "path": "jobs/*"}])
    assert listed == (Ignore("S10", "known", "jobs/*"),)
    assert not check_text(text, "jobs/a.sh", ignores=listed).findings
    assert check_text(text, "other/a.sh", ignores=listed).findings


@pytest.mark.parametrize("entry", [{}, {"rule": "S10"}, {"rule": "S10", "reason": " "}, {"rule": 1, "reason": "x"}])
def test_an_ignore_entry_without_a_reason_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="entry 1 needs a rule and a reason"):
        ignores_from_config([entry])


def test_every_rule_has_a_card_with_level_title_fix_and_source() -> None:
    cards = rule_cards()
    assert len(cards) == len({card.id for card in cards})
    for card in cards:
        assert card.level in ("error", "warning", "note")
        assert card.title and card.fix and card.source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("'1'", None),
        ("500m", 0.5),
        ("2k", 2000),
        ("1Ki", 1024),
        ("1.5", 1.5),
        ("1.", 1),
        (".5", 0.5),
        ("", None),
        ("one", None),
        ("-1", -1),
        ("1e3", None),
    ],
)
def test_quantities(text: str, value: float | None) -> None:
    assert quantity(text) == value


@given(st.text(max_size=200))
def test_any_text_is_a_workload_or_one_sentence(text: str) -> None:
    recognise("x", text)
    try:
        check_text(text, "x")
    except Error as error:
        assert str(error)


@settings(max_examples=150)
@given(st.lists(st.sampled_from([
    "#SBATCH ", "--gres", "=", "gpu", ":", "4", "\n", "srun ", "torchrun ", "--nproc_per_node", "$X", "${Y:-3}", "'", '"', "\\", "#", "&&",
    "export CUDA_VISIBLE_DEVICES=", "0,1", "bash -c ", "$(", ")", "((", "if ", "then ", "fi", "<<EOF", "EOF", "docker run ", "--gpus ", "all", "|",
]), max_size=40))  # fmt: skip
def test_scripts_of_any_shape_are_read(parts: list[str]) -> None:
    text = "#!/bin/bash\n#SBATCH -N1\n" + "".join(parts)
    report = check_text(text, "job.sh")
    lines = text.count("\n") + 1
    assert all(f.location is not None and 1 <= (f.location.line or 0) <= lines for f in report.findings)


@settings(max_examples=150)
@given(st.lists(st.sampled_from([
    "apiVersion: v1\n", "kind: Pod\n", "spec:\n", "  containers:\n", "  - image: a\n", "    env: [", "{name: LD_LIBRARY_PATH}", "]\n",
    "    resources:\n", "      limits: ", "{nvidia.com/gpu: }", "\n", "---\n", "null\n", "- ", "services:\n", "  s: ", "*a ", "&a ", "!x ", "'", "{{ x }}",
]), max_size=25))  # fmt: skip
def test_manifests_of_any_shape_are_read_or_refused(parts: list[str]) -> None:
    try:
        check_text(POD + "".join(parts), "p.yaml")
        check_text("services:\n" + "".join(parts), "c.yaml")
    except TargetError as error:
        assert "line" in str(error) or "YAML" in str(error)


@given(st.text(max_size=60))
def test_directives_take_any_text(text: str) -> None:
    read_directives("#SBATCH " + text)
    gres_entries(text)
    read_script(text, "x")


@pytest.mark.parametrize("text", ["é", "日本", "\U0001f600\U000e1234", "\u2028\x85", "\ud800"])
def test_characters_beyond_ascii_come_back_as_they_are(text: str) -> None:
    script = read_script(f'X="{text}"\nrun {text} "$X" \'{text}\'\n', "x")
    assert script.commands[0].words == ("run", text, text, text)


@given(st.lists(st.text(alphabet="-=abN1 ", max_size=6), max_size=8))
def test_no_word_is_lost_between_options_and_rest(words: list[str]) -> None:
    found = parse(words, Grammar({"N": "nodes"}, frozenset({"a"})))
    assert len(found.rest) + len(found.pairs) >= 0
    assert list(found.rest) == (words[len(words) - len(found.rest) :] if found.rest else [])


def test_a_large_manifest_is_read_whole() -> None:
    text = "".join(POD + f"  containers: [{{name: c, image: 'a/b:{n}'}}]\n---\n" for n in range(9_000))
    assert len(check_text(text, "many.yaml").images) == 9_000
