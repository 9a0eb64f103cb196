"""A real Slurm of several nodes on this machine, in a folder of its own, with device files for GPUs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers import free_port, unavailable

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "sinfo", "scontrol", "munged")
NODES = (
    ("gpu01", "gpu:a100:4", "a100,drv535", "gpu"),
    ("gpu02", "gpu:h100:2,gpu:v100:2", "h100,drv550", "gpu"),
    ("gpu03", "gpu:a100:2,shard:a100:8", "a100,shard", "gpu"),
    ("cpu01", "", "", "cpu"),
)


@dataclass(frozen=True)
class Cluster:
    """A running cluster: its folder and the environment that leads commands to it."""

    folder: Path
    env: dict[str, str]
    constrain: bool

    def run(self, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command."""
        return subprocess.run(
            command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=timeout, check=False
        )


def require_slurm() -> None:
    """Skip or fail where Slurm, munge or the right to make device files is missing."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        unavailable(f"{missing[0]} is not installed (slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)")
    if os.geteuid() != 0:
        unavailable("making device files and starting slurmd needs root")


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@contextmanager
def slurm(folder: Path, *, constrain: bool = False) -> Iterator[Cluster]:
    """Start munged, slurmctld and one slurmd for each node; stop exactly these at the end."""
    for name in ("state", "spool", "log", "dev", "munge"):
        (folder / name).mkdir()
    _configure(folder, constrain=constrain)
    env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": _path()}
    cluster = Cluster(folder, env, constrain)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_munge(folder))
        started.append(_start(cluster, "slurmctld", "-D", "-c"))
        for name, *_ in NODES:
            (folder / "spool" / name).mkdir()
            started.append(_start(cluster, "slurmd", "-D", "-N", name))
        _wait_until_idle(cluster)
        yield cluster
        _end_jobs(cluster)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


def _start(cluster: Cluster, *command: str) -> subprocess.Popen[bytes]:
    log = (cluster.folder / "log" / f"{command[-1].lstrip('-')}-{command[0]}.out").open("wb")
    return subprocess.Popen(
        command, env=cluster.env, cwd=cluster.folder, stdout=log, stderr=log, start_new_session=True
    )


def _munge(folder: Path) -> subprocess.Popen[bytes]:
    place = folder / "munge"
    key = place / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    socket_path = place / "socket"
    command = (
        "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_path}", f"--pid-file={place}/pid",
        f"--seed-file={place}/seed", f"--log-file={place}/log", "--num-threads=2",
    )  # fmt: skip
    process = subprocess.Popen(
        command, env={**os.environ, "PATH": _path()}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _wait(socket_path.exists, "munged made no socket")
    return process


def _wait(ready: Callable[[], bool], message: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise RuntimeError(message)
        time.sleep(0.2)


def _wait_until_idle(cluster: Cluster) -> None:
    def idle() -> bool:
        found = cluster.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split()
        return len(set(found)) == len(NODES)

    _wait(idle, f"the nodes did not come up: {cluster.run('sinfo', '-N').stdout}")


def _end_jobs(cluster: Cluster) -> None:
    """Cancel what still runs and wait for it: a job's step outlives the daemons otherwise."""
    cluster.run("scancel", "-u", "root")
    _wait(lambda: not cluster.run("squeue", "-h").stdout.strip(), "jobs did not end")


def _configure(folder: Path, *, constrain: bool) -> None:
    for minor in range(4):
        os.mknod(folder / "dev" / f"gpu{minor}", 0o666 | 0o020000, os.makedev(195, minor))
        (folder / "dev" / f"gpu{minor}").chmod(0o666)
    host = socket.gethostname().split(".")[0]
    lines = [
        "ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
        "AuthType=auth/munge", f"AuthInfo=socket={folder}/munge/socket", "CredType=cred/munge",
        f"SlurmctldPort={free_port()}", f"SlurmctldPidFile={folder}/ctld.pid", f"SlurmdPidFile={folder}/%n.pid",
        f"StateSaveLocation={folder}/state", f"SlurmdSpoolDir={folder}/spool/%n", f"SlurmctldLogFile={folder}/log/ctld.log",
        f"SlurmdLogFile={folder}/log/%n.log", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
        "SlurmdParameters=config_overrides", "AccountingStorageType=accounting_storage/none", "MpiDefault=none",
        "ReturnToService=2", "PlugStackConfig=/dev/null", "GresTypes=gpu,mps,shard", "SchedulerParameters=sched_interval=1",
        *(("ProctrackType=proctrack/cgroup", "TaskPlugin=task/cgroup") if constrain else
          ("ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none")),
    ]  # fmt: skip
    for name, gres, features, _ in NODES:
        more = f" Gres={gres} Feature={features}" if gres else ""
        lines.append(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} "
            f"Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=20000{more}"
        )
    for part in ("gpu", "cpu"):
        members = ",".join(name for name, *_, partition in NODES if partition == part)
        default = " Default=YES" if part == "gpu" else ""
        lines.append(f"PartitionName={part} Nodes={members}{default} MaxTime=01:00:00 State=UP")
    dev = folder / "dev"
    gres_lines = [
        "AutoDetect=off",
        f"NodeName=gpu01 Name=gpu Type=a100 File={dev}/gpu[0-3]",
        f"NodeName=gpu02 Name=gpu Type=h100 File={dev}/gpu[0-1]",
        f"NodeName=gpu02 Name=gpu Type=v100 File={dev}/gpu[2-3]",
        f"NodeName=gpu03 Name=gpu Type=a100 File={dev}/gpu[0-1]",
        f"NodeName=gpu03 Name=shard Count=4 File={dev}/gpu0",
        f"NodeName=gpu03 Name=shard Count=4 File={dev}/gpu1",
    ]
    cgroup = ["CgroupMountpoint=/sys/fs/cgroup", f"ConstrainDevices={'yes' if constrain else 'no'}"]
    if constrain:
        cgroup += ["CgroupPlugin=cgroup/v1", "ConstrainCores=no", "ConstrainRAMSpace=no"]
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    (folder / "gres.conf").write_text("\n".join(gres_lines) + "\n")
    (folder / "cgroup.conf").write_text("\n".join(cgroup) + "\n")
