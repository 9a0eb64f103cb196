"""Requirement formulas: each quirk of the two evaluators, and what a formula accepts in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cudacompat.stack import Alternative, evaluate_requirements, explain_requirement

MET = None
INVALID = "requirement error: invalid expression"
HINT = ", please update your driver to a newer version, or use an earlier cuda container"
IMAGES = json.loads((Path(__file__).parent.parent / "data" / "real_image_env.json").read_text())["images"]


def refused(first: str, hint: str = "") -> str:
    return f"requirement error: unsatisfied condition: {first}{hint}"


def c(*formulas: str, **facts: Any) -> str | None:
    known = {"cuda": "12.2", "driver": "535.104.05", "arch": "8.0", "brand": "Tesla", **facts}
    return evaluate_requirements(formulas, dialect="c", **known)


def go(*formulas: str, cuda: str | None = "12.2", arch: str | None = "8.0") -> str | None:
    return evaluate_requirements(formulas, cuda=cuda, driver="999.1", arch=arch, brand="Tesla", dialect="go")


@pytest.mark.parametrize(
    ("formula", "answer"),
    [
        pytest.param("", MET, id="an empty formula holds"),
        pytest.param("   ", MET, id="a blank formula holds"),
        pytest.param("cuda>=12.4 brand=tesla,driver>=535,driver<536", MET, id="one true group is enough"),
        pytest.param("brand=tesla,driver>=550", refused("brand=tesla,driver>=550"), id="every factor must hold"),
        pytest.param("cuda>=1 garbage", MET, id="nothing after a true group is read"),
        pytest.param("cuda>=99 garbage", INVALID, id="what follows a false group is read"),
        pytest.param("cuda>=99,garbage", refused("cuda>=99,garbage", HINT), id="a false factor hides the next one"),
        pytest.param("cuda>=99 ,", refused("cuda>=99", HINT), id="commas end the scan, refused"),
        pytest.param("cuda>=99 , cuda>=1", refused("cuda>=99", HINT), id="commas end the scan before a true group"),
        pytest.param(", cuda>=99", MET, id="commas first: accepted"),
        pytest.param(",cuda>=1,,driver>=1,", MET, id="empty factors are skipped"),
        pytest.param("cuda>=99\tcuda>=1", INVALID, id="a tab does not separate"),
        pytest.param("cuda>=99\ncuda>=1", INVALID, id="a line end does not separate"),
        pytest.param("CUDA>=12.2", MET, id="names in any case"),
        pytest.param("CUDA>=99", refused("CUDA>=99"), id="no hint for upper case"),
        pytest.param(" cuda>=99", refused(""), id="the first item of a formula that begins with a blank is empty"),
        pytest.param("brand=TESLA", MET, id="brands in any case"),
        pytest.param("brand!=tesla", refused("brand!=tesla"), id="another brand wanted"),
        pytest.param("brand>tesla", INVALID, id="brands have no order"),
        pytest.param("cuda!12.1", MET, id="a lone exclamation mark is unequal"),
        pytest.param("cuda==12.2", INVALID, id="two equal signs are no operator"),
        pytest.param("cuda=>12", INVALID, id="equal before greater is no operator"),
        pytest.param("cuda>=", INVALID, id="no value"),
        pytest.param("brand!=", INVALID, id="an operator is never read as a shorter one and a value"),
        pytest.param(">=12", INVALID, id="no name"),
        pytest.param("cuda", INVALID, id="no operator"),
        pytest.param("toolkit>=1", INVALID, id="an unknown name"),
        pytest.param("cuda>=v12", INVALID, id="a letter in a version"),
        pytest.param("cuda>=.5", INVALID, id="a version that begins with a dot"),
        pytest.param("driver=535.104.5", MET, id="leading zeros do not count"),
        pytest.param("cuda=12.2.0.0", MET, id="zeros at the end do not count"),
        pytest.param("cuda=12..2.", MET, id="runs of dots count as one"),
        pytest.param("cuda<12.10", MET, id="parts are numbers"),
        pytest.param("cuda<18446744073709551614", MET, id="the largest number"),
        pytest.param("cuda<18446744073709551615", INVALID, id="one more is too large"),
        pytest.param("cuda<13.99999999999999999999", MET, id="what follows the first difference is not read"),
        pytest.param("cuda<12.2.99999999999999999999", MET, id="the rest of a longer version is not read"),
        pytest.param("cuda<" + "9" * 5000, INVALID, id="more digits than Python converts"),
        pytest.param(f"brand={'x' * 119}", refused(f"brand={'x' * 119}"), id="127 characters of false comparison"),
        pytest.param(f"brand={'x' * 120}", INVALID, id="128 characters of false comparison"),
        pytest.param(f"brand!={'x' * 500}", MET, id="a true comparison may be long"),
        pytest.param("brand=\ud800", refused("brand=\ud800"), id="half a surrogate pair"),
    ],
)
def test_c(formula: str, answer: str | None) -> None:
    assert c(formula) == answer


@pytest.mark.parametrize(
    ("formula", "facts", "answer"),
    [
        pytest.param("cuda>=99", {"cuda": None}, MET, id="an unknown fact is true"),
        pytest.param("brand<x", {"brand": None}, MET, id="an unknown brand is true whatever the operator"),
        pytest.param("arch>=99", {"device_visible": False}, MET, id="no device: arch is waived"),
        pytest.param("brand=none", {"device_visible": False}, MET, id="no device: brand is waived"),
        pytest.param("cuda>=99", {"device_visible": False}, refused("cuda>=99", HINT), id="no device: cuda is not"),
        pytest.param("driver>=99999", {"device_visible": False}, refused("driver>=99999"), id="nor is driver"),
        pytest.param("cuda>=12", {"cuda": "12.x"}, INVALID, id="a host version with a letter"),
        pytest.param("cuda=0.0", {"cuda": ""}, MET, id="an empty host version is zero"),
        pytest.param("cuda<.5", {"cuda": ""}, MET, id="against nothing even a leading dot passes"),
    ],
)
def test_c_facts(formula: str, facts: dict[str, Any], answer: str | None) -> None:
    assert c(formula, **facts) == answer


def test_c_takes_all_variables_and_tells_the_first_that_fails() -> None:
    assert c("cuda>=1", "driver>=1") is None
    assert c("cuda>=1", "driver>=600", "cuda>=99") == refused("driver>=600")
    assert c(*["cuda>=1"] * 32) is None
    assert c(*["cuda>=1"] * 33) == "input error: too many requirements"


@pytest.mark.parametrize(
    ("formula", "answer"),
    [
        pytest.param("", MET, id="an empty formula holds"),
        pytest.param("cuda>=12.0 garbage", "invalid constraint: garbage", id="everything is parsed first"),
        pytest.param("CUDA>=99", MET, id="names are exact, others are skipped"),
        pytest.param("toolkit>=1", MET, id="a formula of unknown names holds"),
        pytest.param(">=12", MET, id="so does one without a name"),
        pytest.param("cuda>=99 , cuda>=1", MET, id="commas alone are ignored"),
        pytest.param("\t cuda>=12", MET, id="a blank item is skipped"),
        pytest.param("\x1c", "invalid constraint: \x1c", id="a separator that only Python calls blank"),
        pytest.param("cuda>=v12.2", MET, id="a v before the version"),
        pytest.param("cuda>=12.2.0.0", "invailid value 12.2.0.0; expected a valid version string", id="four parts"),
        pytest.param("cuda>=012", "invailid value 012; expected a valid version string", id="a leading zero"),
        pytest.param(
            "cuda>=12.2.0-01", "invailid value 12.2.0-01; expected a valid version string", id="also in a suffix"
        ),
        pytest.param("cuda!12", "invailid value !12; expected a valid version string", id="a lone exclamation mark"),
        pytest.param("brand!x", "invalid operator ", id="the same for a brand is told when it is compared"),
        pytest.param("brand=", MET, id="the brand is not given"),
        pytest.param("brand=Tesla", "unsatisfied condition: brand=Tesla (brand=)", id="so it equals no brand"),
        pytest.param("driver>=1", "unsatisfied condition: driver>=1 (driver=)", id="nor is the driver"),
        pytest.param("driver<1", MET, id="and an invalid version is below all"),
        pytest.param("cuda>=99", "unsatisfied condition: cuda>=99 (cuda=12.2)", id="one comparison"),
        pytest.param(
            "cuda>=99,arch>=1", "unsatisfied condition: cuda>=99 (cuda=12.2)", id="one group: the comparison in it"
        ),
        pytest.param("cuda>=99 cuda>=98,arch>=1", "cuda>=99||cuda>=98&&arch>=1 not met", id="the whole formula"),
        pytest.param("cuda<" + "9" * 5000, MET, id="numbers of any length"),
        pytest.param("cuda>12.2.0-rc.10", MET, id="a pre-release is below its release"),
    ],
)
def test_go(formula: str, answer: str | None) -> None:
    assert go(formula) == answer


def test_go_compares_a_missing_fact_as_the_empty_string() -> None:
    assert go("cuda>=1", cuda=None) == "unsatisfied condition: cuda>=1 (cuda=)"


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("1.2.3-1", "1.2.3-2"),
        ("1.2.3-9", "1.2.3-10"),
        ("1.2.3-9", "1.2.3-a"),
        ("1.2.3-a", "1.2.3-a.1"),
        ("1.2.3-a.1", "1.2.3"),
        ("1.2.3-A", "1.2.3-a"),
        ("1.9", "1.10"),
        ("bad", "0"),
    ],
)
def test_go_orders_versions(smaller: str, larger: str) -> None:
    assert go(f"cuda<{larger}", cuda=smaller) is None
    assert go(f"cuda>{larger}", cuda=smaller) is not None


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{image['id']} {image['image']}"[:60])
def test_published_images_are_explained(image: dict[str, Any]) -> None:
    ways = explain_requirement(image.get("NVIDIA_REQUIRE_CUDA") or "")
    wanted = image["parsed"]
    if image["id"] in FORMULAS_WITH_MISTAKES:
        assert FORMULAS_WITH_MISTAKES[image["id"]] == [(way.cuda, way.branch) for way in ways]
        return
    assert next((way.cuda for way in ways if way.cuda), None) == wanted["min_cuda"]
    assert sorted({way.branch for way in ways if way.branch is not None}) == wanted["driver_branches"]
    assert sorted({brand for way in ways for brand in way.brands}) == wanted["brands"]


def published(start: str) -> int:
    return int(next(image["id"] for image in IMAGES if (image.get("NVIDIA_REQUIRE_CUDA") or "").startswith(start)))


# A blank that was forgotten asks for a driver below 441 and from 450 on; an underscore is no version.
FORMULAS_WITH_MISTAKES = {
    published("cuda>=11.1 brand=tesla,driver>=418,driver<419 brand=tesla,driver>=440,driver<441,"): [
        ("11.1", None),
        (None, 418),
    ],
    published("cuda>=10_1"): [],
    published("cuda>=10_0"): [],
}


@pytest.mark.parametrize(
    ("formula", "ways"),
    [
        pytest.param(
            "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=GRID,driver>=470,driver<471",
            (Alternative("12.4", None, ()), Alternative(None, 470, ("tesla", "grid"), 471)),
            id="brands of one branch are joined",
        ),
        pytest.param(
            "cuda>=11.3 driver>=450",
            (Alternative("11.3", None, ()), Alternative(None, 450, ())),
            id="a branch without an upper end",
        ),
        pytest.param("brand=tesla", (Alternative(None, None, ("tesla",)),), id="a brand alone"),
        pytest.param("cuda>=12,driver<453.10", (Alternative("12", None, (), 453),), id="an upper end alone"),
        pytest.param("cuda>=12,arch>=9", (), id="a term that is not understood hides its group"),
        pytest.param("brand=a,brand=b", (), id="no board has two brands"),
        pytest.param("", (), id="nothing asked for"),
    ],
)
def test_explanations(formula: str, ways: tuple[Alternative, ...]) -> None:
    assert explain_requirement(formula) == ways
