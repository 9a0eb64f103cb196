"""A file of an image to observations: device code, libraries, copies of the CUDA runtime."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from cudacompat.binaries import elf, names
from cudacompat.binaries.scan import Scan, scan_file, scan_stream
from cudacompat.layers.interface import Content
from cudacompat.model import Component, Evidence, Kernels, Ptx, SharedLibrary

_ARCH = re.compile(r"(\d+)(\w*)")


def read_binary(path: str, content: Content, layer: str) -> Iterator[SharedLibrary | Kernels | Component]:
    """What one regular file of a layer contributes; nothing for files that are neither ELF nor device code.

    ``path`` is absolute, ``layer`` the layer's digest. A file that can seek is read in place, by its headers;
    another one in a single pass, with the same result. It may be called for every file: one that is of
    another kind costs its first piece.

    Yields one Kernels where there are kernels, its targets sorted; one SharedLibrary for NVIDIA's
    libraries, by name, and for files that load one; one Component "cudart" for each version of the CUDA
    runtime found in the machine code. Raises TargetError when the layer breaks off.
    """
    nvidia = names.is_nvidia_library(path)
    reach = names.runtime_reach(path)
    if content.seekable:
        scan = scan_file(content.read_at, content.size, reach)
    else:
        scan = scan_stream(content.chunks(), content.size, reach)
    yield from _library(path, content.size, layer, nvidia, scan)
    if scan is not None:
        yield from _kernels(path, layer, scan)
        yield from _runtimes(path, layer, scan)


def _library(path: str, size: int, layer: str, nvidia: bool, scan: Scan | None) -> Iterator[SharedLibrary]:
    version = names.version_in_name(path)
    layout = None if scan is None else scan.layout
    if layout is None:
        if nvidia:
            yield SharedLibrary(path, version=version, size=size, layer=layer)
        return
    dynamic = layout.dynamic
    if layout.header.type == elf.RELOCATABLE or not (nvidia or any(map(names.is_cuda_library, dynamic.needed))):
        return
    yield SharedLibrary(
        path,
        soname=dynamic.soname,
        version=version,
        machine=layout.header.machine_name,
        size=size,
        needed=dynamic.needed,
        rpath=dynamic.rpath,
        runpath=dynamic.runpath,
        compat_note=layout.note,
        layer=layer,
    )


def _kernels(path: str, layer: str, scan: Scan) -> Iterator[Kernels]:
    code = [entry for entry in scan.every_code() if entry.kernels]
    sass = {entry.arch for entry in code if entry.kind == "elf"}
    ptx = {Ptx(entry.arch, entry.version) for entry in code if entry.kind == "ptx"}
    if sass or ptx:
        ordered = sorted(ptx, key=lambda entry: (_arch_key(entry.arch), _isa_key(entry.isa)))
        yield Kernels(
            path, tuple(sorted(sass, key=_arch_key)), tuple(ordered), decides=_decides(path, scan), layer=layer
        )


def _decides(path: str, scan: Scan) -> bool:
    """Whether a program loads this code by itself.

    Static libraries and object files are material for a linker. A cubin alone is one of many, chosen by its
    program for the GPU at hand: that one does not fit says nothing. Where linked code is there, the code to
    be linked counts with it: the driver links it anew for a GPU that the linked code does not fit.
    """
    if scan.kind in ("archive", "cubin") or names.is_tool(path):
        return False
    if scan.layout is not None and scan.layout.header.type == elf.RELOCATABLE:
        return False
    return not scan.relocatable_only()


def _runtimes(path: str, layer: str, scan: Scan) -> Iterator[Component]:
    for cuda in scan.runtimes:
        evidence = Evidence("elf", path, f"CUDA runtime {cuda} in the machine code", layer)
        linkage: Literal["dynamic", "static"] = "dynamic" if names.is_cudart(path) else "static"
        yield Component("cudart", None, cuda, "machine-code", evidence, path, layer, linkage)


def _arch_key(arch: str) -> tuple[int, str]:
    match = _ARCH.match(arch)
    return (int(match[1]), match[2]) if match else (0, arch)


def _isa_key(isa: str) -> tuple[int, int]:
    major, _, minor = isa.partition(".")
    return int(major), int(minor)
