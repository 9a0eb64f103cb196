"""What the toolkit's hook and enroot read from an environment, one row for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from cudacompat.stack import container_request

ALL = ("compat32", "compute", "display", "graphics", "ngx", "utility", "video")
DIRECT = "invoking the NVIDIA Container Runtime Hook directly"
VERSION = "failed to get requirements failed to get version: invalid CUDA version"


def toolkit(*env: str, **options: Any) -> Any:
    return container_request(["NVIDIA_VISIBLE_DEVICES=all", *env], **options)


def enroot(*env: str) -> Any:
    return container_request(["NVIDIA_VISIBLE_DEVICES=all", *env], runtime="enroot")


@pytest.mark.parametrize(
    ("value", "devices"),
    [
        pytest.param("", None, id="empty: no GPU container"),
        pytest.param(" , ", None, id="blank: no GPU container"),
        pytest.param("0,void", None, id="void anywhere: no GPU container"),
        pytest.param("none", (), id="none: a GPU container without a device"),
        pytest.param("0,none,all", (), id="the first of all and none wins"),
        pytest.param("0,all,none", ("all",), id="whichever it is"),
        pytest.param("ALL", ("ALL",), id="words are exact"),
        pytest.param(" 1 , 0 ", ("1", "0"), id="blanks are trimmed"),
        pytest.param("0,1,0", ("", "1", "0"), id="of equal entries the last stays and the first is emptied"),
        pytest.param("\u30000\u2003", ("0",), id="blanks as Go sees them"),
        pytest.param("\x1c0", ("\x1c0",), id="and not as Python does"),
    ],
)
def test_devices(value: str, devices: tuple[str, ...] | None) -> None:
    request = toolkit(f"NVIDIA_VISIBLE_DEVICES={value}")
    assert request.is_gpu_container == (devices is not None)
    assert request.devices == (devices or ())


def test_a_container_without_a_request_is_never_refused() -> None:
    bad = ["NVIDIA_DRIVER_CAPABILITIES=nonsense", "NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_MIG_CONFIG_DEVICES=all"]
    assert container_request(bad) == container_request(["NVIDIA_VISIBLE_DEVICES=void", *bad])
    assert not container_request(bad).is_gpu_container


@pytest.mark.parametrize(
    ("env", "legacy", "requirements"),
    [
        (["CUDA_VERSION=12.4.1"], True, ("cuda>=12.4",)),
        (["CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA="], True, ("", "cuda>=12.4")),
        (["CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=9.0"], False, ("cuda>=9.0",)),
        (["CUDA_VERSION=v12", "NVIDIA_REQUIRE_DRIVER=driver>=1"], True, ("cuda>=12.0", "driver>=1")),
        (["CUDA_VERSION="], False, ()),
        (["NVIDIA_REQUIRE_JETPACK=a", "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS=b", "NVIDIA_REQUIRE_=c"], False, ("c",)),
        (["NVIDIA_REQUIRE_CUDA=a", "NVIDIA_REQUIRE_CUDA=b"], False, ("b",)),
    ],
)
def test_requirements(env: list[str], legacy: bool, requirements: tuple[str, ...]) -> None:
    request = toolkit(*env)
    assert (request.is_legacy_image, request.requirements) == (legacy, requirements)


def test_a_legacy_image_asks_for_all_devices_and_capabilities() -> None:
    request = container_request(["CUDA_VERSION=10.2"])
    assert (request.devices, request.capabilities) == (("all",), ALL)
    assert not container_request(["CUDA_VERSION=10.2", "NVIDIA_VISIBLE_DEVICES="]).is_gpu_container


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("12.3.2.001", "invalid version string"),
        ("12.04", "invalid version string"),
        ("12.4-rc1", "invalid version string"),
        ("vv12", "invalid version string"),
        ("4294967296", "invalid major version"),
        ("12.4294967296", "invalid minor version"),
        ("9" * 5000, "invalid major version"),
    ],
)
def test_bad_versions_of_legacy_images(version: str, problem: str) -> None:
    assert toolkit(f"CUDA_VERSION={version}").error == f"{VERSION} {version}: {problem}"
    assert toolkit(f"CUDA_VERSION={version}", "NVIDIA_DISABLE_REQUIRE=1").error is None


@pytest.mark.parametrize("word", ["1", "t", "T", "true", "TRUE", "True"])
def test_words_that_switch_the_check_off(word: str) -> None:
    request = toolkit("NVIDIA_REQUIRE_CUDA=cuda>=99", f"NVIDIA_DISABLE_REQUIRE={word}")
    assert (request.disable_require, request.requirements) == (True, ())


@pytest.mark.parametrize("word", ["", "0", "yes", "on", "tRue", " true"])
def test_words_that_do_not(word: str) -> None:
    env = ("NVIDIA_REQUIRE_CUDA=cuda>=99", f"NVIDIA_DISABLE_REQUIRE={word}")
    assert toolkit(*env).requirements == ("cuda>=99",)
    assert toolkit(*env, config={"disable-require": "true"}).requirements == ()


@pytest.mark.parametrize(
    ("value", "capabilities"),
    [
        pytest.param(None, ("compute", "utility"), id="unset"),
        pytest.param("", ("compute", "utility"), id="empty"),
        pytest.param(" , ", (), id="only blanks: none at all"),
        pytest.param("video, compute,video", ("compute", "video"), id="blanks and repetitions"),
        pytest.param("nonsense,all", ALL, id="all beside anything"),
    ],
)
def test_capabilities(value: str | None, capabilities: tuple[str, ...]) -> None:
    env = [] if value is None else [f"NVIDIA_DRIVER_CAPABILITIES={value}"]
    assert toolkit(*env).capabilities == capabilities


@pytest.mark.parametrize("value", ["none", "ALL", "compute;utility", "utility compute", "gpu"])
def test_unsupported_capabilities(value: str) -> None:
    wanted = f"unsupported capabilities found in '{value}' (allowed '')"
    assert toolkit(f"NVIDIA_DRIVER_CAPABILITIES={value}").error == wanted


@pytest.mark.parametrize(
    ("supported", "value", "capabilities", "error"),
    [
        ("compute,utility", "all", ("compute", "utility"), None),
        (
            "compute,utility",
            "video,compute",
            (),
            "unsupported capabilities found in 'compute,video' (allowed 'compute')",
        ),
        ("all", "ngx", ("ngx",), None),
        ("", "", (), None),
        ("", "compute", (), "unsupported capabilities found in 'compute' (allowed '')"),
        (
            "compute,gpu",
            "all",
            (),
            "Invalid value for config option 'supported-driver-capabilities'; compute,gpu "
            f"(supported: {','.join(ALL)})",
        ),
    ],
)
def test_configured_capabilities(supported: str, value: str, capabilities: tuple[str, ...], error: str | None) -> None:
    request = toolkit(
        f"NVIDIA_DRIVER_CAPABILITIES={value}",
        config={"nvidia-container-cli": {}, "supported-driver-capabilities": supported},
    )
    assert (request.capabilities, request.error) == (capabilities, error)


@pytest.mark.parametrize("kind", ["CONFIG", "MONITOR"])
def test_mig_rights_need_a_privileged_container(kind: str) -> None:
    env = f"NVIDIA_MIG_{kind}_DEVICES=all"
    assert toolkit(env).error == f"cannot set MIG_{kind}_DEVICES in non privileged container"
    granted = toolkit(env, privileged=True)
    assert [granted.mig_config, granted.mig_monitor] == [value if kind == name else None for name, value in MIG]
    assert toolkit(f"NVIDIA_MIG_{kind}_DEVICES=").error is None


MIG = (("CONFIG", "all"), ("MONITOR", "all"))


@pytest.mark.parametrize(
    ("value", "channels"),
    [("", ()), ("all", ()), ("0,1", ("0", "1")), ("0,all", ()), ("0,void", ()), ("none", ()), ("0,0", ("", "0"))],
)
def test_imex_channels_are_listed_by_the_rules_for_devices(value: str, channels: tuple[str, ...]) -> None:
    assert toolkit(f"NVIDIA_IMEX_CHANNELS={value}").imex_channels == channels


@pytest.mark.parametrize(
    ("devices", "mode", "refused"),
    [
        ("all", "auto", False),
        ("all", "legacy", False),
        ("all", "cdi", True),
        ("all", "csv", True),
        ("all", "jit-cdi", True),
        ("all", "nonsense", True),
        ("nvidia.com/gpu=0", "legacy", False),
        ("nvidia.com/gpu=0", "auto", True),
        ("nvidia.com/gpu=0,nvidia.com/gpu=1", "auto", True),
        ("nvidia.com/gpu=0,nvidia.com/gpu=0", "auto", False),
        ("nvidia.com/gpu=0,1", "auto", False),
        ("nvidia.com/gpu=", "auto", False),
        ("1nvidia.com/gpu=0", "auto", False),
        ("nvidia.com/gpu=0-", "auto", False),
        ("/dev/nvidia0=1", "auto", False),
    ],
)
def test_the_hook_refuses_every_mode_but_legacy(devices: str, mode: str, refused: bool) -> None:
    request = toolkit(f"NVIDIA_VISIBLE_DEVICES={devices}", config={"nvidia-container-runtime": {"mode": mode}})
    assert (request.error or "").startswith(DIRECT) == refused
    assert (request.error is not None) == refused


def test_the_mode_is_looked_at_last_and_not_at_all_when_told_so() -> None:
    config = {"mode": "cdi", "nvidia-container-runtime-hook.skip-mode-detection": "true"}
    assert toolkit(config=config).error is None
    wrong = toolkit("NVIDIA_DRIVER_CAPABILITIES=gpu", config={"mode": "cdi"})
    assert wrong.error == "unsupported capabilities found in 'gpu' (allowed '')"


def test_requests_by_variable_can_be_ignored_in_unprivileged_containers() -> None:
    config = {"accept-nvidia-visible-devices-envvar-when-unprivileged": False}
    assert not toolkit(config=config).is_gpu_container
    assert toolkit(config=config, privileged=True).is_gpu_container


@pytest.mark.parametrize(
    ("env", "devices"),
    [
        (["A=2"], ("2",)),
        (["A=2", "B=3,4"], ("2", "3", "4")),
        (["A="], None),
        (["C=5"], ("all",)),
        (["A=", "CUDA_VERSION=12.4"], None),
    ],
)
def test_swarm_variables_replace_the_list_when_present(env: list[str], devices: tuple[str, ...] | None) -> None:
    request = toolkit(*env, config={"swarm-resource": "A, B"})
    assert request.devices == (devices or ())
    assert request.is_gpu_container == (devices is not None)


def test_entries_without_an_equal_sign_are_left_out() -> None:
    assert toolkit("NVIDIA_REQUIRE_CUDA", "=x", "PATH") == toolkit()


@pytest.mark.parametrize(
    ("value", "capabilities", "error"),
    [
        pytest.param(None, ("utility",), None, id="utility alone by default"),
        pytest.param("compute,utility", ("compute", "utility"), None, id="commas separate"),
        pytest.param("compute utility\tvideo", ("compute", "utility", "video"), None, id="so do blanks"),
        pytest.param("all", tuple(name for name in ALL if name != "ngx"), None, id="all leaves ngx out"),
        pytest.param(
            "all,nonsense", tuple(name for name in ALL if name != "ngx"), None, id="nothing after all is read"
        ),
        pytest.param("zzz,all", (), "Unknown NVIDIA driver capability: zzz", id="what comes before is"),
        pytest.param("ngx", (), "Unknown NVIDIA driver capability: ngx", id="ngx is unknown"),
        pytest.param("b,a", (), "Unknown NVIDIA driver capability: b", id="the first one is told"),
        pytest.param(",", (), None, id="only separators: none at all"),
    ],
)
def test_enroot_capabilities(value: str | None, capabilities: tuple[str, ...], error: str | None) -> None:
    request = enroot(*([] if value is None else [f"NVIDIA_DRIVER_CAPABILITIES={value}"]))
    assert (request.capabilities, request.error) == (capabilities, error)


@pytest.mark.parametrize(
    ("value", "devices"),
    [("", None), ("void", None), ("none", ()), ("all", ("all",)), ("0,1", ("0", "1")), ("0,void", ("0", "void"))],
)
def test_enroot_devices(value: str, devices: tuple[str, ...] | None) -> None:
    request = enroot(f"NVIDIA_VISIBLE_DEVICES={value}")
    assert request.is_gpu_container == (devices is not None)
    assert request.devices == (devices or ())


def test_enroot_requirements() -> None:
    env = ("NVIDIA_REQUIRE_JETPACK=z", "NVIDIA_REQUIRE_CUDA=cuda>=12", "CUDA_VERSION=12.3.2.001")
    assert enroot(*env).requirements == ("cuda>=12", "z")
    assert enroot(*env, "NVIDIA_DISABLE_REQUIRE=").requirements == ("cuda>=12", "z")
    assert enroot(*env, "NVIDIA_DISABLE_REQUIRE=0").requirements == ()
    assert not container_request(["CUDA_VERSION=12"], runtime="enroot").is_gpu_container
