"""A second check of a registry's image with what the first one kept, beside the first.

Run it from a checkout on a quiet machine: python benchmarks/cache.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.main_job import HOST, Counter, line, measure
from tests.support.servers import push, registry


def main() -> None:
    """Push the image of main_job.py, then measure with an empty folder and with a filled one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        builder = Path(__file__).with_name("main_job.py")
        subprocess.run([sys.executable, str(builder), "build", str(place / "layout")], check=True)
        (place / "registry").mkdir()
        with registry(place / "registry") as address:
            push(place / "layout", "latest", f"{address}/bench/base:latest")
            tool = [sys.executable, "-m", "cudacompat", "check"]
            check = [*tool, f"registry:{address}/bench/base:latest", *HOST]
            none = measure([*check, "--no-cache"])
            line("check, nothing kept", *none)
            # Each run gets a folder of its own: mktemp's output is its argument.
            empty = measure(["sh", "-c", f'exec "$@" --cache-dir "$(mktemp -d -p {place})"', "sh", *check])
            line("check, into an empty folder", *empty, none[0])
            subprocess.run([*check, "--cache-dir", str(place / "kept")], stdout=subprocess.DEVNULL, check=False)
            line("check, layers kept", *measure([*check, "--cache-dir", str(place / "kept")]), none[0])
            line("check --quick", *measure([*check, "--quick"]), none[0])
            counter = Counter(address)
            target = f"registry:{counter.address}/bench/base:latest"
            subprocess.run(
                [*tool, target, *HOST, "--cache-dir", str(place / "kept")], stdout=subprocess.DEVNULL, check=False
            )
            print(f"check, layers kept: {counter.requests} requests (at most 3: no layer)")


if __name__ == "__main__":
    main()
