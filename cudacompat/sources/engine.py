"""Images of a local engine, Docker's or Podman's, over its API: described at once, exported when asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from cudacompat.layers.config import parse_config
from cudacompat.layers.documents import items, members, parse_json, parse_object, text
from cudacompat.layers.interface import LayerBlob, OpenImage
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.contract import NoImageError, Options, Progress, UnavailableError
from cudacompat.sources.engine_address import Address, Kind, find_engine
from cudacompat.sources.export import Export
from cudacompat.sources.platforms import fits, normalise
from cudacompat.sources.reference import parse_reference
from cudacompat.sources.transport import body_errors, read_body, reason_of

if TYPE_CHECKING:
    import docker
    import requests

_IMAGE_ID = re.compile(r"(?:sha256:)?[0-9a-f]{12,64}")
_DOCUMENT_LIMIT = 16 << 20
_ERROR_LIMIT = 64 << 10
_PIECE = 256 << 10
_ANSWER_SECONDS = 60
# Before it sends the first byte, an engine may write the whole image into a temporary folder.
_EXPORT_SECONDS = 3600
# From this API version on, an engine can hold one name for several platforms.
_PLATFORM_API = (1, 49)


def open_docker(place: str, named: str, options: Options) -> OpenImage:
    """The image ``place``, a reference or an ID, of the Docker engine.

    Raises UsageError for what is neither, UnavailableError when there is no engine, it may not be asked
    or has no such image, TargetError for an answer that makes no sense.
    """
    return _open("docker", place, named, options)


def open_podman(place: str, named: str, options: Options) -> OpenImage:
    """The same of Podman's API service."""
    return _open("podman", place, named, options)


def _open(source: Kind, place: str, named: str, options: Options) -> OpenImage:
    if not _IMAGE_ID.fullmatch(place):
        parse_reference(place)
    address = find_engine(source)
    options.progress(f"asking {address.engine} for {place}")
    engine = Engine(address)
    try:
        return _describe(engine, source, place, named, options)
    except BaseException:
        engine.close()
        raise


@dataclass(frozen=True, slots=True)
class Described:
    """What an engine says of an image, and sentences on what it does not say."""

    target: Target
    config: ImageConfig
    notes: tuple[str, ...]


class Engine:
    """A connection to an engine."""

    def __init__(self, address: Address) -> None:
        self.name = address.engine
        self.subject = address.subject
        self._client = _connect(address)

    @property
    def version(self) -> str:
        """Which engine this is, as far as it decides how an image is exported."""
        return f"{self.name} {self._client.api_version}"

    @property
    def holds_platforms(self) -> bool:
        """Whether the engine can be asked for one platform of a name."""
        parts = self._client.api_version.split(".")
        return all(part.isdigit() for part in parts) and tuple(map(int, parts)) >= _PLATFORM_API

    def get(self, path: str, params: Mapping[str, str], seconds: int = _ANSWER_SECONDS) -> requests.Response:
        """The answer to a GET below the API's root, its body not yet read. Raises UnavailableError."""
        import requests

        client = self._client
        url = f"{client.base_url}/v{client.api_version}/{path}"
        try:
            return client.get(url, params=dict(params), stream=True, timeout=seconds)
        except requests.RequestException as error:
            raise UnavailableError(f"{self.subject} does not answer: {reason_of(error)}.") from error

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _connect(address: Address) -> docker.APIClient:
    import docker
    import requests

    try:
        return docker.APIClient(
            address.url, version="auto", timeout=_ANSWER_SECONDS, tls=address.tls or False, use_ssh_client=True
        )
    # The library lets through what its parsers meet in the user's configuration.
    except (docker.errors.DockerException, requests.RequestException, OSError, ValueError, TypeError) as error:
        raise UnavailableError(_refusal(address, error)) from error


def _refusal(address: Address, error: Exception) -> str:
    reason = reason_of(error)
    if reason == "Permission denied":
        return f"{address.subject} may not be asked by this user: no permission for {address.shown}."
    if reason == type(error).__name__:
        # Not the system's words but the library's, on the address itself.
        reason = str(error).replace(address.url, address.shown)[:300]
    return f"{address.subject} does not answer at {address.shown}: {reason.rstrip('.')}."


