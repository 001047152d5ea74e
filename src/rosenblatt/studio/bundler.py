"""ES modules as one script, without a build tool: each module becomes a function that is called once and returns its exports.

    import { a, b as c } from "./x.js";        const $y = (() => {
    const hidden = a + c;               ->     const { a, b: c } = $x;
    export function d() { ... }                const hidden = a + c;
                                               function d() { ... }
                                               return { d };
                                               })();

Supported are imports of names from relative files, before everything else, and exports of functions, classes and single
constants at the start of a line. Anything else raises a `BundleError` with file and line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

# --- Masking: comments, strings, templates and regular expressions become blanks of the same length, so that keywords and
# brackets in the rest keep their place.

# A slash after one of these starts a regular expression; after a name, a number or a closing bracket it divides.
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


def mask_non_code(source: str) -> str:
    """Return the source with everything that is not code blanked out; code inside ${} of a template is kept."""
    return _Masker(source).masked()


class _Masker:
    """One pass over a source, token by token."""

    def __init__(self, source: str) -> None:
        self.source, self.at, self.before = source, 0, ""
        self.kept: list[str] = []
        self.templates: list[int] = []  # open braces inside the ${} of each enclosing template

    def masked(self) -> str:
        while self.at < len(self.source):
            token = _TOKEN.match(self.source, self.at)
            assert token is not None
            kind, text = token.lastgroup, token.group()
            if kind == "tick" or (text == "}" and self.templates and self.templates[-1] == 0):
                self._template(closes_expression=text == "}")
            elif kind == "slash" and self._starts_regex() and (regex := _REGEX.match(self.source, self.at)) is not None:
                self._blank(regex.end())
                self.before = "`"
            elif kind in ("comment", "string"):
                self._blank(token.end())
                self.before = self.before if kind == "comment" else '"'
            else:
                self._keep(text, is_blank=kind == "blank")
        return "".join(self.kept)

    def _keep(self, text: str, is_blank: bool) -> None:
        if self.templates and text in "{}":
            self.templates[-1] += 1 if text == "{" else -1
        self.kept.append(text)
        self.at += len(text)
        self.before = self.before if is_blank else text

    def _blank(self, end: int) -> None:
        self.kept.append(re.sub(r"[^\n]", " ", self.source[self.at : end]))
        self.at = end

    def _template(self, closes_expression: bool) -> None:
        """Blank the text of a template, up to its end or to the next ${."""
        if closes_expression:
            self.templates.pop()
        self._blank(self.at + 1)
        text = _TEMPLATE.match(self.source, self.at)
        assert text is not None
        self._blank(text.end())
        opens_expression = self.source.startswith("${", self.at)
        if opens_expression:
            self.templates.append(0)
        self._blank(self.at + (2 if opens_expression else 1))
        self.before = "`"

    def _starts_regex(self) -> bool:
        return self.before in _WORDS or not re.fullmatch(r"[\w$]+|[)\]`'\"]", self.before)


# --- Modules

_IMPORT = re.compile(r'^import\s*\{(?P<names>[^{}]*)\}\s*from\s*"(?P<file>[^"\n]*)";[ \t]*(?:\n|\Z)', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:(?:async )?function\*? |class |const )(?P<name>[A-Za-z_$][\w$]*)(?=[\s(={])", re.MULTILINE)
_NAME = re.compile(r"(?P<name>[A-Za-z_$][\w$]*)(?: as (?P<here>[A-Za-z_$][\w$]*))?")
_KEYWORD = re.compile(r"(?<![\w$.])(?:import(?!\s*:)|export(?!\s*[:(]))(?![\w$])")
_AWAIT = re.compile(r"^(?:(?:export )?(?:const|let|var)\s[^=\n]*=\s*)?await\b", re.MULTILINE)
_UNSAFE = re.compile(r"<!--|</script", re.IGNORECASE)


class BundleError(ValueError):
    """A page that cannot be bundled into one file."""


class Module(NamedTuple):
    """A module without its imports and export keywords."""

    path: str
    imports: tuple[tuple[str, str], ...]  # file, and the names as the inside of { a, b: c }
    exports: tuple[str, ...]
    body: str


def bundle_modules(files: Mapping[str, str], entry: str) -> str:
    """Return one script that does what the module `entry` does, with everything it imports."""
    modules = _ordered(files, entry)
    names = _variables(modules)
    for module in modules:
        for variable in names.values():
            if re.search(rf"(?<![\w$]){re.escape(variable)}(?![\w$])", module.body):
                raise BundleError(f"{module.path}: the name {variable} is used for a module; choose another")
    parts = []
    for module in modules:
        lines = [f"// {module.path}", f"const {names[module.path]} = (() => {{"]
        lines += [f"const {{ {given} }} = {names[path]};" for path, given in module.imports if given]
        lines += [module.body.strip("\n"), f"return {{ {', '.join(module.exports)} }};", "})();"]
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n"


def read_module(path: str, source: str) -> Module:
    """Split a module into imports, exports and body."""
    code = mask_non_code(source)
    unsafe = _UNSAFE.search(source)
    if unsafe is not None:
        _refuse(path, source, unsafe.start(), "this would end the script element; write < as \\x3c")
    imports, at = [], 0
    while (found := _import_at(source, code, at)) is not None:
        imports.append((_file(path, source, found), _destructured(path, source, found)))
        at = found.end()
    body, code = source[at:], code[at:]
    exports = list(_EXPORT.finditer(code))
    for export in exports:
        if code.startswith("export const", export.start()):
            _check_single(path, source, at + export.start(), code[export.end() :])
    starts = {export.start() for export in exports}
    _check_keywords(path, source, at, code, starts)
    characters = list(body)
    for start in starts:
        characters[start : start + len("export ")] = [""] * len("export ")
    return Module(path, tuple(imports), tuple(export["name"] for export in exports), "".join(characters))


def _check_keywords(path: str, source: str, at: int, code: str, exports: set[int]) -> None:
    """Raise for imports and exports in other forms, and for `await` at the top level."""
    for keyword in _KEYWORD.finditer(code):
        if keyword.start() not in exports:
            form = 'import { a, b as c } from "./x.js"; before everything else'
            if keyword.group() == "export":
                form = "export function, export async function, export class or export const NAME at the start of a line"
            _refuse(path, source, at + keyword.start(), f"only {form} is supported")
    waits = _AWAIT.search(code)
    if waits is not None:
        _refuse(path, source, at + waits.start(), "await at the top level is not supported")


def _import_at(source: str, code: str, at: int) -> re.Match[str] | None:
    """Return the next import if only comments come before it."""
    first = re.compile(r"\s*").match(code, at)
    assert first is not None
    return _IMPORT.match(source, first.end())


def _file(path: str, source: str, match: re.Match[str]) -> str:
    name = match["file"]
    if not name.startswith(("./", "../")):
        _refuse(path, source, match.start(), f"{name!r} is not a relative file, such as ./x.js")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _destructured(path: str, source: str, match: re.Match[str]) -> str:
    given = []
    listed = re.sub(r"\s+", " ", mask_non_code(match["names"])).strip().removesuffix(",")
    for each in filter(None, map(str.strip, listed.split(","))):
        name = _NAME.fullmatch(each)
        if name is None:
            _refuse(path, source, match.start(), f"{each!r} is not a name or `name as other`")
        given.append(f"{name['name']}: {name['here']}" if name["here"] else name["name"])
    return ", ".join(given)


def _check_single(path: str, source: str, start: int, rest: str) -> None:
    """Raise for `export const a = 1, b = 2;`, of which only the first name would be exported."""
    depth = 0
    for mark in re.finditer(r"[(\[{)\]},;]", rest):
        if mark.group() in "([{":
            depth += 1
        elif mark.group() in ")]}":
            depth -= 1
        elif depth == 0:
            if mark.group() == ",":
                _refuse(path, source, start, "use one export const for each name, ended by a semicolon")
            return


def _ordered(files: Mapping[str, str], entry: str) -> list[Module]:
    """Return every module once, after the modules that it imports."""
    done: dict[str, Module] = {}
    above: list[str] = []

    def visit(path: str, by: str) -> Module:
        if path in above:
            raise BundleError(f"circular import: {' -> '.join([*above[above.index(path) :], path])}")
        if path not in files:
            raise BundleError(f"{by} imports {path}, which is not a file of the page")
        if path not in done:
            above.append(path)
            module = read_module(path, files[path])
            for needed, given in module.imports:
                exported = visit(needed, path).exports
                for name in (each.partition(":")[0] for each in given.split(", ") if each):
                    if name not in exported:
                        raise BundleError(f"{path} imports {name} from {needed}, which does not export it")
            above.pop()
            done[path] = module
        return done[path]

    visit(entry, "index.html")
    return list(done.values())


def _variables(modules: list[Module]) -> dict[str, str]:
    """Return a variable for the exports of each module: $model_state for model/state.js."""
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
