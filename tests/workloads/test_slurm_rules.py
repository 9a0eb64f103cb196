"""Every Slurm rule: a script that it names, and one that it leaves alone."""

from __future__ import annotations

import pytest

from cudacompat.model import Coverage, ImageConfig, ImageFacts, Target
from cudacompat.model.inventory import Gres, SlurmNode, SlurmSite
from cudacompat.workloads import Inventory, check_text

SITE = SlurmSite(
    nodes=(
        SlurmNode("gpu01", (Gres("gpu", "a100", 4),), ("a100", "drv535"), ("gpu",)),
        SlurmNode("gpu02", (Gres("gpu", "h100", 2), Gres("gpu", "v100", 2)), ("h100", "drv550"), ("gpu",)),
        SlurmNode("gpu03", (Gres("gpu", "a100", 2), Gres("shard", "a100", 8)), ("a100", "shard"), ("gpu",)),
        SlurmNode("cpu01", (), (), ("cpu",)),
    ),
    version=(22, 5),
    constrain_devices=True,
    default_partition="gpu",
)
KNOWN = Inventory(site=SITE)
NONE = Inventory()


def script(options: str, body: str = "srun python train.py") -> str:
    lines = "\n".join(f"#SBATCH {option}" for option in options.split("|") if option)
    return f"#!/bin/bash\n{lines}\n{body}\n"


