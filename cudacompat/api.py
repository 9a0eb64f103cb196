"""The Python API: one call for each question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from cudacompat._version import __version__
from cudacompat.errors import HostError
from cudacompat.host import HostOptions, with_options
from cudacompat.model import Finding, Gpu, HostFacts, ImageFacts, Prediction, Report, Tool

# Called with a few words on what is being read now.
Progress = Callable[[str], None]


def check(
    target: str,
    *,
    driver: str | None = None,
    gpus: Sequence[str | Gpu] | None = None,
    compute_capability: str | None = None,
    host: HostFacts | str | Path | None = None,
    injection: str | None = None,
    toolkit: str | None = None,
    docker: str | None = None,
    driver_cuda: str | None = None,
    os: str | None = None,
    platform: str | None = None,
    quick: bool = False,
    insecure_hosts: Sequence[str] = (),
    mirrors: Mapping[str, str] | None = None,
    cache_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Predict what `docker run --gpus` will do with an image on a host.

    ``target`` is an image as the command line takes it ("name:tag", "registry:repo/app:1.2",
    "docker-archive:app.tar", a path). The host is described by ``driver`` ("535.183.01"), ``gpus`` (names
    as nvidia-smi prints them; ["none"] for none), ``compute_capability`` ("8.0") and so on;
    or by ``host``: ready facts, a file's path, or "ssh://user@node" for a machine that ssh reaches, over which
    the other values are laid. With neither, this machine is asked; facts that it does not tell stay unknown and
    are never guessed. ``quick`` reads manifest and config only.
    ``insecure_hosts`` are registries ("host:port") that may be spoken to without TLS or its verification;
    ``mirrors`` map a registry ("docker.io") to a host that is asked first. ``cache_dir`` is as for ``inspect``.

    Raises TargetError when the image cannot be read, HostError for an unreadable host file, UsageError for
    values that make no sense.
    """
    options = HostOptions(
        driver=driver,
        driver_cuda=driver_cuda,
        os=os,
        gpus=tuple(gpus or ()),
        compute_capability=compute_capability,
        injection=injection,
        toolkit=toolkit,
        docker=docker,
    )
    facts = host_or_unknown(host, options)
    image = inspect(
        target,
        platform=platform,
        quick=quick,
        insecure_hosts=insecure_hosts,
        mirrors=mirrors,
        cache_dir=cache_dir,
        progress=progress,
    )
    return report_on(image, facts)


def inspect(
    target: str,
    *,
    platform: str | None = None,
    quick: bool = False,
    insecure_hosts: Sequence[str] = (),
    mirrors: Mapping[str, str] | None = None,
    cache_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> ImageFacts:
    """What CUDA is in an image, with evidence. Nothing of the image is executed or written to disk.

    ``cache_dir`` is a folder that keeps what was learned of each layer for the next time, by the layer's digest;
    None keeps nothing. What is learned is the same with and without.

    Raises TargetError when the image cannot be read, UsageError when ``target`` or ``platform`` is none.
    """
    from cudacompat.cache.folder import CacheFolder
    from cudacompat.evidence.collect import collect
    from cudacompat.sources import open_image

    image = open_image(
        target, platform=platform, insecure_hosts=tuple(insecure_hosts), mirrors=mirrors, progress=progress
    )
    try:
        if quick:
            return collect(image, depth="config")
        return collect(image, progress=progress, shelf=None if cache_dir is None else CacheFolder(cache_dir))
    finally:
        image.close()


def host_facts(
    *,
    driver: str | None = None,
    gpus: Sequence[str | Gpu] | None = None,
    compute_capability: str | None = None,
    host: HostFacts | str | Path | None = None,
    injection: str | None = None,
    toolkit: str | None = None,
    docker: str | None = None,
    driver_cuda: str | None = None,
    os: str | None = None,
) -> HostFacts:
    """Host facts from the values given, from ``host``, or (with neither) from this machine.

    ``host`` is a file's path, or "ssh://user@node[:port]" for another machine. Raises HostError when the file
    cannot be read, when ssh does not get in, or when the machine has no NVIDIA driver to ask; UsageError for
    values that make no sense.
    """
    options = HostOptions(
        driver=driver,
        driver_cuda=driver_cuda,
        os=os,
        gpus=tuple(gpus or ()),
        compute_capability=compute_capability,
        injection=injection,
        toolkit=toolkit,
        docker=docker,
    )
    return learned_host(host, options)


def learned_host(host: HostFacts | str | Path | None, options: HostOptions) -> HostFacts:
    """Host facts from options over facts, a file or another machine, or over this machine's own.

    Raises HostError, UsageError.
    """
    if isinstance(host, HostFacts):
        return with_options(options, host)
    if host is not None:
        return with_options(options, _other_machine(host))
    if options.describes_a_host():
        return with_options(options)
    from cudacompat.host.local import local_host

    return with_options(options, local_host())


def _other_machine(host: str | Path) -> HostFacts:
    """The facts of the machine behind "ssh://node", or those in a file."""
    if isinstance(host, str) and host.startswith("ssh://"):
        from cudacompat.host.ssh import ssh_host

        return ssh_host(host)
    from cudacompat.host.file import read_host_file

    return read_host_file(host)


def host_or_unknown(host: HostFacts | str | Path | None, options: HostOptions) -> HostFacts:
    """Host facts for a check: where this machine has nothing to tell, everything stays unknown, with the reason.

    Raises HostError for an unreadable file or machine that was named, and UsageError.
    """
    try:
        return learned_host(host, options)
    except HostError as error:
        if host is not None:
            raise
        from cudacompat.host.local import local_machine

        nobody = HostFacts(machine=local_machine(), origin="this machine", notes=(str(error),))
        return with_options(options, nobody)


def report_on(image: ImageFacts, host: HostFacts) -> Report:
    """The report for facts at hand: predicts, and adds what only the day of the check can tell."""
    from cudacompat import tables
    from cudacompat.predict import predict

    return Report(tool(), host, image, _with_age(predict(image, host), tables.edition_age_note(date.today())))


def tool() -> Tool:
    """Who reports: this version with the tables in use."""
    from cudacompat import tables

    return Tool("cudacompat", __version__, tables.edition())


def _with_age(prediction: Prediction, note: str | None) -> Prediction:
    if note is None:
        return prediction
    fix = "Update cudacompat, or import a newer edition (cudacompat data import FILE)."
    finding = Finding("data-edition-old", "note", None, note, fix)
    return replace(prediction, findings=(*prediction.findings, finding))
