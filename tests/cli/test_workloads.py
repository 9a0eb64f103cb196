"""``cudacompat check`` on workloads: the request's findings, the nested images, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat import api
from cudacompat.model import ImageFacts
from tests.cli.conftest import DRIVER, IMAGES, Run
from tests.support.schemas import validate

SEED = (
    "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node={tasks}\n"
    "srun torchrun --nproc_per_node=4 train.py\n"
)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers: [{{name: c, image: '{image}', resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]\n"


@pytest.mark.parametrize(("tasks", "code"), [(4, 1), (1, 0)])
def test_an_error_in_the_request_fails(run: Run, tmp_path: Path, tasks: int, code: int) -> None:
    path = tmp_path / "train.sbatch"
    path.write_text(SEED.format(tasks=tasks))
    result = run("check", str(path), *DRIVER, "--format", "json")
    document = json.loads(result.stdout)
    assert result.exit_code == code
    assert document["target"]["kind"] == "workload"
    assert [f["rule"] for f in document["findings"]] == (["S04"] if code else [])
    if code:
        assert document["findings"][0]["location"] == {"path": str(path), "line": 5}


def test_the_text_names_file_line_and_rule(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "train.sbatch"
    path.write_text(SEED.format(tasks=4))
    out = " ".join(run("check", str(path), *DRIVER).stdout.split())
    assert "train.sbatch:5" in out
    assert "[S04]" in out
    assert "16 processes share 4 GPUs" in out


def known(target: str, **_: object) -> ImageFacts:
    found = IMAGES[target.removeprefix("image://").removeprefix("registry:").split(":")[0]]
    if isinstance(found, Exception):
        raise found
    return found


@pytest.mark.parametrize(
    ("image", "code", "outcome"), [("runs:1", 0, "runs"), ("fails:1", 1, "fails"), ("gone:1", 3, "unknown")]
)
def test_the_worst_of_request_and_images_counts(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, image: str, code: int, outcome: str
) -> None:
    monkeypatch.setattr(api, "inspect", known)
    path = tmp_path / "pod.yaml"
    path.write_text(POD.format(image=image))
    result = run("check", str(path), *DRIVER, "--format", "json")
    document = json.loads(result.stdout)
    validate(document, "workload-v1")
    assert (result.exit_code, document["verdict"]["outcome"]) == (code, outcome)
    assert [u["reference"] for u in document["unread"]] == ([image] if code == 3 else [])
    assert [r["verdict"]["outcome"] for r in document["images"]] == ([] if code == 3 else [outcome])


def test_a_docker_line_after_two_dashes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "inspect", known)
    result = run("check", *DRIVER, "--format", "json", "--", "docker", "run", "--gpus", "0,1", "runs:1")
    assert "D02" in [f["rule"] for f in json.loads(result.stdout)["findings"]]
    assert result.exit_code == 1


def test_a_broken_manifest_is_one_sentence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\nspec: [\n")
    result = run("check", str(path), *DRIVER)
    assert result.exit_code == 4
    assert "pod.yaml, line" in result.stderr


def test_the_nodes_of_the_cluster_are_used(run: Run, tmp_path: Path) -> None:
    job, nodes = tmp_path / "job.sbatch", tmp_path / "nodes.txt"
    job.write_text("#!/bin/bash\n#SBATCH --gres=gpu:A100:1\nsrun python t.py\n")
    nodes.write_text("NODELIST|GRES|PARTITION\ng1|gpu:a100:4|gpu*\nConstrainDevices=yes\n")
    document = json.loads(run("check", str(job), *DRIVER, "--nodes", str(nodes), "--format", "json").stdout)
    assert [f["rule"] for f in document["findings"]] == ["S15"]
    assert "S15" not in [r["rule"] for r in document["not_judged"]]


def test_the_config_file_silences_with_a_reason(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "train.sbatch"
    path.write_text(SEED.format(tasks=4))
    Path("cudacompat.toml").write_text('[[ignore]]\nrule = "S04"\nreason = "a test of the scheduler"\n')
    result = run("check", str(path), *DRIVER, "--format", "json")
    assert result.exit_code == 0
    assert [(s["rule"], s["reason"]) for s in json.loads(result.stdout)["suppressed"]] == [
        ("S04", "a test of the scheduler")
    ]


@pytest.mark.parametrize("rule", ["S04", "k15", "V01"])
def test_explain_knows_the_rules_of_workloads(run: Run, rule: str) -> None:
    result = run("explain", rule)
    assert result.exit_code == 0
    assert rule.upper() in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("train.sbatch", "", "train.sbatch, line 1: the file is empty"),
        ("pod.yaml", " \n\n", "pod.yaml, line 1: the file is empty"),
        ("notes.sh", "hello there\n", "notes.sh, line 1: this text is no workload"),
        ("Dockerfile", "FROM\n", "Dockerfile, line 1: this text is no workload"),
        ("values.yaml", "image: app\n", "values.yaml, line 1: this text is no workload"),
        ("long.txt", "ä" * 5000, "long.txt, line 1: this text is no workload"),
        ("odd.txt", "a" + "ä" * 5000, "odd.txt, line 1: this text is no workload"),
    ],
)
def test_a_file_of_text_that_is_no_workload(run: Run, tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = run("check", name, *DRIVER)
    assert result.exit_code == 4
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08" + b"\x01" * 40, b"caf\xe9 au lait", b"a\x1b[0m"])
def test_other_bytes_are_taken_for_an_image(run: Run, tmp_path: Path, content: bytes) -> None:
    from cudacompat.cli.workload_targets import is_workload

    (tmp_path / "bytes").write_bytes(content)
    assert not is_workload(str(tmp_path / "bytes"))


def test_variables_of_the_submitting_shell_count(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.sbatch").write_text("#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gpus=4\nsrun ./a\n")
    assert json.loads(run("check", "a.sbatch", *DRIVER, "--format", "json").stdout)["findings"] == []
    monkeypatch.setenv("SBATCH_GPUS", "2")
    found = json.loads(run("check", "a.sbatch", *DRIVER, "--format", "json").stdout)["findings"]
    assert [finding["rule"] for finding in found] == ["S07"]


@pytest.mark.parametrize(("here", "rules"), [(True, ["C05", "C08"]), (False, [])])
def test_compose_and_the_engine_of_this_machine_are_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: bool, rules: list[str]
) -> None:
    monkeypatch.setattr(api, "inspect", lambda *_, **__: IMAGES["runs"])
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text('#!/bin/sh\ncase "$1" in compose) echo 2.20.0;; *) echo \'{"Runtimes": {"runc": {}}}\';; esac\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{docker.parent}:/usr/bin:/bin")
    (tmp_path / "compose.yaml").write_text(
        "services:\n  a: {image: 'runs:1', gpus: all}\n  b: {image: 'runs:1', runtime: nvidia}\n"
    )
    options = () if here else DRIVER
    found = json.loads(run("check", "compose.yaml", *options, "--format", "json").stdout)["findings"]
    assert [finding["rule"] for finding in found if finding["rule"].startswith("C")] == rules
