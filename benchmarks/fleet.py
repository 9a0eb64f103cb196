"""One image on 10,000 nodes: CPU time and peak memory of `cudacompat fleet`, beside reading the same JSON.

    python benchmarks/fleet.py [--nodes 10000]

The inventory repeats the nodes of tests/data/nodes_fleet.json under names of their own.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMAGE = ROOT / "examples" / "torch-cu130-on-cuda-12.8.tar"
SAMPLE = ROOT / "tests" / "data" / "nodes_fleet.json"
BASELINE = "import json, sys; json.load(open(sys.argv[1]))"
LIMIT_SECONDS = 2.0


def write_inventory(path: Path, count: int) -> None:
    """A NodeList of ``count`` nodes."""
    sample = json.loads(SAMPLE.read_text())["items"]
    items = []
    for number in range(count):
        item = copy.deepcopy(sample[number % len(sample)])
        item["metadata"]["name"] = f"node-{number:05}"
        item["metadata"]["labels"]["kubernetes.io/hostname"] = f"node-{number:05}"
        items.append(item)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def run(*command: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a command."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    usage = os.wait4(child, 0)[2]
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Print the figures, best of three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    count = parser.parse_args().nodes
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "nodes.json"
        write_inventory(inventory, count)
        python = (sys.executable, "-m", "cudacompat", "fleet", str(IMAGE), "--nodes")
        base = min(run(sys.executable, "-c", BASELINE, str(inventory)) for _ in range(3))
        text = min(run(*python, str(inventory)) for _ in range(3))
        data = min(run(*python, str(inventory), "--format", "json") for _ in range(3))
        print(f"{count} nodes, {inventory.stat().st_size / 1e6:.0f} MB of JSON")
    print(f"json.load                {base[0]:6.2f} s CPU  {base[1]:5.0f} MB")
    for name, (seconds, memory) in (("fleet, text", text), ("fleet, JSON", data)):
        print(f"{name:24} {seconds:6.2f} s CPU  {memory:5.0f} MB  {seconds / base[0]:.1f} x json.load")
    print(f"limit for 10,000 nodes   {LIMIT_SECONDS:6.2f} s")


if __name__ == "__main__":
    main()
