"""Every test here starts from the bundled tables, with an empty folder for imported ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cudacompat.tables.store import forget


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that imports are kept in."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("CUDACOMPAT_DATA_DIR", str(folder))
    forget()
    yield folder
    forget()