def _describe(engine: Engine, source: Kind, place: str, named: str, options: Options) -> EngineImage:
    params = {}
    if options.platform is not None and engine.holds_platforms:
        names = ("os", "architecture", "variant")
        fields = dict(zip(names, normalise(options.platform).split("/"), strict=False))
        params = {"platform": json.dumps(fields)}
    path = f"images/{quote(place, safe='/:@')}"
    where = f"What {engine.name} says of {place}"
    response = engine.get(f"{path}/json", params)
    if response.status_code != 200:
        raise _error(response, engine, place)
    inspected = parse_object(read_body(response, _DOCUMENT_LIMIT, where), where)
    history, notes = _history(engine, path, params, where)
    config = _config(inspected, history, where)
    if options.platform is not None and not fits(config.platform, options.platform):
        raise UnavailableError(
            f"{engine.subject} has {place} for {config.platform} only, not for {normalise(options.platform)}."
        )
    target = Target("image", named, source, text(inspected.get("Id"), where) or None, config.platform)
    return EngineImage(engine, path, params, Described(target, config, notes), options.progress)


def _error(response: requests.Response, engine: Engine, place: str) -> UnavailableError:
    response.close()
    if response.status_code == 404:
        return NoImageError(f"{engine.subject} has no image {place}.")
    return UnavailableError(f"{engine.subject} answered {response.status_code} when asked for {place}.")


def _history(engine: Engine, path: str, params: Mapping[str, str], where: str) -> tuple[list[object], tuple[str, ...]]:
    """The history as a config has it, oldest first; a note when the engine does not tell it."""
    response = engine.get(f"{path}/history", params)
    if response.status_code != 200:
        response.close()
        return [], (f"{engine.subject} does not tell the image's history: it answered {response.status_code}.",)
    entries = items(parse_json(read_body(response, _DOCUMENT_LIMIT, where), where), where)
    return [{"created_by": members(entry, where).get("CreatedBy")} for entry in reversed(entries)], ()


def _config(inspected: Mapping[str, object], history: list[object], where: str) -> ImageConfig:
    """The image config, put together from the engine's description of it."""
    rootfs = members(inspected.get("RootFS"), where)
    document = {
        "os": inspected.get("Os"),
        "architecture": inspected.get("Architecture"),
        "variant": inspected.get("Variant"),
        "config": inspected.get("Config"),
        "rootfs": {"diff_ids": rootfs.get("Layers")},
        "history": history,
    }
    return parse_config(json.dumps(document).encode(), where)


class EngineImage(OpenImage):
    """An image of an engine. Its layers come from one export, in the engine's order, and can be read once."""

    def __init__(
        self, engine: Engine, path: str, params: Mapping[str, str], described: Described, progress: Progress
    ) -> None:
        self.target = described.target
        self.config = described.config
        self.available_platforms = (described.config.platform,)
        self.notes = described.notes
        if described.target.digest is not None:
            self.identity = f"{engine.version} {described.target.digest} {described.config.platform}"
        self._engine = engine
        self._path = path
        self._params = params
        self._progress = progress
        self._order: tuple[str, ...] = ()

    def layers(self) -> Iterator[LayerBlob]:
        """Every layer once, as the engine exports them."""
        where = f"The export of {self.target.reference} from {self._engine.name}"
        self._progress(f"waiting for {self._engine.name} to export the image")
        response = self._engine.get(f"{self._path}/get", self._params, _EXPORT_SECONDS)
        try:
            if response.status_code != 200:
                raise _error(response, self._engine, self.target.reference)
            export = Export(_pieces(response, where), self.config.diff_ids, where)
            for number, blob in enumerate(export.layers(), 1):
                size = f", {blob.size / 1e6:.1f} MB" if blob.size is not None else ""
                self._progress(f"layer {number} of {len(self.config.diff_ids)}{size}")
                yield blob
            self._order = export.order
        finally:
            response.close()

    def layer_order(self) -> tuple[str, ...]:
        """The layers, lowest first, as ``layers()`` called them; before that the diff IDs."""
        return self._order or self.config.diff_ids

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()


def _pieces(response: requests.Response, where: str) -> Iterator[bytes]:
    with body_errors(where):
        while piece := response.raw.read(_PIECE):
            yield piece
