"""ES modules as one script, without a build tool: each is a function that is called once and returns what it exports.

    import { a, b as c } from "./x.js";        const $y = (() => {
    const hidden = a + c;               ->     const { a, b: c } = $x;
    export function d() { ... }                const hidden = a + c;
                                               function d() { ... }
                                               return { d };
                                               })();

Our modules keep to these forms: imports of names from relative files, before everything else; exports of functions, classes and
single constants at the start of a line. Whatever else there is, is refused by name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

# --- JavaScript with everything that is not code blanked out: comments, strings, templates and regular expressions become
# blanks of the same length, so that words and brackets can be looked for, and found at the same place in the source.

# A slash after one of these begins a regular expression; after a name, a number or a closing bracket it divides.
_WORDS = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof", "await"}
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<tick>`)
      | (?P<word>[\w$]+)
      | (?P<blank>\s+)
      | (?P<slash>/)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)


def masked(source: str) -> str:
    """The source's code; what is inside ${} of a template is code, too."""
    kept: list[str] = []
    templates: list[int] = []  # for each template around here: how many braces are open in its ${}
    at, before = 0, ""

    def blank(end: int) -> None:
        nonlocal at
        kept.append(re.sub(r"[^\n]", " ", source[at:end]))
        at = end

    def text_of_template() -> None:
        nonlocal at
        found = _TEMPLATE.match(source, at)
        assert found is not None
        blank(found.end())
        if source.startswith("${", at):
            templates.append(0)
            blank(at + 2)
        else:
            blank(at + 1)

    while at < len(source):
        token = _TOKEN.match(source, at)
        assert token is not None
        kind, text = token.lastgroup, token.group()
        if kind == "tick" or (text == "}" and templates and templates[-1] == 0):
            if text == "}":
                templates.pop()
            blank(at + 1)
            text_of_template()
            before = "`"
            continue
        if kind == "slash" and (before in _WORDS or not re.fullmatch(r"[\w$]+|[)\]`'\"]", before)):
            regex = _REGEX.match(source, at)
            if regex is not None:
                blank(regex.end())
                before = "`"
                continue
        if kind in ("comment", "string"):
            blank(token.end())
            before = before if kind == "comment" else '"'
            continue
        if templates and text in "{}":
            templates[-1] += 1 if text == "{" else -1
        kept.append(text)
        at = token.end()
        before = before if kind == "blank" else text
    return "".join(kept)


# ---

