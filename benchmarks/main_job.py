"""The main job on a loopback registry: requests, wall time and peak memory, beside named baselines.

Run it from a checkout on a quiet machine: python benchmarks/main_job.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.images import build_image
from tests.support.servers import push, registry

RUNS = 9
HOST = ("--driver", "550.54.15", "--gpu", "A100", "--injection", "legacy", "--fail-on", "fails")
# A CUDA base image without libraries: a distribution's files and one runtime.
FILLER_FILES, FILLER_BYTES = 3000, 24_000


def base_image() -> dict[str, object]:
    """About 70 MB of small files in one layer, a libcudart and a package record in another."""
    files: dict[str, object] = {
        f"/usr/share/doc/package{number}/file": {"text": f"{number} " * (FILLER_BYTES // 6)}
        for number in range(FILLER_FILES)
    }
    runtime = {
        "/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127": {"elf": "x86_64", "size": 700_000},
        "/usr/local/cuda-12.4/lib64/libcudart.so.12": {"symlink": "libcudart.so.12.4.127"},
        "/usr/local/cuda": {"symlink": "/usr/local/cuda-12.4"},
        "/var/lib/dpkg/status": "Package: cuda-cudart-12-4\nStatus: install ok installed\nVersion: 12.4.127-1\n\n",
    }
    env = {
        "CUDA_VERSION": "12.4.1",
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.4 brand=tesla,driver>=470,driver<471",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }
    return {"platform": "linux/amd64", "env": env, "layers": [{"files": files}, {"files": runtime}]}


def measure(command: Sequence[str]) -> tuple[float, float, float]:
    """Median wall seconds, CPU seconds and the largest peak memory in MB over some runs."""
    walls, cpus, peaks = [], [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        walls.append(time.perf_counter() - started)
        cpus.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1024)
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            raise SystemExit(f"failed: {' '.join(command)}")
    return statistics.median(walls), statistics.median(cpus), max(peaks)


class Counter:
    """A counting pass-through before the registry."""

    def __init__(self, upstream: str) -> None:
        self.requests = 0
        counter = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                counter.requests += 1
                connection = HTTPConnection(upstream)
                connection.request("GET", self.path, headers={"Accept": self.headers.get("Accept", "*/*")})
                answer = connection.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name in ("Content-Type", "Docker-Content-Digest"):
                    if answer.getheader(name):
                        self.send_header(name, answer.getheader(name) or "")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def line(what: str, wall: float, cpu: float, peak: float, against: float | None = None) -> None:
    """One row of the table."""
    ratio = f"{wall / against:6.2f} x baseline" if against else ""
    print(f"{what:46} {wall:7.3f} s wall {cpu:7.3f} s CPU {peak:7.1f} MB {ratio}")


def main() -> None:
    """Push one image, then measure."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # In a process of its own: a child's peak memory counts from what its parent had when it started.
        subprocess.run([sys.executable, __file__, "build", str(place / "layout")], check=True)
        (place / "registry").mkdir()
        with registry(place / "registry") as address:
            push(place / "layout", "latest", f"{address}/bench/base:latest")
            name = f"{address}/bench/base:latest"
            tool = [sys.executable, "-m", "cudacompat", "check"]
            skopeo = ["skopeo", "inspect", "--config", "--tls-verify=false", f"docker://{name}"]
            python = measure([sys.executable, "-c", "pass"])
            line("baseline: an empty Python start", *python)
            baseline = measure(skopeo)
            line("baseline: skopeo inspect --config", *baseline)
            line("check --quick", *measure([*tool, f"registry:{name}", *HOST, "--quick"]), baseline[0])
            line("check, all layers", *measure([*tool, f"registry:{name}", *HOST]), baseline[0])
            counter = Counter(address)
            target = f"registry:{counter.address}/bench/base:latest"
            subprocess.run([*tool, target, *HOST, "--quick"], stdout=subprocess.DEVNULL, check=False)
            print(f"check --quick: {counter.requests} requests (at most 3)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        build_image(base_image(), Path(sys.argv[2]))
    else:
        main()
