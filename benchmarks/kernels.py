"""Device code from the layers of an image with real CUDA wheels: CPU time and peak memory, beside baselines.

Downloads about 900 MB of wheels into the folder given and builds one layer of 1.5 GB from them, as gzip,
zstd and uncompressed; a second run finds it all there. Run it from a checkout on a quiet machine:

    python benchmarks/kernels.py /var/tmp/cuda-layers

Every figure is the median of some runs, each in a process of its own; the time that the process needs to
start and to import its modules is measured apart and taken off, for the bounds are those of an image four
times as large. The baseline inflates the same file and throws the bytes away; the measured pass checks the
digest, walks the tar and reads every binary.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WHEELS = (
    "nvidia-cudnn-cu12==9.1.0.70",
    "nvidia-cufft==12.0.0.61",
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cuda-nvrtc-cu12==12.4.127",
    "nvidia-nvjitlink-cu12==12.4.127",
)
PIECE = 256 << 10
LEVEL = 6
# (file, baseline, at most this many times its CPU time)
PASSES = (("layer.tar.gz", "isal", 1.35), ("layer.tar.zst", "zstandard", 1.6))
MEGABYTES = 150
# The bound for an uncompressed archive is 1.5 CPU-seconds at 5.8 GB.
SECONDS_PER_GB = 1.5 / 5.8


def isal(path: Path | None) -> None:
    """Inflate gzip and throw the bytes away."""
    from isal import igzip_lib

    if path is None:
        return
    decoder = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
    with path.open("rb", buffering=0) as file:
        while not decoder.eof:
            data = file.read(PIECE) if decoder.needs_input else b""
            decoder.decompress(data, PIECE)


def zstandard(path: Path | None) -> None:
    """Inflate zstd and throw the bytes away."""
    import zstandard as library

    if path is None:
        return
    with path.open("rb", buffering=0) as file:
        for _ in library.ZstdDecompressor().read_to_iter(file, read_size=PIECE, write_size=PIECE):
            pass


def binaries(path: Path | None) -> None:
    """Everything that a layer's binaries tell."""
    from cudacompat.binaries import read_binary
    from cudacompat.layers.interface import LayerBlob
    from cudacompat.layers.tar import open_layer
    from cudacompat.layers.window import Window

    if path is None:
        return
    digest = path.with_suffix(path.suffix + ".sha256").read_text()
    found = 0
    with path.open("rb", buffering=0) as file:
        size = path.stat().st_size
        stream = cast(BinaryIO, Window(file.fileno(), 0, size))
        blob = LayerBlob(digest, "", size, stream, content_digest=digest)
        for entry, content in open_layer(blob):
            if entry.kind == "file":
                found += len(list(read_binary(entry.path, content, digest)))
    assert found > 10


# Called with None they only start.
MEASURED: dict[str, Callable[[Path | None], None]] = {"isal": isal, "zstandard": zstandard, "binaries": binaries}


def prepare(folder: Path) -> None:
    """Wheels, the layer in three forms, and their digests."""
    if (folder / "ready").exists():
        return
    root = folder / "root" / "usr/local/lib/python3.11/site-packages"
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--platform=manylinux2014_x86_64", f"--dest={wheels}", *WHEELS], check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        zipfile.ZipFile(wheel).extractall(root)
    plain = folder / "layer.tar"
    with tarfile.open(plain, "w") as tar:
        tar.add(folder / "root", arcname="")
    shutil.rmtree(folder / "root")
    compress(plain)
    for path in (plain, *(folder / name for name, _, _ in PASSES)):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        path.with_suffix(path.suffix + ".sha256").write_text(f"sha256:{digest}")
    (folder / "ready").touch()


def compress(plain: Path) -> None:
    """As container builders do: gzip level 6, zstd level 3."""
    import zstandard as library

    with plain.open("rb") as source, gzip.open(plain.with_suffix(".tar.gz"), "wb", LEVEL) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    with plain.open("rb") as source, plain.with_suffix(".tar.zst").open("wb") as target:
        library.ZstdCompressor(level=3).copy_stream(source, target)


def measure(name: str, path: Path, runs: int) -> tuple[float, float]:
    """Median CPU seconds without the start, and the largest peak memory in MB."""
    start, _ = processes([name], runs)
    seconds, peak = processes([name, str(path)], runs)
    return seconds - start, peak


def processes(arguments: list[str], runs: int) -> tuple[float, float]:
    """Median CPU seconds and the largest peak memory in MB of some processes."""
    seconds, peaks = [], []
    for _ in range(runs):
        child = subprocess.Popen([sys.executable, __file__, "--one", *arguments])
        _, status, usage = os.wait4(child.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"failed: {' '.join(arguments)}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1024)
    return statistics.median(seconds), max(peaks)


def report(folder: Path, runs: int) -> bool:
    """Print the table; whether every bound holds."""
    size = (folder / "layer.tar").stat().st_size / 1e9
    print(f"one layer, {size:.2f} GB uncompressed, {runs} runs each")
    good = True
    for name, baseline, bound in PASSES:
        before, _ = measure(baseline, folder / name, runs)
        seconds, peak = measure("binaries", folder / name, runs)
        ratio = f"{seconds / before:5.2f} x (at most {bound})"
        print(f"{name:14} baseline {baseline:9} {before:6.2f} CPU-s")
        print(f"{name:14} all binaries       {seconds:6.2f} CPU-s {peak:5.0f} MB {ratio}")
        good = good and seconds <= bound * before and peak <= MEGABYTES
    seconds, peak = measure("binaries", folder / "layer.tar", runs)
    bound = SECONDS_PER_GB * size
    print(f"{'layer.tar':14} all binaries       {seconds:6.2f} CPU-s {peak:5.0f} MB (at most {bound:.2f} CPU-s)")
    return good and seconds <= bound and peak <= MEGABYTES


def main() -> None:
    """Prepare once, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where wheels and layers are kept between runs (about 5 GB)")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    prepare(options.folder)
    raise SystemExit(0 if report(options.folder, options.runs) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        MEASURED[sys.argv[2]](Path(sys.argv[3]) if sys.argv[3:] else None)
    else:
        main()
