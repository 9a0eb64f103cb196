"""Bottlerocket: the driver is part of the operating system's release and variant."""

from __future__ import annotations

import re

from cudacompat.tables.store import remembered, rows, sources
from cudacompat.tables.types import Known

_OS_IMAGE = re.compile(r"Bottlerocket OS (\d{1,3}(?:\.\d{1,3}){2}) \(([a-z0-9.-]{1,60})\)", re.ASCII)


@remembered
def bottlerocket_driver(os_image: str) -> Known | None:
    """The driver of a node's osImage ("Bottlerocket OS 1.48.0 (aws-k8s-1.33-nvidia)").

    None for another system; a Known without a value where the table has no row, or more than one driver.
    """
    match = _OS_IMAGE.fullmatch(os_image)
    if match is None:
        return None
    row = next((row for row in rows("bottlerocket") if (row["release"], row["variant"]) == match.groups()), None)
    if row is None:
        return Known(None, "low", f"{os_image} has no row")
    if len(row["drivers"]) > 1:
        return Known(None, "low", f"{os_image} has {' or '.join(row['drivers'])}", sources("bottlerocket", row))
    return Known(row["drivers"][0], "medium", os_image, sources("bottlerocket", row))
