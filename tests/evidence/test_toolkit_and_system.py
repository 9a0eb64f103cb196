"""The toolkit's own statement, and the system's text: os-release, ld.so.conf, the loader's cache."""

from __future__ import annotations

import json

import pytest

from tests.support.evidence import brief, files, notes, observed, parts

VERSIONS = {
    "cuda": {"name": "CUDA SDK", "version": "12.4.1"},
    "cuda_cccl": {"name": "CUDA C++ Core Compute Libraries", "version": "12.4.127"},
    "cuda_cudart": {"name": "CUDA Runtime (cudart)", "version": "12.4.127"},
    "nvidia_driver": {"name": "NVIDIA Linux Driver", "version": "550.54.15"},
}


def test_version_json() -> None:
    path = "/usr/local/cuda-12.4/version.json"
    toolkit, runtime = parts(path, json.dumps(VERSIONS, indent=3))
    assert (toolkit.name, toolkit.version, toolkit.cuda, toolkit.linkage) == ("cuda-toolkit", "12.4.1", "12.4", None)
    assert (runtime.name, runtime.version, runtime.cuda, runtime.linkage) == ("cudart", "12.4.127", "12.4", "dynamic")
    assert {part.found_by for part in (toolkit, runtime)} == {"version-json"}
    assert {(part.path, part.evidence.where, part.layer) for part in (toolkit, runtime)} == {
        (path, path, "sha256:layer")
    }


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"cuda_cudart": {"version": "11.8.89"}}, [("cudart", "11.8.89", "11.8")]),
        ({"cuda": {"version": "11.8"}}, [("cuda-toolkit", "11.8", "11.8")]),
        ({"cuda": {"version": "13.0.20250910"}}, [("cuda-toolkit", "13.0.20250910", "13.0")]),
        ({"cuda": {"version": 12.4}}, []),
        ({"cuda": {"version": "twelve"}}, []),
        ({"cuda": {"version": "12"}}, []),
        ({"cuda": "12.4.1"}, []),
        ({"cuda": ["12.4.1"]}, []),
        ({"cuda": {"version": "12.4." + "1" * 5000}}, []),
        ({}, []),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_version_json_of_other_shapes(document: object, expected: list[tuple[str, str, str]]) -> None:
    assert brief(parts("/usr/local/cuda/version.json", json.dumps(document))) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b"[" * 500_000, "too many parts"),
        (b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
        (b'{"cuda": ' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"cuda": {"version": ' + b"9" * 10_000 + b"}}", "no JSON"),
        (b"\xff\xfe{}", "no JSON"),
        (b'\x00{"cuda": 1}', "no JSON"),
    ],
    ids=["empty", "cut", "a list", "null", "opened", "deep list", "deep object", "huge number", "UTF-16", "NUL"],
)
def test_version_json_that_is_none_is_noted(data: bytes, reason: str) -> None:
    path = "/usr/local/cuda-12.4/version.json"
    assert parts(path, data) == []
    (note,) = notes(path, data)
    assert note.startswith(f"{path} was not read: ")
    assert reason in note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA Version 10.2.89\n", [("cuda-toolkit", "10.2.89", "10.2")]),
        ("CUDA Version 8.0.61\nCUDA Patch Version 8.0.61.2\n", [("cuda-toolkit", "8.0.61", "8.0")]),
        ("CUDA Version 11.0", [("cuda-toolkit", "11.0", "11.0")]),
        ("CUDA Version eleven", []),
        ("", []),
        ("\x00\xff CUDA Version 9.1.85\x00", [("cuda-toolkit", "9.1.85", "9.1")]),
    ],
    ids=["one line", "with patches", "two numbers", "no number", "empty", "bytes around it"],
)
def test_version_txt(text: str, expected: list[tuple[str, str, str]]) -> None:
    found = parts("/usr/local/cuda-10.2/version.txt", text.encode("latin-1"))
    assert brief(found) == expected
    assert {part.found_by for part in found} <= {"version-txt"}


OS_RELEASE = 'PRETTY_NAME="Ubuntu 22.04.4 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nHOME_URL="https://x"\n'
UBUNTU = {"PRETTY_NAME": "Ubuntu 22.04.4 LTS", "NAME": "Ubuntu", "VERSION_ID": "22.04", "ID": "ubuntu"}


@pytest.mark.parametrize(
    "content",
    [
        {"/etc/os-release": OS_RELEASE},
        {"/usr/lib/os-release": OS_RELEASE},
        {"/usr/lib/os-release": OS_RELEASE, "/etc/os-release": {"symlink": "../usr/lib/os-release"}},
        {"/usr/lib/os-release": "ID=other\n", "/etc/os-release": OS_RELEASE},
        {"/usr/lib/os-release": OS_RELEASE, "/etc/os-release": {"symlink": "os-release"}},
    ],
    ids=["in /etc", "in /usr/lib", "through the usual symlink", "/etc wins", "a symlink to itself"],
)
def test_os_release(content: dict[str, object]) -> None:
    assert files(content).os_release == UBUNTU


def test_os_release_quoted_in_other_ways() -> None:
    text = 'ID=\'rocky\'\nVERSION_ID=9.4  \nNAME="Rocky Linux"\r\nPRETTY_NAME="open\n# ID=no\nID_LIKE=rhel\n'
    assert files({"/etc/os-release": text}).os_release == {"ID": "rocky", "VERSION_ID": "9.4", "NAME": "Rocky Linux"}
    assert files({"/etc/os-release": {"symlink": "/usr/lib/os-release"}}).os_release == {}


