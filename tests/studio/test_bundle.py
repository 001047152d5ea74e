"""One file from a page's modules: it runs as they did, lets nothing in, and what cannot be bundled is refused by name."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from small_page import EXPECTED_OUTPUT, FILES, data_of, needs_node, run_by_node, scripts_of

from rosenblatt.studio.bundler import BundleError, bundle_modules, mask_non_code
from rosenblatt.studio.html_export import PAGE, bundle, embedded, page_files

TEXTS = {name: content.decode() for name, content in FILES.items()}
HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "\u2028\u2029", "&lt;", "\udc80", "\\", '"', "]]>", "\0"]


@needs_node
def test_the_modules_of_the_small_page_do_the_same_apart_and_together(tmp_path: Path) -> None:
    assert run_by_node(bundle_modules(TEXTS, "main.js")) == EXPECTED_OUTPUT
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert run_by_node(f'import "{(tmp_path / "main.js").as_uri()}";') == EXPECTED_OUTPUT


@pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="needs the page")
def test_our_page_can_be_bundled() -> None:
    page = bundle(page_files(), {})
    ((_, code),) = [found for found in scripts_of(page) if 'type="module"' in found[0]]
    assert not re.search(r"^(?:import|export)\b", mask_non_code(code), re.MULTILINE)


def test_every_module_is_there_once_after_what_it_needs() -> None:
    code = bundle_modules(TEXTS, "main.js")
    places = [code.index(f"const {name} = (() => {{") for name in ("$model_numbers", "$view_box", "$main")]
    assert places == sorted(places)
    assert code.count("const $model_numbers =") == 1
    assert '/** @type {import("../model/numbers.js").Count} */' in code  # comments stay as they are


def test_the_file_has_everything_inside_and_a_policy_that_allows_nothing_else() -> None:
    page = bundle(FILES, {"mode": "export"})
    ((_, code),) = [found for found in scripts_of(page) if 'type="module"' in found[0]]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style.encode() == FILES["style.css"]
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy == (
        f"default-src 'none'; script-src {digest(code)}; style-src {digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert page.index('<meta charset="utf-8">') < 1024
    assert not re.findall(r'(?:src|href)="(?!data:|https:)', page)
    assert data_of(page) == {"mode": "export"}


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_lines_that_end_as_on_windows_have_the_digest_that_a_browser_finds() -> None:
    files = {name: content.replace(b"\n", b"\r\n") for name, content in FILES.items()}
    assert bundle(files, {}) == bundle(FILES, {})


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_the_data_cannot_break_out(name: str) -> None:
    page = bundle(FILES, {"names": [name, "A"], name: 1})
    assert data_of(page) == {"names": [name, "A"], name: 1}

    class Counting(HTMLParser):
        scripts = 0

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            self.scripts += tag == "script"

    parser = Counting()
    parser.feed(page)
    assert parser.scripts == 2
    assert not set("<>&\u2028\u2029") & set(embedded({"names": [name]}))


def test_what_json_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded({"x": float("nan")})


@pytest.mark.parametrize(
    ("path", "source", "sentence"),
    [
        ("main.js", 'import x from "./model/numbers.js";', r"main.js, line 1.*only import \{ a"),
        ("main.js", 'import * as x from "./model/numbers.js";', r"line 1"),
        ("main.js", 'import "./model/numbers.js";', r"line 1"),
        ("main.js", "const a = 1;\nimport { twice } from './model/numbers.js';", r"main.js, line 2"),
        ("main.js", 'const a = 1;\nimport { twice } from "./model/numbers.js";', r"main.js, line 2.*before everything else"),
        ("main.js", 'import { twice } from "numbers";', r"'numbers' is not a relative file"),
        ("main.js", 'import { twice as 2 } from "./model/numbers.js";', r"'twice as 2' is not a name"),
        (
            "main.js",
            'import { none } from "./model/numbers.js";',
            r"main.js imports none from model/numbers.js, which does not",
        ),
        ("main.js", 'import { a } from "./gone.js";', r"main.js imports gone.js, which is not a file of the page"),
        ("main.js", 'import { a } from "../main.js";', r"main.js imports ../main.js, which is not a file of the page"),
        ("main.js", 'const m = await import("./model/numbers.js");', r"main.js, line 1"),
        ("main.js", "const here = import.meta.url;", r"main.js, line 1"),
        ("main.js", "\nawait fetch();", r"main.js, line 2.*await at the top level"),
        ("main.js", "export const a = await b;", r"await at the top level"),
        ("model/numbers.js", "export default 1;", r"model/numbers.js, line 1.*only export function"),
        ("model/numbers.js", "const a = 1;\nexport { a };", r"model/numbers.js, line 2"),
        ("model/numbers.js", "export let a = 1;", r"model/numbers.js, line 1"),
        ("model/numbers.js", 'export * from "./b.js";', r"model/numbers.js, line 1"),
        ("model/numbers.js", "if (1) {\n  export const a = 1;\n}", r"model/numbers.js, line 2"),
        ("model/numbers.js", "export const { a, b } = c;", r"model/numbers.js, line 1"),
        ("model/numbers.js", "export const a = 1, b = 2;", r"model/numbers.js, line 1.*one export const for each"),
        ("model/numbers.js", "const s = '</script>';", r"model/numbers.js, line 1.*end the script"),
        ("model/numbers.js", "// <!--", r"model/numbers.js, line 1.*end the script"),
        ("model/numbers.js", "const $main = 1;", r"the name \$main is used"),
        ("view/box.js", 'import { hidden } from "../main.js";', r"circular import: main.js -> view/box.js -> main.js"),
    ],
)
def test_what_is_not_our_style_is_refused_by_file_and_line(path: str, source: str, sentence: str) -> None:
    given = {**TEXTS, path: source}
    if path == "model/numbers.js":
        given["main.js"] = 'import { } from "./model/numbers.js";'
    with pytest.raises(BundleError, match=sentence):
        bundle_modules(given, "main.js")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ((b"style.css", b"other.css"), "other.css, which is not a file of the page"),
        ((b"main.js", b"other.js"), "index.html imports other.js"),
        ((b'<script type="module" src="main.js"></script>', b""), "main.js.* once, found 0 times"),
        ((b'<script type="application/json" id="studio"></script>', b""), "studio.* once, found 0 times"),
        ((b'<meta charset="utf-8">', b""), "charset.* once"),
        ((b'href="data:,"', b'href="icon.png"'), "refers to icon.png"),
        ((b"<body>", b'<body><img src="a.png">'), "refers to a.png"),
        ((b"<body>", b'<body onload="x()">'), "policy forbids"),
        ((b"<body>", b'<body style="color:red">'), "policy forbids"),
        ((b"<body>", b"<body><script>x()</script>"), "policy forbids"),
        ((b"Small", b"\xff"), "index.html is not UTF-8"),
    ],
)
def test_an_index_that_one_file_cannot_be_is_refused(changed: tuple[bytes, bytes], sentence: str) -> None:
    with pytest.raises(BundleError, match=sentence):
        bundle({**FILES, "index.html": FILES["index.html"].replace(*changed)}, {})


@pytest.mark.parametrize("css", ["@import 'a.css';", "a { background: url(a.png) }", "/* </style> */"])
def test_a_style_that_loads_or_ends_is_refused(css: str) -> None:
    with pytest.raises(BundleError, match=r"style\.css"):
        bundle({**FILES, "style.css": css.encode()}, {})


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a // b\nc", "a     \nc"),
        ("a /* b\n */ c", "a     \n    c"),
        ("f('a\\'b') + \"c\"", "f(      ) +    "),
        ("`a${b + `c${d}`}e`f", "    b +     d     f"),
        ("`${ {a: 1} }`.b", "    {a: 1}   .b"),
        ("a / b / c", "a / b / c"),
        ("x = /[/]'/g.test(s)", "x =        .test(s)"),
        ("return /'/", "return    "),
        ("(a) / 2 / 'b'", "(a) / 2 /    "),
        ("a[0] / 2", "a[0] / 2"),
        ("`\\``a", "    a"),
    ],
)
def test_masked_code_is_as_long_and_has_code_only(source: str, code: str) -> None:
    assert mask_non_code(source) == code
    assert len(mask_non_code(source)) == len(source)


def test_only_files_that_a_browser_reads_are_files_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for name in ("index.html", "model/a.js", "notes.txt", "model/b.py"):
        (tmp_path / name).write_text(name)
    assert page_files(tmp_path) == {"index.html": b"index.html", "model/a.js": b"model/a.js"}