_IMPORT = re.compile(r'^import\s*\{(?P<names>[^{}]*)\}\s*from\s*"(?P<file>[^"\n]*)";[ \t]*(?:\n|\Z)', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:(?:async )?function\*? |class |const )(?P<name>[A-Za-z_$][\w$]*)(?=[\s(={])", re.MULTILINE)
_NAME = re.compile(r"(?P<name>[A-Za-z_$][\w$]*)(?: as (?P<here>[A-Za-z_$][\w$]*))?")
_KEYWORD = re.compile(r"(?<![\w$.])(?:import(?!\s*:)|export(?!\s*[:(]))(?![\w$])")
_AWAIT = re.compile(r"^(?:(?:export )?(?:const|let|var)\s[^=\n]*=\s*)?await\b", re.MULTILINE)
_UNSAFE = re.compile(r"<!--|</script", re.IGNORECASE)


class BundleError(ValueError):
    """A page that cannot be made into one file."""


class Module(NamedTuple):
    path: str
    needs: tuple[tuple[str, str], ...]  # files, and what they give as the inside of { a, b: c }
    gives: tuple[str, ...]
    body: str


def script(files: Mapping[str, str], entry: str) -> str:
    """One module that does what `entry` does, with all that it imports."""
    modules = _ordered(files, entry)
    names = _variables(modules)
    for module in modules:
        for variable in names.values():
            if re.search(rf"(?<![\w$]){re.escape(variable)}(?![\w$])", module.body):
                raise BundleError(f"{module.path}: the name {variable} is taken by a module; name it otherwise")
    parts = []
    for module in modules:
        lines = [f"// {module.path}", f"const {names[module.path]} = (() => {{"]
        lines += [f"const {{ {given} }} = {names[path]};" for path, given in module.needs if given]
        lines += [module.body.strip("\n"), f"return {{ {', '.join(module.gives)} }};", "})();"]
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n"


def read_module(path: str, source: str) -> Module:
    code = masked(source)
    unsafe = _UNSAFE.search(source)
    if unsafe is not None:
        _refuse(path, source, unsafe.start(), "it would end the script of an export; write < as \\x3c")
    needs, at = [], 0
    while (found := _import_at(source, code, at)) is not None:
        needs.append((_file(path, source, found), _destructured(path, source, found)))
        at = found.end()
    body, code = source[at:], code[at:]
    gives = []
    for export in _EXPORT.finditer(code):
        gives.append(export["name"])
        if code.startswith("export const", export.start()):
            _check_single(path, source, at + export.start(), code[export.end() :])
    ours = {export.start() for export in _EXPORT.finditer(code)}
    for keyword in _KEYWORD.finditer(code):
        if keyword.start() not in ours:
            what = 'import { a, b as c } from "./x.js"; before everything else'
            if keyword.group() == "export":
                what = "export function, export async function, export class or export const NAME at the start of a line"
            _refuse(path, source, at + keyword.start(), f"only {what} is understood")
    waits = _AWAIT.search(code)
    if waits is not None:
        _refuse(path, source, at + waits.start(), "a module may not wait at its top")
    inside = list(body)
    for start in ours:
        inside[start : start + len("export ")] = [""] * len("export ")
    return Module(path, tuple(needs), tuple(gives), "".join(inside))


def _import_at(source: str, code: str, at: int) -> re.Match[str] | None:
    """The next import, if nothing but comments is before it."""
    first = re.compile(r"\s*").match(code, at)
    assert first is not None
    return _IMPORT.match(source, first.end())


def _file(path: str, source: str, found: re.Match[str]) -> str:
    name = found["file"]
    if not name.startswith(("./", "../")):
        _refuse(path, source, found.start(), f"{name!r} is not a relative file, such as ./x.js")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _destructured(path: str, source: str, found: re.Match[str]) -> str:
    given = []
    listed = re.sub(r"\s+", " ", masked(found["names"])).strip().removesuffix(",")
    for each in filter(None, map(str.strip, listed.split(","))):
        name = _NAME.fullmatch(each)
        if name is None:
            _refuse(path, source, found.start(), f"{each!r} is not a name, or a name as another")
        given.append(f"{name['name']}: {name['here']}" if name["here"] else name["name"])
    return ", ".join(given)


def _check_single(path: str, source: str, start: int, rest: str) -> None:
    """`export const a = 1, b = 2;` would export only the first of them."""
    depth = 0
    for mark in re.finditer(r"[(\[{)\]},;]", rest):
        if mark.group() in "([{":
            depth += 1
        elif mark.group() in ")]}":
            depth -= 1
        elif depth == 0:
            if mark.group() == ",":
                _refuse(path, source, start, "one export const for each name, ended by a semicolon")
            return


def _ordered(files: Mapping[str, str], entry: str) -> list[Module]:
    """Every module after those that it imports, each once."""
    done: dict[str, Module] = {}
    above: list[str] = []

    def visit(path: str, by: str) -> Module:
        if path in above:
            raise BundleError(f"modules import each other in a circle: {' -> '.join([*above[above.index(path) :], path])}")
        if path not in files:
            raise BundleError(f"{by} imports {path}, and there is no such file in the page")
        if path not in done:
            above.append(path)
            module = read_module(path, files[path])
            for needed, given in module.needs:
                there = visit(needed, path).gives
                for name in (each.partition(":")[0] for each in given.split(", ") if each):
                    if name not in there:
                        raise BundleError(f"{path} imports {name} from {needed}, which does not export it")
            above.pop()
            done[path] = module
        return done[path]

    visit(entry, "index.html")
    return list(done.values())


def _variables(modules: list[Module]) -> dict[str, str]:
    """A name for what each module exports: $model_state for model/state.js."""
    names: dict[str, str] = {}
    for module in modules:
        name = "$" + re.sub(r"\W", "_", module.path.removesuffix(".js"))
        while name in names.values():
            name += "_"
        names[module.path] = name
    return names


def _refuse(path: str, source: str, at: int, why: str) -> NoReturn:
    line = source.count("\n", 0, at) + 1
    text = source[source.rfind("\n", 0, at) + 1 :].partition("\n")[0].strip()
    raise BundleError(f"{path}, line {line}, {text[:60]!r}: {why}")
