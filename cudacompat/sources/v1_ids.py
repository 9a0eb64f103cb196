"""Which layer a folder of an old docker archive holds.

Docker up to 24 names the folders after "v1 image IDs": the hash of a JSON document that the folder's own
file ``json`` repeats, together with the chain ID of all layers up to this one. So the layer can be told
before its tar has been read, and before the archive's manifest.json comes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from cudacompat.errors import TargetError
from cudacompat.layers.documents import parse_object

# Go's encoder writes these as escapes, in strings of any kind.
_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def chain_ids(diff_ids: Sequence[str]) -> list[str]:
    """OCI's chain ID of each layer: a hash over its diff ID and those of all layers below."""
    chains: list[str] = []
    for diff_id in diff_ids:
        chains.append(_sha256(f"{chains[-1]} {diff_id}") if chains else diff_id)
    return chains


def diff_id_of(folder: str, document: bytes, diff_ids: Sequence[str]) -> str | None:
    """The diff ID of the layer in ``folder``, by the folder's file ``json``; None when the hash fits none."""
    try:
        fields = dict(parse_object(document, folder))
    except TargetError:
        return None
    parent = fields.pop("parent", None)
    stated = {key: value for key, value in fields.items() if key != "id"}
    if isinstance(parent, str):
        stated["parent"] = f"sha256:{parent}"
    # Only the top layer's document had its "os" before it was hashed.
    without_os = {key: value for key, value in stated.items() if key != "os"}
    for diff_id, chain_id in zip(diff_ids, chain_ids(diff_ids), strict=True):
        for candidate in (without_os, stated):
            if _sha256(_go_json({**candidate, "layer_id": chain_id})) == f"sha256:{folder}":
                return diff_id
    return None


def _go_json(fields: dict[str, object]) -> str:
    """JSON as Go writes a map: keys sorted at the top, the rest as it stood."""
    text = json.dumps(dict(sorted(fields.items())), separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPED)


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
