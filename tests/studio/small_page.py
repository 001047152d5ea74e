"""A page of three modules, with all that ours may have, and a browser's view of one file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

INDEX = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Small</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script type="application/json" id="studio"></script>
<script type="module" src="main.js"></script>
</head>
<body><a href="https://example.org/">elsewhere</a></body>
</html>
"""
FILES = {
    "index.html": INDEX,
    "style.css": b"body { background: #fff }\n",
    "main.js": b"""// import { nothing } from "./nowhere.js";
/** @typedef {import("./model/numbers.js").Count} Count */
import { twice, LIMIT as most } from "./model/numbers.js";
import {
  Box, // and why
  wrap as wrapped,
} from "./view/box.js";

const hidden = 1;
const text = `
import { a } from "./b.js";
export const c = ${[1, 2].map((n) => `${n}`).join("}")};
`;
const pattern = /[/"'`]export const d/;
globalThis.output = [twice(hidden), most, new Box(2).size, wrapped("x"), text.length, pattern.test('"export const d')];
""",
    "model/numbers.js": b"""/** @typedef {number} Count */
const hidden = 2;
export function twice(n) {
  return hidden * n;
}
export const LIMIT = { most: [1, 2] }.most.length / 2;
""",
    "view/box.js": b"""import { twice } from "../model/numbers.js";

/** @type {import("../model/numbers.js").Count} */
const hidden = { export: 1, import: 2 };
export class Box {
  constructor(n) { this.size = twice(n) + hidden.export; }
}
export async function later() { return await 1; }
export const wrap = (s) => `<${s}>`;
""",
}
EXPECTED_OUTPUT = [2, 1, 5, "<x>", 51, True]

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def run_by_node(code: str, more: str = "") -> Any:
    """What a module leaves in globalThis.output."""
    code = f"{code}\n{more}\nprocess.stdout.write(JSON.stringify(globalThis.output));"
    done = subprocess.run(
        ["node", "--input-type=module", "-"], input=code, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def scripts_of(page: str) -> list[tuple[str, str]]:
    """(attributes, content) of each script, as an HTML parser finds them."""
    return re.findall(r"<script([^>]*)>(.*?)</script\s*>", page, re.DOTALL | re.IGNORECASE)


def data_of(page: str) -> Any:
    (text,) = [content for attributes, content in scripts_of(page) if 'id="studio"' in attributes]
    return json.loads(text)