CONF = "/etc/ld.so.conf"
ALL = "include /etc/ld.so.conf.d/*.conf\n"


def conf(**names: str) -> dict[str, object]:
    return {f"{CONF}.d/{name.replace('_', '-')}.conf": text for name, text in names.items()}


LOADER = [
    (
        "the folder in the order of its names",
        {CONF: ALL, **conf(b="/b\n", a="/a\n", a10="/a10\n")},
        ("/a", "/a10", "/b"),
    ),
    (
        "the include line's place counts",
        {CONF: "/first\n" + ALL + "/last\n", **conf(a="/a")},
        ("/first", "/a", "/last"),
    ),
    ("a folder without the main file", conf(x="/usr/local/cuda/lib64"), ("/usr/local/cuda/lib64",)),
    ("a main file that includes nothing", {CONF: "/only\n", **conf(a="/a")}, ("/only",)),
    ("a relative include", {CONF: "include ld.so.conf.d/*.conf", **conf(a="/a")}, ("/a",)),
    (
        "several patterns in a line",
        {CONF: f"include {CONF}.d/b*.conf {CONF}.d/a*.conf", **conf(a="/a", b="/b")},
        ("/b", "/a"),
    ),
    ("comments and blanks", {CONF: "# /no\n  /a/  # why\n\n\t/b\n"}, ("/a", "/b")),
    ("normalised and each once", {CONF: "/a/./x/../b/\n/a/b\n//c\n/\n"}, ("/a/b", "/c", "/")),
    ("a directory with a blank in it", {CONF: "/opt/my libs\n"}, ("/opt/my libs",)),
    ("libc5's types", {CONF: "/usr/lib=libc5\n"}, ("/usr/lib",)),
    ("hwcap lines, relative paths and words", {CONF: "hwcap 1 nosegneg\nlib\nincludes /x\ninclude\n"}, ()),
    ("hidden files only when asked for", {CONF: ALL, f"{CONF}.d/.a.conf": "/a"}, ()),
    ("a hidden file asked for", {CONF: f"include {CONF}.d/.*.conf", f"{CONF}.d/.a.conf": "/a"}, ("/a",)),
    ("a star that does not span folders", {CONF: "include /etc/*.conf", **conf(a="/a")}, ()),
    ("a file that includes itself", {CONF: f"/a\ninclude {CONF}\n/b\n"}, ("/a", "/b")),
    (
        "files that include each other",
        {CONF: ALL, **conf(a=f"include {CONF}.d/b.conf\n/a", b=f"{ALL}/b")},
        ("/b", "/a"),
    ),
    ("no file at all", {"/etc/hostname": "x"}, ()),
    (
        "NVIDIA's own",
        {
            CONF: ALL,
            **conf(
                nvidia="/usr/local/nvidia/lib\n/usr/local/nvidia/lib64\n",
                **{
                    "000_cuda": "/usr/local/cuda/targets/x86_64-linux/lib\n",
                    "988_cuda_12": "/usr/local/cuda-12/targets/x86_64-linux/lib\n",
                },
            ),
        },
        (
            "/usr/local/cuda/targets/x86_64-linux/lib",
            "/usr/local/cuda-12/targets/x86_64-linux/lib",
            "/usr/local/nvidia/lib",
            "/usr/local/nvidia/lib64",
        ),
    ),
]


@pytest.mark.parametrize(("content", "expected"), [row[1:] for row in LOADER], ids=[row[0] for row in LOADER])
def test_the_directories_that_ldconfig_reads(content: dict[str, object], expected: tuple[str, ...]) -> None:
    assert files(content).ld_so_conf == expected


def test_includes_that_multiply_are_followed_once() -> None:
    line = f"include {CONF} {CONF}.d/*.conf\n"
    many = {f"{CONF}.d/{number}.conf": line * 100 + f"/{number}\n" for number in range(50)}
    assert len(files({CONF: line * 100, **many}).ld_so_conf) == 50


def test_a_chain_of_includes_ends() -> None:
    chain = {f"{CONF}.d/{number}.conf": f"/{number}\ninclude {CONF}.d/{number + 1}.conf\n" for number in range(3000)}
    assert "/0" in files({CONF: f"include {CONF}.d/0.conf", **chain}).ld_so_conf


def test_that_the_image_has_a_loader_cache() -> None:
    assert "/etc/ld.so.cache" in files({"/etc/ld.so.cache": "glibc-ld.so.cache1.1"}).files
    assert "/etc/ld.so.cache" in files({"/etc/ld.so.cache": ""}).files
    assert files({"/etc/ld.so.conf": "/x"}).files == ()
    linked = files({"/etc/ld.so.cache": {"symlink": "/var/cache/ld.so.cache"}, "/var/cache/ld.so.cache": "x"})
    assert linked.files == ("/var/cache/ld.so.cache",)
    assert linked.links["/etc/ld.so.cache"] == "/var/cache/ld.so.cache"


def test_system_text_too_long_to_be_read_is_noted() -> None:
    facts = files({CONF: "/a\n" + "#" * (1 << 16)})
    assert facts.ld_so_conf == ()
    assert any(CONF in note and "not read" in note for note in facts.coverage.notes)
    assert observed(CONF, "") != []
