"""The matrix as plain data, schema id ``cudacompat/matrix/v1``."""

from __future__ import annotations

from collections.abc import Sequence

from cudacompat.model import Target, Tool
from cudacompat.predict.matrix import Row
from cudacompat.report.document import Document, gpu_document, target_document, tool_document, verdict_document


def matrix_document(target: Target, tool: Tool, rows: Sequence[Row]) -> Document:
    """One object: the drivers and boards in the picture's order, and a cell for every pair."""
    gpus = rows[0].cells if rows else ()
    return {
        "schema": "cudacompat/matrix/v1",
        "tool": tool_document(tool),
        "target": target_document(target),
        "drivers": [{"driver": row.driver, "driver_cuda": row.driver_cuda} for row in rows],
        "gpus": [gpu_document(cell.gpu) for cell in gpus],
        "cells": [
            {"driver": cell.driver, "gpu": cell.gpu.name, "verdict": verdict_document(cell.verdict)}
            for row in rows
            for cell in row.cells
        ],
    }
