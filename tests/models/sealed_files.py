"""Model files that are taken apart and repacked with a correct digest, as an attacker could."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from trained_models import trained

from rosenblatt.models import container
from rosenblatt.models.files import load, save

KINDS = ("arow", "average", "vote", "soft-margin", "linear-mse")
SEAL = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')


def saved_files(folder: Path) -> dict[str, bytes]:
    """The bytes of a few saved models."""
    for name in KINDS:
        save(trained(name, 4 if name == "soft-margin" else 2), folder / name)
    return {name: (folder / name).read_bytes() for name in KINDS}


def resealed(raw: bytes) -> bytes:
    """With the digest that fits, as docs/model-files.md defines it."""
    found = SEAL.search(raw)
    if found is None:
        return raw
    first, last = found.span(1)
    digest = hashlib.sha256(raw[:first] + b"0" * 64 + raw[last:]).hexdigest()
    return raw[:first] + digest.encode() + raw[last:]


def parts_of(raw: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    return container.unpack(bytearray(raw))


def packed(meta: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    return b"".join(bytes(part) for part in container.pack(meta, arrays))


def loaded(raw: bytes, monkeypatch: Any) -> Any:
    """`rb.load` of a file with these bytes, without the file."""
    monkeypatch.setattr(container, "_bytes_of", lambda path: bytearray(raw))
    return load("mutant.safetensors")