GPU = "--gpus-per-node=4"
BAD = [
    ("S01", "torchrun without any GPU option", script("--nodes=1", "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S01", "a CUDA image without any GPU option", script("-N1", "srun --container-image=nvcr.io#nvidia/pytorch:24.04-py3 python t.py"), NONE),
    ("S02", "a directive after a command", "#!/bin/bash\ncd /x\n#SBATCH --gres=gpu:2\nsrun python t.py\n", NONE),
    ("S02", "a directive after an assignment", "#!/bin/bash\nX=1\n#SBATCH --gres=gpu:2\nsrun python t.py\n", NONE),
    ("S03", "a blank after the hash", "#!/bin/bash\n# SBATCH --gres=gpu:2\nsrun python t.py\n", NONE),
    ("S03", "two hashes", "#!/bin/bash\n##SBATCH --gres=gpu:2\n#SBATCH -N1\nsrun python t.py\n", NONE),
    ("S03", "an indented directive", "#!/bin/bash\n #SBATCH --gres=gpu:1\nsrun python t.py\n", NONE),
    ("S03", "letters swapped", "#!/bin/bash\n#SBTACH --gres=gpu:1\n#SBATCH -N1\nsrun python t.py\n", NONE),
    ("S04", "4 tasks that each start 4 workers on 4 GPUs", script("--nodes=1|--gpus-per-node=4|--ntasks-per-node=4", "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "more workers than GPUs that a task can see", script("-n4|--gpus-per-task=1|-N1", "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "workers from a variable", script(GPU + "|--ntasks-per-node=4", "N=4\nsrun torchrun --nproc_per_node=$N t.py"), NONE),
    ("S04", "half of the GPUs idle", script(GPU, "srun torchrun --nproc_per_node=2 t.py"), NONE),
    ("S04", "copies of a launcher that do not know each other", script("--gpus-per-node=2|--ntasks-per-node=2", "srun torchrun --nproc_per_node=1 t.py"), NONE),
    ("S04", "accelerate with too many processes", script(GPU, "srun accelerate launch --num_processes 8 t.py"), NONE),
    ("S04", "python -m torch.distributed.run in a shell of srun", script(GPU + "|--ntasks-per-node=4", "srun bash -c 'python -m torch.distributed.run --nproc-per-node 4 t.py'"), NONE),
    ("S04", "a model split over more GPUs than the job has", script(GPU, "srun vllm serve m --tensor-parallel-size 8"), NONE),
    ("S04", "mpirun inside every task", script(GPU + "|--ntasks-per-node=4", "srun mpirun -np 4 ./t"), NONE),
    ("S05", "an exclusive node and a GPU launcher in a step", script("--exclusive", "srun torchrun --nproc_per_node=8 t.py"), NONE),
    ("S06", "both per-node options", script("--gres=gpu:4|--gpus-per-node=4"), NONE),
    ("S07", "one GPU for two nodes", script("--gpus=1|-N2"), NONE),
    ("S07", "one GPU of each type for two nodes", script("--gpus=a100:1,h100:1|-N2"), NONE),
    ("S08", "4 GPUs over 2 nodes", script("--gpus=4|--nodes=2"), NONE),
    ("S09", "GPUs per task, tasks unknown", script("--gpus-per-task=1"), NONE),
    ("S09", "GPUs per socket, sockets unknown", script("--gpus-per-socket=1"), NONE),
    ("S10", "an export before srun", script(GPU, "export CUDA_VISIBLE_DEVICES=0,1\nsrun python t.py"), NONE),
    ("S10", "a value on srun's own line", script(GPU, "CUDA_VISIBLE_DEVICES=0 srun python t.py"), NONE),
    ("S10", "setenv in a csh script", "#!/bin/tcsh\n#SBATCH --gres=gpu:2\nsetenv CUDA_VISIBLE_DEVICES 0,1\nsrun python t.py\n", NONE),
    ("S10", "a value in srun's --export", script(GPU, "srun --export=ALL,CUDA_VISIBLE_DEVICES=1 python t.py"), NONE),
    ("S11", "a program started directly", script(GPU, "export CUDA_VISIBLE_DEVICES=0\npython t.py"), NONE),
    ("S11", "an index that is not there", script("--gres=gpu:2", "CUDA_VISIBLE_DEVICES=4,5 python t.py"), NONE),
    ("S11", "a value set inside the step", script(GPU, "srun bash -c 'CUDA_VISIBLE_DEVICES=3 python t.py'"), NONE),
    ("S12", "devices named and none asked for", script("-N1", "export CUDA_VISIBLE_DEVICES=0,1\npython t.py"), NONE),
    ("S13", "the node's numbers", script(GPU, "export CUDA_VISIBLE_DEVICES=$SLURM_JOB_GPUS\npython t.py"), NONE),
    ("S14", "the task's rank with bound GPUs", script("-n4|--gpus-per-task=1", "srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python t.py'"), NONE),
    ("S15", "a type in capitals", script("--gres=gpu:A100:1"), KNOWN),
    ("S16", "more than any node has", script("--gres=gpu:8"), KNOWN),
    ("S16", "two nodes with four of a type, one exists", script("--gres=gpu:a100:4|-N2"), KNOWN),
    ("S16", "a feature nobody has", script("--gres=gpu:1|-C nosuch"), KNOWN),
    ("S16", "a partition without GPUs", script("-p cpu|--gres=gpu:1"), KNOWN),
    ("S17", "--gpus=gpu:2", script("--gpus=gpu:2"), NONE),
    ("S17", "--gpus all", script("--gpus all"), NONE),
    ("S18", "gpus:2", script("--gres=gpus:2"), NONE),
    ("S18", "gpu=2", script("--gres=gpu=2"), NONE),
    ("S18", "nvidia.com/gpu:1", script("--gres=nvidia.com/gpu:1"), NONE),
    ("S18", "gres/gpu:1", script("--gres=gres/gpu:1"), NONE),
    ("S18", "blanks around the equals sign", script("--gres = gpu:2"), NONE),
    ("S19", "a variable in a directive", script("--gres=gpu:$NGPU"), NONE),
    ("S20", "torchrun in the batch shell of two nodes", script("--nodes=2|" + GPU, "torchrun --nproc_per_node=4 t.py"), NONE),
    ("S21", "CPUs per GPU and per task", script("--gpus=2|--cpus-per-gpu=4|--cpus-per-task=4"), NONE),
    ("S22", "memory per GPU and per node", script("--gpus=2|--mem-per-gpu=4G|--mem=8G"), NONE),
    ("S23", "memory per GPU without GPUs", script("--mem-per-gpu=4G"), NONE),
    ("S24", "tasks per GPU and per node", script("--gpus=2|--ntasks-per-gpu=2|--ntasks-per-node=4"), NONE),
    ("S25", "a shard and a GPU", script("--gres=shard:2,gpu:1"), NONE),
    ("S25", "more shards than a GPU has", script("--gres=shard:5"), KNOWN),
    ("S26", "two MIG instances for one task", script("--gres=gpu:1g.10gb:2"), NONE),
    ("S27", "bound MIG instances on an old Slurm", script("-n2|--gpus-per-task=a100_3g.20gb:1"), KNOWN),
    ("S28", "a step with a type the job did not name", script("--gres=gpu:2", "srun --gres=gpu:a100:2 python t.py"), NONE),
    ("S28", "a step with more than the job", script("--gres=gpu:2", "srun --gres=gpu:3 python t.py"), NONE),
    ("S29", "a hash in the image", script("--container-image=nvcr.io#nvidia/pytorch:24.04-py3|" + GPU), NONE),
    ("S30", "a squashfs file", script(GPU, "srun --container-image=/images/a.sqsh python t.py"), NONE),
    ("S31", "singularity --nv", script(GPU, "singularity exec --nv docker://a/b:1 python t.py"), NONE),
    ("S32", "singularity without --nv", script(GPU, "singularity exec -B /data docker://a/b:1 python t.py"), NONE),
    ("S34", "the requirement check turned off by no", script(GPU, "export NVIDIA_DISABLE_REQUIRE=false\nsrun --container-image=a/b:1 python t.py"), NONE),
    ("S35", "docker inside a job", script(GPU, "docker run --gpus all a/b:1 python t.py"), NONE),
    ("S36", "a container name that stays", script(GPU, "srun --container-image=a/b:1 --container-name=train python t.py"), NONE),
    ("S37", "an image as a bundle", script(GPU, "srun --container=docker://a/b:1 python t.py"), NONE),
    ("S38", "the last S missing", script(GPU, "export SINGULARITYENV_CUDA_VISIBLE_DEVICE=0\nsrun python t.py"), NONE),
    ("S39", "bound and unbound", script("-n4|--gpus-per-task=1|--gpu-bind=none"), NONE),
    ("V01", "a device twice", script(GPU, "CUDA_VISIBLE_DEVICES=1,1 python t.py"), NONE),
    ("V02", "minus one", script(GPU, "CUDA_VISIBLE_DEVICES=-1 python t.py"), NONE),
    ("V03", "a negative index in the middle", script(GPU, "CUDA_VISIBLE_DEVICES=0,-1,2 python t.py"), NONE),
    ("V04", "indices and UUIDs", script(GPU, "CUDA_VISIBLE_DEVICES=0,GPU-8932f937 python t.py"), NONE),
    ("V05", "two MIG ids", script(GPU, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b python t.py"), NONE),
    ("V06", "all", script(GPU, "CUDA_VISIBLE_DEVICES=all python t.py"), NONE),
    ("V06", "a range", script(GPU, "CUDA_VISIBLE_DEVICES=0-3 python t.py"), NONE),
    ("V07", "indices where a node has two models", script(GPU, "CUDA_VISIBLE_DEVICES=0,1 python t.py"), KNOWN),
    ("X03", "an image without a tag", script(GPU, "srun --container-image=nvcr.io#nvidia/pytorch python t.py"), NONE),
    ("S04", "a launcher inside an environment's runner", script(GPU + "|--ntasks-per-node=4", "srun conda run -n env torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "a launcher behind uv run", script(GPU + "|--ntasks-per-node=4", "srun uv run --with x torchrun --nproc_per_node=4 t.py"), NONE),
    ("S05", "options that a branch decides, before srun's own", script("-N2|--exclusive", "if [ -d /x ]; then AUTO=--auto-resume=1; fi\nsrun ${AUTO} -l torchrun --nproc_per_node=8 t.py"), NONE),
    ("S05", "a variable that names devices and a plain program", script("-N2|--exclusive", "export CUDA_VISIBLE_DEVICES=0\nsrun python t.py"), NONE),
    ("S01", "a node shared with the user's own jobs only", script("--exclusive=user", "srun torchrun --nproc_per_node=8 t.py"), NONE),
    ("S30", "a file from a variable's default, assigned by the colon command", script(GPU, ': "${IMAGE:=$(pwd)/a.sqsh}"\nARGS=(--container-image $IMAGE)\nsrun "${ARGS[@]}" python t.py'), NONE),
]  # fmt: skip
GOOD = [
    ("S01", "GPUs asked for", script(GPU, "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S01", "a program that needs none", script("-N1", "srun ./simulate"), NONE),
    ("S02", "a script that is written", script(GPU, "cat > x.sh <<EOF\n#SBATCH --gres=gpu:9\nEOF\npython t.py"), NONE),
    ("S03", "a script that is sent", script(GPU, "sbatch <<'END'\n # SBATCH --gres=gpu:9\nEND"), NONE),
    ("S02", "directives, then commands", script(GPU), NONE),
    ("S03", "a line switched off with many hashes", "#!/bin/bash\n#####SBATCH -p new\n#SBATCH -N1\nsrun a\n", NONE),
    ("S03", "prose", "#!/bin/bash\n#SBATCH -N1\n# START of the job - really\nsrun a\n", NONE),
    ("S04", "one launcher per node", script(GPU, "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "tasks without a launcher", script(GPU + "|--ntasks-per-node=4", "srun python t.py"), NONE),
    ("S04", "launched in the batch shell once", script(GPU + "|--ntasks-per-node=4", "torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "the step asks for one task", script(GPU + "|--ntasks-per-node=4", "srun --ntasks-per-node=1 torchrun --nproc_per_node=4 t.py"), NONE),
    ("S04", "as many as are visible", script(GPU, "srun torchrun --nproc_per_node=gpu t.py"), NONE),
    ("S04", "two nodes, all processes counted", script(GPU + "|-N2", "srun accelerate launch --num_machines 2 --num_processes 8 t.py"), NONE),
    (
        "S04",
        "of two requests the larger counts",
        script("--gres=gpu:4|--gpus-per-node=2", "srun torchrun --nproc_per_node=4 t.py"),
        NONE,
    ),
    ("S05", "exclusive with GPUs", script("--exclusive|" + GPU, "srun torchrun --nproc_per_node=4 t.py"), NONE),
    ("S05", "exclusive for a CPU program", script("--exclusive", "srun ./simulate"), NONE),
    ("S06", "one of them", script("--gres=gpu:4"), NONE),
    ("S06", "another resource beside it", script("--gres=nvme:1|--gpus-per-node=4"), NONE),
    ("S07", "two GPUs for two nodes", script("--gpus=2|-N2"), NONE),
    ("S08", "the same for each node", script("--gpus-per-node=2|--nodes=2"), NONE),
    ("S09", "tasks given", script("-n2|--gpus-per-task=1"), NONE),
    ("S09", "nodes given", script("-N2|--gpus-per-task=1"), NONE),
    ("S10", "set inside the step", script(GPU, "srun bash -c 'CUDA_VISIBLE_DEVICES=0 python t.py'"), NONE),
    ("S10", "taken back in a csh script", "#!/bin/csh\n#SBATCH --gres=gpu:2\nsetenv CUDA_VISIBLE_DEVICES 0\nunsetenv CUDA_VISIBLE_DEVICES\nsrun python t.py\n", NONE),
    ("S10", "set after the step", script(GPU, "srun python t.py\nexport CUDA_VISIBLE_DEVICES=0\n"), NONE),
    ("S11", "no setting", script(GPU, "python t.py"), NONE),
    ("S11", "a setting for srun only", script(GPU, "export CUDA_VISIBLE_DEVICES=0\nsrun python t.py"), NONE),
    ("S12", "GPUs asked for", script(GPU, "export CUDA_VISIBLE_DEVICES=0\npython t.py"), NONE),
    ("S12", "GPUs hidden on purpose", script("-N1", "export CUDA_VISIBLE_DEVICES=\npython t.py"), NONE),
    ("S13", "printing them", script(GPU, "echo $SLURM_JOB_GPUS\npython t.py"), NONE),
    ("S14", "the task's rank among all GPUs", script(GPU + "|--ntasks-per-node=4", "srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python t.py'"), NONE),
    ("S15", "a type that is there", script("--gres=gpu:a100:1"), KNOWN),
    ("S16", "what a node has", script("--gres=gpu:4"), KNOWN),
    ("S16", "two nodes with two of a type", script("--gres=gpu:a100:2|-N2"), KNOWN),
    ("S17", "a number", script("--gpus=2"), NONE),
    ("S17", "a type", script("--gpus-per-node=a100:2"), NONE),
    ("S18", "gpu:a100:2", script("--gres=gpu:a100:2"), NONE),
    ("S18", "a site's own resource", script("--gres=lscratch:100"), NONE),
    ("S19", "a file pattern", script("--output=%x-%j.out|" + GPU), NONE),
    ("S20", "through srun", script("--nodes=2|" + GPU, "srun torchrun --nproc_per_node=4 --rdzv_endpoint=h:1 t.py"), NONE),
    ("S20", "one node", script("--nodes=1|" + GPU, "torchrun --nproc_per_node=4 t.py"), NONE),
    ("S21", "CPUs per GPU alone", script("--gpus=2|--cpus-per-gpu=4"), NONE),
    ("S22", "memory per GPU alone", script("--gpus=2|--mem-per-gpu=4G"), NONE),
    ("S23", "with GPUs", script("--gpus=2|--mem-per-gpu=4G"), NONE),
    ("S24", "tasks per GPU alone", script("--gpus=2|--ntasks-per-gpu=2"), NONE),
    ("S25", "shards of one GPU", script("--gres=shard:4"), KNOWN),
    ("S26", "one instance for each task", script("-n2|--gpus-per-task=1g.10gb:1"), NONE),
    ("S27", "whole GPUs", script("-n2|--gpus-per-task=a100:1"), KNOWN),
    ("S28", "an untyped step in a typed job", script("--gres=gpu:a100:2", "srun --gres=gpu:1 python t.py"), NONE),
    ("S28", "GPUs of an exclusive node", script("--exclusive", "srun --gres=gpu:4 python t.py"), NONE),
    ("S29", "an escaped hash", script("--container-image=nvcr.io\\#nvidia/pytorch:24.04-py3|" + GPU), NONE),
    ("S29", "a comment behind a blank", script("--gres=gpu:2 # two"), NONE),
    ("S30", "a registry's image", script(GPU, "srun --container-image=nvcr.io#nvidia/pytorch:24.04-py3 python t.py"), NONE),
    ("S31", "--nvccli", script(GPU, "apptainer exec --nvccli docker://a/b:1 python t.py"), NONE),
    ("S32", "with --nv", script(GPU, "singularity exec --nv docker://a/b:1 python t.py"), NONE),
    ("S32", "a CPU job", script("-N1", "singularity exec docker://a/b:1 python t.py"), NONE),
    ("S34", "turned off on purpose", script(GPU, "export NVIDIA_DISABLE_REQUIRE=1\nsrun --container-image=a/b:1 python t.py"), NONE),
    ("S35", "the job's devices passed", script(GPU, "docker run --gpus \"\\\"device=$CUDA_VISIBLE_DEVICES\\\"\" a/b:1 python t.py"), NONE),
    ("S36", "a name of this job", script(GPU, "srun --container-image=a/b:1 --container-name=t-$SLURM_JOB_ID python t.py"), NONE),
    ("S37", "a bundle", script(GPU, "srun --container=/bundles/b1 python t.py"), NONE),
    ("S38", "the right name", script(GPU, "export SINGULARITYENV_CUDA_VISIBLE_DEVICES=0\nsrun python t.py"), NONE),
    ("S39", "bound", script("-n4|--gpus-per-task=1"), NONE),
    ("V01", "each once", script(GPU, "CUDA_VISIBLE_DEVICES=0,1 python t.py"), NONE),
    ("V02", "a device", script(GPU, "CUDA_VISIBLE_DEVICES=0 python t.py"), NONE),
    ("V03", "indices only", script(GPU, "CUDA_VISIBLE_DEVICES=0,2 python t.py"), NONE),
    ("V04", "UUIDs only", script(GPU, "CUDA_VISIBLE_DEVICES=GPU-8932f937,GPU-1 python t.py"), NONE),
    ("V05", "one MIG id", script(GPU, "CUDA_VISIBLE_DEVICES=MIG-a python t.py"), NONE),
    ("V06", "a variable", script(GPU, "CUDA_VISIBLE_DEVICES=$X python t.py"), NONE),
    ("V07", "UUIDs", script(GPU, "CUDA_VISIBLE_DEVICES=GPU-a python t.py"), KNOWN),
    ("X03", "a tag", script(GPU, "srun --container-image=a/b:1 python t.py"), NONE),
    ("S01", "devices named and none asked for is S12's matter", script("-N1", "export CUDA_VISIBLE_DEVICES=0\npython train.py"), NONE),
    ("S04", "a variable that is the program", script(GPU, "srun $PYTHON -u t.py --gpus 4"), NONE),
    ("S28", "a program's own --gpus behind a variable", script(GPU, "srun $LAUNCH_CMD --gpus 8 t.py"), NONE),
    ("X03", "what is left of an image cut at its hash", script("--container-image=nvcr.io#nvidia/pytorch:24.04-py3|" + GPU), NONE),
    ("X03", "a container started by the name it was created under", script(GPU, "enroot create --name p a.sqsh\nenroot start --rw p python t.py"), NONE),
]  # fmt: skip


def rules_of(text: str, inventory: Inventory) -> set[str]:
    return {finding.rule for finding in check_text(text, "job.sbatch", inventory=inventory).findings}


@pytest.mark.parametrize(("rule", "name", "text", "inventory"), BAD, ids=[f"{r[0]} {r[1]}" for r in BAD])
def test_the_rule_names(rule: str, name: str, text: str, inventory: Inventory) -> None:
    assert rule in rules_of(text, inventory)


@pytest.mark.parametrize(("rule", "name", "text", "inventory"), GOOD, ids=[f"{r[0]} {r[1]}" for r in GOOD])
def test_the_rule_leaves_alone(rule: str, name: str, text: str, inventory: Inventory) -> None:
    assert rule not in rules_of(text, inventory)


def test_the_example_of_16_workers_on_4_gpus() -> None:
    text = script(
        "--job-name=multi-gpu-train|--nodes=1|--gpus-per-node=4|--ntasks-per-node=4|--cpus-per-task=8",
        "export CUDA_VISIBLE_DEVICES=0,1,2,3\nsrun torchrun --nproc_per_node=4 train.py",
    )
    findings = {f.rule: f for f in check_text(text, "train.sbatch").findings}
    assert set(findings) == {"S04", "S10"}
    assert "16 processes share 4 GPUs" in findings["S04"].message
    assert "--ntasks-per-node=1 and --cpus-per-task=32" in findings["S04"].fix
    assert (findings["S04"].level, findings["S10"].level) == ("error", "warning")
    assert findings["S04"].location is not None
    assert findings["S04"].location.line == 8


@pytest.mark.parametrize(
    ("constrain", "level"), [(True, "error"), (False, "note"), (None, "warning")], ids=["confined", "free", "unknown"]
)
def test_the_site_decides_how_bad_a_rank_as_device_is(constrain: bool | None, level: str) -> None:
    text = script("-n4|--gpus-per-task=1", "srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python t.py'")
    found = check_text(text, "j", inventory=Inventory(site=SlurmSite(constrain_devices=constrain))).findings
    assert [f.level for f in found if f.rule == "S14"] == [level]


def test_rules_that_wait_for_the_site_are_named_and_raise_nothing() -> None:
    report = check_text(script("--gres=gpu:A100:64"), "j")
    waiting = {rule.rule: rule.waits_for for rule in report.not_judged}
    assert {"S15", "S16", "S27"} <= set(waiting)
    assert "sinfo" in waiting["S15"]
    assert not {"S15", "S16"} & {f.rule for f in report.findings}


def enroot_image(*env: str) -> Inventory:
    config = ImageConfig("linux/amd64", env=env)
    facts = ImageFacts(Target("image", "a/b:1", "registry"), config, Coverage("config", True, 0, 1))
    return Inventory(images={"a/b:1": facts})


@pytest.mark.parametrize(
    ("env", "export", "expected"),
    [
        ((), "", {"S33", "S40"}),
        (("NVIDIA_VISIBLE_DEVICES=all",), "", {"S40"}),
        (("NVIDIA_DRIVER_CAPABILITIES=compute",), "", {"S33"}),
        (("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"), "", set()),
        (("NVIDIA_DRIVER_CAPABILITIES=compute",), "export NVIDIA_VISIBLE_DEVICES=all\n", set()),
    ],
    ids=["S33 and S40: a plain image", "S40 alone", "S33 alone", "neither", "exported in the script"],
)
def test_enroot_needs_the_images_variables(env: tuple[str, ...], export: str, expected: set[str]) -> None:
    text = script(GPU, export + "srun --container-image=a/b:1 python t.py")
    assert rules_of(text, enroot_image(*env)) & {"S33", "S40"} == expected


@pytest.mark.parametrize(
    ("body", "target", "injection"),
    [
        ("srun --container-image=/images/a.sqsh python t.py", "sif:/images/a.sqsh", "enroot"),
        ("apptainer exec --nv a.sif python t.py", "sif:a.sif", "apptainer"),
        ("apptainer exec --nvccli docker://a/b:1 python t.py", "registry:a/b:1", "apptainer-nvccli"),
        ("srun --container-image=nvcr.io#nvidia/pytorch:24.04-py3 t", "registry:nvcr.io/nvidia/pytorch:24.04-py3", "enroot"),
        ("docker run --gpus all a/b:1 python t.py", "image://a/b:1", None),
        ("podman run --device nvidia.com/gpu=all a/b:1 python t.py", "image://a/b:1", "cdi"),
    ],
)  # fmt: skip
def test_how_an_image_is_read_and_gets_its_gpus(body: str, target: str, injection: str | None) -> None:
    (use,) = check_text(script(GPU, body), "j").images
    assert (use.target, use.injection, use.gpus) == (target, injection, True)
