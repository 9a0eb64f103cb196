"""``--host ssh://``: a real sshd of the test's own on loopback, a real ssh, and programs in the tools' place there."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cudacompat
from cudacompat.errors import HostError, UsageError
from cudacompat.host import host_json, remote_script, ssh
from cudacompat.host.container import inside
from cudacompat.host.local import local_host
from cudacompat.host.machine import LocalMachine
from cudacompat.host.remote import Recorded, RemoteMachine, read_answers
from cudacompat.host.ssh import Node, parse_address, ssh_host
from cudacompat.report.document import host_document
from tests.host.machines import HOSTS, put
from tests.support.servers import free_port, need, process, wait_for_port

SSHD = "/usr/sbin/sshd"
USER = getpass.getuser()


@dataclass(frozen=True)
class Server:
    """A running sshd: its port, and the folder whose ``bin`` is the path of whoever logs in."""

    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"ssh://{USER}@127.0.0.1:{self.port}"

    def program(self, name: str, body: str) -> None:
        put(self.folder, f"bin/{name}", f"#!/bin/sh\n{body}\n").chmod(0o755)


def key(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real sshd with keys of its own. Its sessions see the programs of ``bin`` before all others."""
    need("ssh", "ssh-keygen", SSHD)
    folder = tmp_path_factory.mktemp("sshd")
    folder.chmod(0o755)
    host_key = key(folder / "host")
    port = free_port()
    put(folder, "authorized", key(folder / "user"))
    put(folder, "known", f"[127.0.0.1]:{port} {host_key}")
    (folder / "bin").mkdir()
    settings = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/authorized",
        f"PidFile {folder}/pid",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "StrictModes no",
        "UsePAM no",
        f"SetEnv PATH={folder}/bin:/usr/bin:/bin",
    ]
    put(folder, "sshd_config", "\n".join(settings) + "\n")
    if os.geteuid() == 0:
        # Where root's sshd keeps its unprivileged child; Debian makes the folder when the service starts.
        Path("/run/sshd").mkdir(exist_ok=True)
    with process([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], folder / "log") as server:
        wait_for_port(port, server, folder / "log")
        yield Server(port, folder)


