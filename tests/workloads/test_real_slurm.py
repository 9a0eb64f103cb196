"""A real Slurm as the oracle: what it refuses, which lines it reads, what programs see inside jobs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cudacompat.inventory.slurm import read_site
from cudacompat.workloads import Inventory, check_text
from cudacompat.workloads.devices import Device, slurm_grant
from tests.support.servers import unavailable
from tests.support.slurm import Cluster, require_slurm, slurm

pytestmark = pytest.mark.slurm

REFUSALS = frozenset(["S07", "S09", "S15", "S16", "S17", "S18", "S19", "S21", "S22", "S23", "S24", "S25"])
OPTIONS = [
    "--gres=gpu:2", "--gres=gpu:8", "--gres=gpu", "--gres=gpu:0", "--gres=none", "--gres gpu:1", "-G2", "--gpus=4 -N1",
    "--gpus=8 -N1", "--gpus=10", "--gpus=11", "--gres=gpu:a100:4", "--gres=gpu:a100:4 -N2", "--gres=gpu:a100:2 -N2",
    "--gres=gpu:a100:2 -N3", "-p cpu --gres=gpu:1", "--gres=gpu:b200:1", "--gres=gpu:A100:1", "--gpus-per-task=1",
    "--gpus-per-task=1 -N2", "--gpus-per-task=2 -n 2", "--gpus-per-task=1 -n 4 -N1", "--gpus-per-task=1 -n 8 -N1",
    "--gpus-per-node=4 --ntasks-per-node=4", "--ntasks-per-gpu=2 --gpus=2", "--ntasks-per-gpu=2 --gpus=2 --ntasks-per-node=4",
    "--gres=shard:5", "--gres=shard:4", "--gres=shard:2,gpu:1", "--gres=gpu:2 --mem-per-gpu=4G",
    "--gres=gpu:2 --mem-per-gpu=4G --mem=8G", "--gres=gpu:2 --mem-per-gpu=4G --mem-per-cpu=1G", "--mem-per-gpu=1G",
    "--cpus-per-gpu=4 --gpus=2", "--cpus-per-gpu=4 --gpus=2 --cpus-per-task=4", "--gres=gpu:1 -C h100", "--gres=gpu:1 -C nosuch",
    "--gres=gpu:1 -C drv535|drv550", "--gres=gpu:a100:1 -C h100", "--gpus=1 -N2", "--gpus=2 -N2", "--gpus=a100:1,h100:1 -N2",
    "--gpus=a100:2,h100:2 -N2", "--gpus=a100:1,h100:1", "--gpus=h100:2,v100:2", "--gpus=h100:3,v100:2", "--gres=gpus:2", "--gres=gres/gpu:1", "--gres=gpu=2", "--gres=nvidia.com/gpu:1", "--gpus=gpu:2",
    "--gpus-per-node=gpu:2", "--gpus all", "--gpus-per-node=a100:1,h100:1", "--gpus-per-node=h100:1,v100:1",
    "--gres=gpu:h100:2,gpu:v100:1", "--gpus-per-socket=1", "--gpus-per-socket=1 --sockets-per-node=2", "--gres=gpu:1 -w gpu02",
    "--gres=gpu:a100:1 -w gpu02", "--gres=gpu:3 -w gpu03", "--gpus=4 -N1 -w cpu01", "--gres=gpu:2 --gpus-per-node=4",
    "--exclusive", "--exclusive --gres=gpu:4", "--gres=gpu:$N", "--gpus=2 --nodes=1-2", "--gres=gpu:a100", "--gpus=a100",
    "--gpus-per-task=1 --ntasks-per-node=2", "--gpus-per-task=a100:1 -n2", "--gpus-per-node=5", "--time=30 --gres=gpu:1",
]  # fmt: skip
DIRECTIVES = {
    "plain": ("#SBATCH --gres=gpu:8", True),
    "after a blank line": ("\n\n#SBATCH --gres=gpu:8", True),
    "after a comment": ("# text\n#SBATCH --gres=gpu:8", True),
    "after an indented comment": ("  # text\n#SBATCH --gres=gpu:8", True),
    "after a command": ("true\n#SBATCH --gres=gpu:8", False),
    "after an assignment": ("X=1\n#SBATCH --gres=gpu:8", False),
    "a blank after the hash": ("# SBATCH --gres=gpu:8", False),
    "two hashes": ("##SBATCH --gres=gpu:8", False),
    "indented": (" #SBATCH --gres=gpu:8", False),
    "misspelt": ("#SBTACH --gres=gpu:8", False),
    "without a blank": ("#SBATCH--gres=gpu:8", True),
    "a tab": ("#SBATCH\t--gres=gpu:8", True),
    "value after a blank": ("#SBATCH --gres gpu:8", True),
    "a comment behind": ("#SBATCH --gres=gpu:8 # eight", True),
    "commented out in the line": ("#SBATCH -N1 # --gres=gpu:8", False),
    "two options in a line": ("#SBATCH -N1 --gres=gpu:8", True),
    "the last wins": ("#SBATCH --gres=gpu:8\n#SBATCH --gres=gpu:1", False),
    "the last wins, other order": ("#SBATCH --gres=gpu:1\n#SBATCH --gres=gpu:8", True),
    "an abbreviation": ("#SBATCH --gpus-per-n=8", True),
    "quotes": ('#SBATCH --gres="gpu:8"', True),
    "single letters": ("#SBATCH -N1 -G8", True),
    "a letter with an equals sign": ("#SBATCH -N1 -G=8", None),
    "lower case": ("#sbatch --gres=gpu:8", False),
    "blanks around the equals sign": ("#SBATCH --gres = gpu:8", None),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require_slurm()
    with slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Inventory:
    nodes = cluster.run("scontrol", "show", "node").stdout
    known = read_site(nodes, "scontrol show node")
    listed = read_site(cluster.run("sinfo", "-N", "-o", "%N|%G|%f|%P|%c").stdout, "sinfo")
    assert {(n.name, n.gres, n.features, n.partitions) for n in known.nodes} == {
        (n.name, n.gres, n.features, n.partitions) for n in listed.nodes
    }
    assert listed.default_partition == "gpu"
    return Inventory(site=listed)


def refused_by_us(text: str, site: Inventory) -> set[str]:
    findings = check_text(text, "job.sbatch", inventory=site).findings
    return {f.rule for f in findings if f.rule in REFUSALS and f.level == "error"}


def test_only(cluster: Cluster, text: str) -> int:
    (cluster.folder / "job.sbatch").write_text(text)
    return cluster.run("sbatch", "--test-only", "job.sbatch").returncode


test_only.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("options", OPTIONS)
def test_we_refuse_what_sbatch_refuses(cluster: Cluster, site: Inventory, options: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {options}\nsrun ./program\n"
    assert bool(refused_by_us(text, site)) == (test_only(cluster, text) != 0)


@pytest.mark.parametrize("name", DIRECTIVES)
def test_lines_are_read_as_sbatch_reads_them(cluster: Cluster, site: Inventory, name: str) -> None:
    lines, taken = DIRECTIVES[name]
    text = f"#!/bin/bash\n{lines}\nsrun ./program\n"
    refused = test_only(cluster, text) != 0
    assert bool(refused_by_us(text, site)) == refused
    if taken is not None:
        assert refused == taken


def seen(cluster: Cluster, *options: str) -> list[str]:
    show = "echo $SLURM_PROCID ${CUDA_VISIBLE_DEVICES-unset}"
    done = cluster.run("srun", "-l", *options, "bash", "-c", show)
    assert done.returncode == 0, done.stderr
    return [line.split()[-1] for line in sorted(done.stdout.splitlines())]


STEPS = [
    ("-w gpu01", [()]),
    ("-w gpu01 --gres=gpu:2", [(0, 1)]),
    ("-w gpu01 --gres=gpu:2 -n2", [(0, 1), (0, 1)]),
    ("-w gpu01 --gpus-per-task=1 -n4", [(0,), (1,), (2,), (3,)]),
    ("-w gpu01 --gres=gpu:4 -n4 --gpu-bind=single:1", [(0,), (1,), (2,), (3,)]),
    ("-w gpu01 --gpus-per-task=1 -n4 --gpu-bind=none", [(), (), (), ()]),
    ("-w gpu01 --gres=gpu:0", [()]),
    ("-w gpu02 --gres=gpu:h100:2,gpu:v100:1", [(0, 1, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("options", "granted"), STEPS, ids=[options for options, _ in STEPS])
def test_programs_see_what_devices_predicts(cluster: Cluster, options: str, granted: list[tuple[int, ...]]) -> None:
    devices = [Device(number) for number in range(4)]
    predicted = [slurm_grant(g, devices, constrain=False).value or "unset" for g in granted]
    assert seen(cluster, *shlex.split(options)) == predicted


BODIES = [
    pytest.param("export CUDA_VISIBLE_DEVICES=3\nsrun bash -c 'echo ${CUDA_VISIBLE_DEVICES-unset}'", "0,1", "S10", id="an export does not reach a step"),
    pytest.param("srun --export=ALL,CUDA_VISIBLE_DEVICES=3 bash -c 'echo ${CUDA_VISIBLE_DEVICES-unset}'", "0,1", "S10", id="nor does --export"),
    pytest.param("export CUDA_VISIBLE_DEVICES=3\npython3 -c 'import os; print(os.environ[\"CUDA_VISIBLE_DEVICES\"])'", "3", "S11", id="it reaches a program started directly"),
    pytest.param("srun bash -c 'CUDA_VISIBLE_DEVICES=3 python3 -c \"import os; print(os.environ[\\\"CUDA_VISIBLE_DEVICES\\\"])\"'", "3", "S11", id="and one inside the step's shell"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "value", "rule"), BODIES)
def test_where_an_export_bites(cluster: Cluster, body: str, value: str, rule: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -w gpu01\n#SBATCH --gres=gpu:2\n{body}\n"
    (cluster.folder / "job.sbatch").write_text(text)
    output = cluster.folder / "job.out"
    done = cluster.run("sbatch", "--wait", f"--output={output}", "job.sbatch")
    assert done.returncode == 0, done.stderr + output.read_text()
    assert output.read_text().strip() == value
    assert {"S10", "S11"} & {f.rule for f in check_text(text, "job.sbatch").findings} == {rule}


def test_sixteen_workers_on_four_gpus(cluster: Cluster) -> None:
    text = (
        "#!/bin/bash\n#SBATCH -w gpu01\n#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node=4\n"
        f"export PATH={cluster.folder}:$PATH\nsrun torchrun --nproc_per_node=4 train.py\n"
    )
    stand_in = cluster.folder / "torchrun"
    stand_in.write_text("#!/bin/bash\nfor rank in $(seq ${1#*=}); do echo worker; done\n")
    stand_in.chmod(0o755)
    (cluster.folder / "job.sbatch").write_text(text)
    output = cluster.folder / "workers.out"
    cluster.run("sbatch", "--wait", f"--output={output}", "job.sbatch")
    assert output.read_text().count("worker") == 16
    assert "16 processes share 4 GPUs" in next(f.message for f in check_text(text, "j").findings if f.rule == "S04")


def test_confined_devices_are_numbered_from_zero(tmp_path: Path) -> None:
    require_slurm()
    if not Path("/sys/fs/cgroup/devices").is_dir():
        pytest.skip("confining devices with Slurm 22.05 needs cgroup v1")
    try:
        with slurm(tmp_path, constrain=True) as confined:
            _check_confined(confined)
    except RuntimeError as error:
        unavailable(f"a Slurm with ConstrainDevices did not start here: {error}")


def _check_confined(confined: Cluster) -> None:
    job = confined.folder / "hold.sbatch"
    job.write_text("#!/bin/bash\nsleep 60\n")
    confined.run("sbatch", "-w", "gpu01", "--gres=gpu:1", "--output=/dev/null", "hold.sbatch")
    show = "echo $CUDA_VISIBLE_DEVICES; for n in 0 1 2 3; do (exec 3<" + str(confined.folder) + "/dev/gpu$n) 2>&1; done"
    done = confined.run("srun", "-w", "gpu01", "--gres=gpu:2", "bash", "-c", show)
    value, *answers = done.stdout.splitlines()
    grant = slurm_grant([1, 2], [Device(number) for number in range(4)], constrain=True)
    assert value == grant.value
    reachable = [n for n, answer in enumerate(answers) if "not permitted" not in answer]
    assert reachable == [device.index for device in grant.reachable]
