"""Named hosts: each target against each profile, and what is said of profiles that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat import api
from tests.cli.conftest import IMAGES, Run
from tests.support.schemas import validate

FLEET = """
[profiles.old-a100]
driver = "535.183.01"
gpus = ["A100"]
injection = "legacy"
toolkit_version = "1.17.8"
docker_version = "28.0.1"

[profiles.new-h100]
driver = "580.65.06"
gpus = "H100"
injection = "cdi"

[profiles.saved]
host = "nodes/node7.json"
toolkit-version = "1.18.1"

[profiles.orin]
os = "jetson"
driver_cuda = "12.6"
compute_capability = "8.7"
"""
NODE = '{"driver": "550.54.15", "gpus": ["L4"], "injection": "legacy", "toolkit": "1.17.8"}'


@pytest.fixture
def fleet(run: Run) -> Run:
    Path("cudacompat.toml").write_text(FLEET)
    Path("nodes").mkdir()
    Path("nodes/node7.json").write_text(NODE)
    return run


def test_one_profile_is_the_host(fleet: Run) -> None:
    result = fleet("check", "fails", "--profile", "old-a100", "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    validate(report, "report-v1")
    host = report["host"]
    assert (host["origin"], host["driver"], host["driver_cuda"]) == ("profile old-a100", "535.183.01", "12.2")
    assert (host["toolkit"], host["docker"], host["injection"]) == ("1.17.8", "28.0.1", "legacy")
    assert fleet("check", "fails", "--profile", "new-h100").exit_code == 0


def test_several_profiles_give_a_report_each_and_the_worst_code(fleet: Run) -> None:
    result = fleet("check", "fails", "--profile", "new-h100", "--profile", "old-a100", "--format", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    validate(document, "reports-v1")
    assert [(entry["host"]["origin"], entry["verdict"]["outcome"]) for entry in document["reports"]] == [
        ("profile new-h100", "runs"),
        ("profile old-a100", "fails"),
    ]
    text = fleet("check", "runs", "fails", "--profile", "new-h100", "--profile", "old-a100", "--quiet").stdout
    assert text.count("on profile new-h100") == text.count("on profile old-a100") == 2


def test_all_profiles_with_a_saved_host_and_options_over_it(fleet: Run) -> None:
    document = json.loads(fleet("check", "runs", "--all-profiles", "--format", "json").stdout)
    hosts = {entry["host"]["origin"].split(" (")[0]: entry["host"] for entry in document["reports"]}
    assert list(hosts) == ["profile old-a100", "profile new-h100", "profile saved", "profile orin"]
    assert (hosts["profile saved"]["driver"], hosts["profile saved"]["toolkit"]) == ("550.54.15", "1.18.1")
    assert hosts["profile saved"]["origin"] == "profile saved (nodes/node7.json)"
    assert (hosts["profile orin"]["os"], hosts["profile orin"]["driver_cuda"]) == ("jetson", "12.6")
    host = json.loads(fleet("check", "runs", "--profile", "saved", "--driver", "580.65.06", "--format", "json").stdout)
    assert (host["host"]["driver"], host["host"]["gpus"][0]["name"]) == ("580.65.06", "NVIDIA L4")
    assert host["host"]["origin"] == "profile saved (nodes/node7.json) and options"


def test_a_workload_is_judged_on_each_profile(fleet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def inspect(target: str, **_: object) -> object:
        read.append(target)
        return IMAGES["fails"]

    monkeypatch.setattr(api, "inspect", inspect)
    Path("compose.yaml").write_text("services:\n  a:\n    image: fails\n    runtime: nvidia\n")
    result = fleet("check", "compose.yaml", "--profile", "old-a100", "--profile", "new-h100")
    assert result.stdout.count("on profile old-a100") == result.stdout.count("on profile new-h100") == 1
    assert len(read) == 1
    line = fleet("check", "--profile", "old-a100", "--quiet", "--", "docker", "run", "--gpus", "all", "fails")
    assert (line.exit_code, line.stdout.startswith("on profile old-a100: ")) == (1, True)


def test_profile_of_a_broken_file_does_not_lose_the_others(fleet: Run) -> None:
    Path("nodes/node7.json").unlink()
    result = fleet("check", "runs", "--profile", "saved", "--profile", "new-h100", "--format", "json")
    assert result.exit_code == 4
    document = json.loads(result.stdout)
    assert "profile saved: the host file nodes/node7.json cannot be read" in document["reports"][0]["error"]
    assert document["reports"][1]["verdict"]["outcome"] == "runs"
    alone = fleet("check", "runs", "--profile", "saved", "--format", "json")
    assert (alone.exit_code, alone.stdout) == (4, "")


def test_a_broken_image_is_one_error_for_all_profiles(fleet: Run) -> None:
    result = fleet("check", "gone", "runs", "--all-profiles", "--format", "json")
    assert result.exit_code == 4
    entries = json.loads(result.stdout)["reports"]
    assert [entry["target"]["reference"] for entry in entries if "error" in entry] == ["gone"]
    assert len(entries) == 5


def test_config_file_by_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("other").mkdir()
    Path("other/fleet.toml").write_text(FLEET.replace("nodes/", ""))
    Path("other/node7.json").write_text(NODE)
    for arguments in (("--config", "other/fleet.toml"), ("--config=other/fleet.toml",)):
        result = run("check", "runs", "--profile", "saved", *arguments, "--format", "json")
        assert json.loads(result.stdout)["host"]["origin"] == "profile saved (other/node7.json)"
    monkeypatch.setenv("CUDACOMPAT_CONFIG", "other/fleet.toml")
    monkeypatch.setenv("CUDACOMPAT_PROFILE", "old-a100,new-h100")
    assert run("check", "runs", "--quiet").stdout.count("on profile") == 2
    assert run("check", "runs", "--config", "gone.toml").exit_code == 2


def test_config_of_a_command_that_is_checked_is_not_ours(run: Run) -> None:
    line = ("docker", "--config", "/root/.docker", "run", "--gpus", "all", "fails")
    assert run("check", "--driver", "535", "--", *line).exit_code != 2


def test_profile_as_a_default_of_the_file(fleet: Run) -> None:
    Path("cudacompat.toml").write_text('[check]\nprofile = "new-h100"\n' + FLEET)
    assert "on profile new-h100" in fleet("check", "fails").stdout


def test_defaults_of_the_file_do_not_change_a_profile_that_was_named(
    fleet: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = '[check]\ndriver = "470.57.02"\nhost = "nodes/node7.json"\ninjection = "enroot"\nhost_os = "wsl2"\n'
    Path("cudacompat.toml").write_text(defaults + FLEET)

    def host(*options: str) -> tuple[str, str, str, str]:
        found = json.loads(fleet("check", "runs", *options, "--format", "json").stdout)["host"]
        return found["driver"], found["injection"], found["os"], found["origin"]

    assert host() == ("470.57.02", "enroot", "wsl2", "nodes/node7.json and options")
    assert host("--profile", "old-a100") == ("535.183.01", "legacy", "linux", "profile old-a100")
    monkeypatch.setenv("CUDACOMPAT_INJECTION", "cdi")
    assert host("--profile", "old-a100")[1] == "legacy"
    assert host("--profile", "old-a100", "--injection", "cdi")[1] == "cdi"
    monkeypatch.setenv("CUDACOMPAT_PROFILE", "old-a100")
    assert host() == ("535.183.01", "cdi", "linux", "profile old-a100 and options")


BROKEN = [
    ("an unknown name", "", ("--profile", "prod"), "has old-a100, new-h100, saved, orin"),
    ("an unknown key", '[profiles.x]\ndrivr = "1"\n', ("--all-profiles",), "[profiles.x] has no key 'drivr'; did you"),
    ("a number", "[profiles.x]\ndriver = 535.1\n", ("--all-profiles",), "[profiles.x] driver must be a text in quotes"),
    ("a driver that is none", '[profiles.x]\ndriver = "new"\n', ("--all-profiles",), "[profiles.x] driver: 'new'"),
    ("an unknown GPU", '[profiles.x]\ngpus = ["Voodoo 2"]\n', ("--all-profiles",), "[profiles.x] gpus: the GPU 'Vood"),
    ("a list of numbers", "[profiles.x]\ngpus = [1]\n", ("--all-profiles",), "or a list of them"),
    ("no mode", '[profiles.x]\ninjection = "x"\n', ("--all-profiles",), "[profiles.x] injection: the injection mode"),
    ("the same twice", '[profiles.x]\ngpu = "A100"\ngpus = "A100"\n', ("--all-profiles",), "gives gpus twice"),
    ("no table", 'profiles = "x"\n', ("--all-profiles",), "profiles must be tables"),
    (
        "an address of a checkout",
        '[profiles.x]\nhost = "ssh://evil"\n',
        ("--all-profiles",),
        "--config or CUDACOMPAT_C",
    ),
    ("none", "[check]\nquiet = true\n", ("--all-profiles",), "has no [profiles.NAME] table"),
    ("a host beside it", "", ("--profile", "orin", "--host", "nodes/node7.json"), "exclude each other"),
]


@pytest.mark.parametrize(("text", "options", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_profiles_that_make_no_sense_are_wrong_usage(
    text: str, options: tuple[str, ...], words: str, fleet: Run
) -> None:
    if text:
        Path("cudacompat.toml").write_text(text)
    result = fleet("check", "runs", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())
    assert "cudacompat.toml" in result.stderr or not text


def test_no_config_file_at_all(run: Run) -> None:
    result = run("check", "runs", "--profile", "prod")
    assert result.exit_code == 2
    assert "no config file here (cudacompat.toml)" in result.stderr