@pytest.fixture
def node(sshd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server without any program yet, and an ssh that reads the test's settings instead of the user's."""
    shutil.rmtree(sshd.folder / "bin")
    (sshd.folder / "bin").mkdir()
    client(tmp_path, monkeypatch, sshd, f"{sshd.folder}/known", f"{sshd.folder}/user")
    return sshd


def client(root: Path, monkeypatch: pytest.MonkeyPatch, sshd: Server, known: str, identity: str) -> None:
    """A real ssh that takes its settings from a file of the test, and logs its arguments."""
    put(root, "ssh_config", f"UserKnownHostsFile {known}\nIdentityFile {identity}\nIdentitiesOnly yes\n")
    real = shutil.which("ssh")
    script = f'#!/bin/sh\nfor a in "$@"; do echo "$a"; done > {root}/arguments\nexec {real} -F {root}/ssh_config "$@"\n'
    put(root, "bin/ssh", script).chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:{os.environ['PATH']}")


def test_a_machine_with_nvidia_smi_alone(node: Server) -> None:
    node.program("nvidia-smi", f'[ "$*" = "-q -x" ] && cat {HOSTS / "a100.xml"}')
    host = ssh_host(node.address)
    assert (host.driver, host.driver_cuda, host.origin) == ("535.183.01", "12.2", node.address)
    assert [gpu.name for gpu in host.gpus or ()] == ["NVIDIA A100-SXM4-80GB"] * 2


def test_a_machine_with_its_whole_container_stack(node: Server) -> None:
    node.program("nvidia-smi", f'[ "$*" = "-q -x" ] && cat {HOSTS / "a100.xml"}; echo a warning >&2')
    node.program("nvidia-ctk", "echo NVIDIA Container Toolkit CLI version 1.17.8; echo commit: abc")
    info = {"ServerVersion": "28.5.1", "DefaultRuntime": "runc", "CDISpecDirs": [], "SecurityOptions": []}
    node.program("docker", f"cat > /dev/null; echo '{json.dumps(info)}'; echo WARNING: no swap limit >&2")
    host = ssh_host(node.address)
    if inside(LocalMachine()):
        assert "the host's container toolkit, Docker and injection mode are not seen" in host.notes[-1]
        return
    assert (host.toolkit, host.docker, host.injection) == ("1.17.8", "28.5.1", "legacy")
    assert host.machine in ("amd64", "arm64")


def test_cudacompat_there_is_asked_first(node: Server) -> None:
    document = {"schema": "cudacompat/host/v1", "driver": "580.65.06", "gpus": ["H100"], "origin": "NVML"}
    node.program("cudacompat", f"[ \"$*\" = 'host --format json' ] && echo '{json.dumps(document)}'")
    node.program("nvidia-smi", "echo not asked; exit 1")
    host = ssh_host(node.address)
    assert (host.driver, host.driver_cuda, host.origin) == ("580.65.06", "13.0", node.address)


def test_cudacompat_that_fails_there_leaves_the_rest_to_be_asked(node: Server) -> None:
    node.program("cudacompat", 'echo \'{"driver": "470.57.02"}\'; echo cudacompat: error: it broke >&2; exit 4')
    node.program("nvidia-smi", f'[ "$*" = "-q -x" ] && cat {HOSTS / "windows.xml"}')
    assert ssh_host(node.address).driver == "560.94"


def test_the_api_and_the_command_take_an_address(node: Server) -> None:
    node.program("nvidia-smi", f"cat {HOSTS / 'a100.xml'}")
    assert cudacompat.host_facts(host=node.address).driver == "535.183.01"
    assert cudacompat.host_facts(host=node.address, driver="580.65.06").driver_cuda == "13.0"


def test_a_machine_without_a_driver_says_so(node: Server) -> None:
    with pytest.raises(HostError, match=f"no NVIDIA driver found on {node.address}"):
        ssh_host(node.address)
    node.program("nvidia-smi", "echo NVIDIA-SMI has failed; exit 9")
    with pytest.raises(HostError, match=r"nvidia-smi failed \(9\): NVIDIA-SMI has failed"):
        ssh_host(node.address)


def test_ssh_is_called_without_questions_and_without_forwarding(node: Server, tmp_path: Path) -> None:
    node.program("nvidia-smi", f"cat {HOSTS / 'a100.xml'}")
    ssh_host(node.address)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert {"BatchMode=yes", "ConnectTimeout=10", "ForwardAgent=no", "ControlMaster=no"} <= set(arguments)
    assert arguments[arguments.index("--") :] == ["--", "127.0.0.1", "sh -s"]


def test_refusals_are_one_sentence_each(sshd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client(tmp_path / "a", monkeypatch, sshd, f"{sshd.folder}/known", "/dev/null")
    with pytest.raises(HostError, match=r"Permission denied \(publickey\); ssh must get in without a password"):
        ssh_host(sshd.address)
    client(tmp_path / "b", monkeypatch, sshd, "/dev/null", f"{sshd.folder}/user")
    with pytest.raises(HostError, match="Host key verification failed; connect once by hand"):
        ssh_host(sshd.address)
    with pytest.raises(HostError, match=r"Connection refused; check that sshd runs there"):
        ssh_host(f"ssh://127.0.0.1:{free_port()}")
    with pytest.raises(HostError, match=r"Could not resolve hostname nobody\.invalid.*; check the name"):
        ssh_host("ssh://nobody.invalid")


def test_a_machine_that_never_answers_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "ssh", "#!/bin/sh\nsleep 60\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(ssh, "_ALL_SECONDS", 0.3)
    with pytest.raises(HostError, match=r"ssh://node did not answer within 0\.3 seconds"):
        ssh_host("ssh://node")


def test_no_ssh_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="ssh is not installed here"):
        ssh_host("ssh://node")


ADDRESSES = [
    ("ssh://node", Node("node")),
    ("ssh://node7.example.com/", Node("node7.example.com")),
    ("ssh://me@node:2222", Node("node", "me", 2222)),
    ("ssh://me@domain@node", Node("node", "me@domain")),
    ("ssh://192.0.2.7", Node("192.0.2.7")),
    ("ssh://me@[fe80::1%eth0]:22", Node("fe80::1%eth0", "me", 22)),
]


@pytest.mark.parametrize(("address", "node"), ADDRESSES, ids=[row[0] for row in ADDRESSES])
def test_address(address: str, node: Node) -> None:
    assert parse_address(address) == node


@pytest.mark.parametrize(
    "address",
    [
        "ssh://",
        "ssh://-oProxyCommand=touch${IFS}x",
        "ssh://-oProxyCommand=x@node",
        "ssh://-v",
        "ssh://-v@node",
        "ssh://me@-v",
        "ssh://me@-oProxyCommand=x",
        "ssh://me:secret@node",
        "ssh://node:port",
        "ssh://node:0",
        "ssh://node:99999",
        "ssh://node/path",
        "ssh://no de",
        "ssh://node\n",
        "ssh://node;x",
        "ssh://$(x)",
        "ssh://[::1",
        "ssh://[-oA]",
        "ssh://@node:",
    ],
)
def test_what_is_no_address_never_reaches_ssh(address: str) -> None:
    with pytest.raises(UsageError, match=r"ssh address|is no port"):
        ssh_host(address)


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=40))
@example("-oProxyCommand=x")
def test_nothing_that_passes_looks_like_an_option(text: str) -> None:
    try:
        node = parse_address(f"ssh://{text}")
    except UsageError:
        return
    assert not node.host.startswith("-") and not (node.user or "").startswith("-")
    assert not set(node.host + (node.user or "")) & set(" \t\n;|&$`'\"()<>/")


@given(st.text(alphabet="T abegindcm\n09", max_size=200), st.sampled_from(["T begin cmd x\n", "\nT begin cmd x\n"]))
def test_any_output_is_taken_apart(text: str, start: str) -> None:
    answers = read_answers(start + text, "T")
    assert all(isinstance(answer.code, int) for answer in answers.values())


QUESTIONS = [
    *(("cmd", " ".join(command)) for command in remote_script.COMMANDS),
    *(("file", path) for path in (*remote_script.FILES, "/etc/cdi/a.yaml", "/etc/cdi/b.json")),
    *(("folder", path) for path in remote_script.FOLDERS),
    *(("mark", path) for path in remote_script.MARKS),
    *(("program", name) for name in remote_script.PROGRAMS),
    *(("variable", name) for name in remote_script.VARIABLES),
]
PIECES = [
    (HOSTS / "a100.xml").read_text(),
    (HOSTS / "proc-version.txt").read_text(),
    (HOSTS / "list-mig.txt").read_text(),
    "# R36 (release), REVISION: 4.3",
    "NVIDIA Jetson AGX Orin Developer Kit\0",
    "Driver/library version mismatch",
    "NVIDIA Container Toolkit CLI version 1.17.8",
    '{"ServerVersion": "29.2.0", "DefaultRuntime": "nvidia", "CDISpecDirs": [1, null], "SecurityOptions": {}}',
    '{"ServerVersion": 7, "DefaultRuntime": [], "features": 3, "cdi-spec-dirs": {}}',
    '{"kind": "nvidia.com/gpu"}',
    "kind: nvidia.com/gpu\nlibcuda.so.535.183.01\n",
    "[nvidia-container-runtime]\nmode = 7\n",
    "a.yaml\nb.json\nlibnvidia-ml.so.580.95.05\n00-compat-1.conf",
    "[" * 3000,
]
RECORDED = st.builds(
    Recorded,
    text=st.sampled_from(PIECES) | st.text(max_size=60),
    code=st.sampled_from([0, 0, 0, 1, 9, 18, 124]),
    err=st.text(max_size=20),
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(QUESTIONS), RECORDED))
def test_whatever_a_machine_answers_is_facts_or_a_sentence(answers: dict[tuple[str, str], Recorded]) -> None:
    try:
        host = local_host(machine=RemoteMachine("ssh://n", answers))
    except HostError as error:
        assert "no NVIDIA driver" in str(error)
    else:
        written = json.dumps(host_document(host))
        assert host_json.parse(written, host.origin) == host


def test_an_answer_that_was_cut_off_is_none() -> None:
    text = "\nT begin cmd a\n1\nT end 0 \n\nT begin cmd b\nhalf of it"
    assert list(read_answers(text, "T")) == [("cmd", "a")]


def test_what_cannot_be_read_there_is_a_sentence() -> None:
    machine = RemoteMachine("ssh://n", read_answers("\nT begin file /a\n\nT end 1 head: /a: Permission denied\n", "T"))
    with pytest.raises(HostError, match="/a cannot be read on ssh://n: head: /a: Permission denied"):
        machine.text("/a")
    hung = RemoteMachine("ssh://n", read_answers("\nT begin cmd nvidia-smi -q -x\n\nT end 124 \n", "T"))
    with pytest.raises(HostError, match="nvidia-smi did not answer within 10 seconds on ssh://n"):
        hung.ask("nvidia-smi", "-q", "-x")


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_the_script_is_posix_and_leaves_nothing(shell: str, tmp_path: Path) -> None:
    """Run by other shells, in an empty folder, with the marks of its answers in place."""
    need(shell)
    command = [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        command, input=remote_script.script("TOKEN").encode(), capture_output=True, env=env, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answers = read_answers(done.stdout.decode("utf-8", "replace"), "TOKEN")
    assert answers["variable", "HOME"].text.strip() == str(tmp_path)
    assert answers["file", "/proc/self/mountinfo"].code == 0
    assert list(tmp_path.iterdir()) == []
