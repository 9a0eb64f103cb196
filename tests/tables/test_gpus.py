"""GPU names as drivers, labels and people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat import tables
from cudacompat.errors import UsageError

FOUND = [
    ("A100", "8.0", "datacenter", True),
    ("a100 80gb", "8.0", "datacenter", True),
    ("NVIDIA A100-SXM4-80GB", "8.0", "datacenter", True),
    ("A100-SXM4-80GB", "8.0", "datacenter", True),
    ("NVIDIA A100 80GB PCIe", "8.0", "datacenter", True),
    ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "8.0", "datacenter", True),
    ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "8.0", "datacenter", True),
    ("rtx 4090", "8.9", "geforce", False),
    ("RTX4090", "8.9", "geforce", False),
    ("4090", "8.9", "geforce", False),
    ("RTX3060Ti", "8.6", "geforce", False),
    ("1080ti", "6.1", "geforce", False),
    ("NVIDIA GeForce RTX 3080 Laptop GPU", "8.6", "geforce", False),
    ("GeForce GTX 1060 6GB", "6.1", "geforce", False),
    ("NVIDIA-GeForce-RTX-3090", "8.6", "geforce", False),
    ("Tesla-T4-SHARED", "7.5", "datacenter", True),
    ("nvidia-tesla-t4", "7.5", "datacenter", True),
    ("T4", "7.5", "datacenter", True),
    ("nvidia-h100-80gb", "9.0", "datacenter", True),
    ("nvidia-h100-mega-80gb", "9.0", "datacenter", True),
    ("NVIDIA H100 80GB HBM3", "9.0", "datacenter", True),
    ("GH200", "9.0", "datacenter", True),
    ("B200", "10.0", "datacenter", True),
    ("GB300", "10.3", "datacenter", True),
    ("NVIDIA GB10", "12.1", "dgx-spark", True),
    ("TITAN X (Pascal)", "6.1", "titan", False),
    ("Titan V", "7.0", "titan", False),
    ("NVS 4200M", "2.1", "nvs", None),
    ("Quadro RTX 4000", "7.5", "quadro", None),
    ("NVIDIA RTX A6000", "8.6", "rtx-pro", None),
    ("Jetson AGX Orin", "8.7", "jetson", True),
    ("Xavier", "7.2", "jetson", True),
    ("NVIDIA A40-8Q", "8.6", "vgpu", None),
    ("GRID T4-16Q", "7.5", "vgpu", None),
    ("GRID A100-1-5C", "8.0", "vgpu", None),
]


@pytest.mark.parametrize(("name", "capability", "gpu_class", "compat"), FOUND, ids=[row[0] for row in FOUND])
def test_found(name: str, capability: str, gpu_class: str, compat: bool | None) -> None:
    model = tables.find_gpu(name)
    assert (model.compute_capability, model.gpu_class, model.forward_compat) == (capability, gpu_class, compat)
    assert model.source


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("RTX 4000", ("Quadro RTX 4000 (7.5)", "NVIDIA RTX 4000 Ada Generation (8.9)")),
        ("TITAN X", ("NVIDIA TITAN X (Pascal) (6.1)", "NVIDIA GeForce GTX TITAN X (5.2)")),
        ("RTX 6000", ("Quadro RTX 6000 (7.5)", "NVIDIA RTX 6000 Ada Generation (8.9)")),
        ("RTX", ("and ",)),
        ("GeForce GT 730", ("(2.1)", "(3.0)", "(3.5)")),
    ],
)
def test_an_ambiguous_name_lists_its_choices(name: str, choices: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="fits several products") as error:
        tables.find_gpu(name)
    assert all(choice in str(error.value) for choice in choices)


@pytest.mark.parametrize("name", ["banana", "", "  ", "nvidia", "GeForce", "A", "X", "gpu 3", "-SHARED", "MIG 1g.5gb"])
def test_an_unknown_name_says_what_to_do(name: str) -> None:
    with pytest.raises(UsageError, match="--compute-capability"):
        tables.find_gpu(name)


def test_near_names_are_offered() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*RTX 3060"):
        tables.find_gpu("GeForce RTX 3066")


def test_an_endless_name_is_refused_shortly() -> None:
    with pytest.raises(UsageError) as error:
        tables.find_gpu("A" * 100_000)
    assert len(str(error.value)) < 200


def test_every_name_in_the_table_is_found_with_its_own_capability() -> None:
    for model in tables.gpus():
        if model.gpu_class == "vgpu":
            continue
        try:
            found = tables.find_gpu(model.name)
        except UsageError as error:
            assert "fits several" in str(error), model.name
            assert f"{model.name} ({model.compute_capability})" in str(error)
            continue
        assert found.compute_capability == model.compute_capability, model.name


def test_vendor_words_and_case_do_not_matter() -> None:
    for model in tables.gpus()[::17]:
        if model.gpu_class == "vgpu":
            continue
        plain = model.name.removeprefix("NVIDIA ")
        answers = set()
        for spelling in (plain, f"NVIDIA {plain}", plain.lower(), plain.replace(" ", "-")):
            try:
                answers.add(tables.find_gpu(spelling).compute_capability)
            except UsageError:
                answers.add("ambiguous")
        assert len(answers) == 1, (model.name, answers)


@given(st.text(alphabet="ABGHLRTX0123456789 -()gbGB", max_size=40))
def test_any_name_is_found_or_clearly_refused(name: str) -> None:
    try:
        assert tables.find_gpu(name).compute_capability
    except UsageError as error:
        assert "--compute-capability" in str(error)


def test_brands_are_lower_case() -> None:
    assert all(brand == brand.lower() for model in tables.gpus() for brand in model.brands)
