"""The studio in a notebook: what it shows of rows, and the messages between its page and Python."""

from __future__ import annotations

import builtins
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from notebooks import X, Y
from small_page import FILES, needs_node, run_by_node

import rosenblatt as rb
import rosenblatt.studio
from rosenblatt.studio import answers
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import RequestError

SCRIPT = Path(rosenblatt.studio.__file__).with_name("notebook.js")


# --- rb.studio ---------------------------------------------------------------------------------------------------------------


def test_rows_of_two_columns_are_the_points(shown: Any) -> None:
    page = shown(rb.studio(X, Y, algorithm="margin", margin=0.25))
    assert (page["mode"], page["note"]) == ("notebook", None)
    assert page["state"]["data"] == {"points": X.tolist(), "labels": [0] * 20 + [1] * 20, "names": ["<b>", "a"]}
    (first,) = page["recordings"]
    assert (first["request"]["points"], first["request"]["knobs"]["margin"]) == (X.tolist(), 0.25)
    assert {**first["run"], "seconds": 0} == {**json.loads(json.dumps(run(first["request"]))), "seconds": 0}
    assert first["proof"]["verdict"] in ("separable", "inseparable")


def test_the_package_of_its_name_is_what_is_called(shown: Any) -> None:
    assert rb.studio is rosenblatt.studio
    assert "rb.studio(X, y)" in (rb.studio.__doc__ or "")
    assert shown(rb.studio(X, Y))["state"]["runs"] == [{"algorithm": "perceptron", "knobs": {}}]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"algorithm": "perceptrom"}, "perceptrom"),
        ({"margni": 1}, "margni"),
        ({"margin": -1}, "margin must be"),
        ({"columns": (0, 2)}, "X has no column 2; its columns: 0 to 1"),
        ({"columns": (0, 0)}, "two different"),
        ({"columns": 0}, "two different"),
        ({"degree": 9}, "degree must be"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        rb.studio(X, Y, **given)


def test_without_anywidget_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "anywidget":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("rosenblatt.studio.notebook.page_files", lambda: FILES)
    monkeypatch.delitem(__import__("sys").modules, "rosenblatt.studio.widget", raising=False)
    for call in (lambda: rb.studio(X, Y), lambda: rb.Perceptron().fit(X, Y).show()):
        with pytest.raises(ImportError, match=r"pip install 'rosenblatt\[notebook\]'"):
            call()


# --- messages ----------------------------------------------------------------------------------------------------------------

REQUEST = {"points": X.tolist(), "labels": [0] * 20 + [1] * 20, "algorithm": "perceptron", "knobs": {}}


def test_python_answers_what_the_page_asks(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = rb.studio(X, Y)
    sent: list[Any] = []
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))

    def ask(content: Any, *buffers: bytes) -> Any:
        widget._handle_custom_msg(content, [memoryview(each) for each in buffers])
        return json.loads(json.dumps(sent.pop()))

    said = ask({"view": "v", "id": 3, "path": "/api/run", "body": REQUEST})
    assert (said["view"], said["id"], said["answer"]["updates"]) == ("v", 3, run(REQUEST)["updates"])
    assert ask({"view": "v", "id": 4, "path": "/api/proof", "body": REQUEST})["answer"]["verdict"]
    csv = gzip.compress(b"x,y,class\n1,2,a\n2,3,b\n3,1,a\n4,0,b\n")
    assert ask({"view": "v", "id": 5, "path": "/api/table?name=a%20b.csv.gz"}, csv)["answer"]["name"] == "a b.csv.gz"
    other = ask({"view": "v", "id": 5, "path": "/api/table?name=a.csv&label=1"}, b"x,y,class\n1,2,a\n2,3,b\n3,2,a\n4,3,b\n")
    assert (other["answer"]["label"], other["answer"]["names"]) == ("y", ["2", "3"])
    refused = ask({"view": "v", "id": 5, "path": "/api/table?name=a.csv"}, b"p,q\n1.5,2.5\n2.5,3.5\n3.5,1.5\n")
    assert refused.keys() == {"view", "id", "error", "headers"}
    assert refused["headers"] == ["p", "q"]
    wrong = ask({"view": "v", "id": 6, "path": "/api/run", "body": REQUEST | {"degree": 9}})
    assert wrong.keys() == {"view", "id", "error"}
    assert "degree must be" in wrong["error"]
    assert not sent


@pytest.mark.parametrize(
    "asked",
    [
        None, 1, [], {}, {"path": 1}, {"path": "/api/none", "body": {}}, {"path": "/api/run"}, {"path": "/api/run", "body": []},
        {"path": "/api/table?name=a.csv"}, {"path": [], "body": {}}, {"path": "/api/run", "body": {"points": float("nan")}},
    ],
)  # fmt: skip
def test_a_message_that_makes_no_sense_gets_a_sentence(asked: Any) -> None:
    said = answers.answer_message(asked)
    assert "answer" not in said
    assert said["error"]
    assert "fault" not in said["error"]


def test_a_fault_of_ours_in_a_notebook_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(answers.HANDLERS, "/api/run", lambda request: request["none"])
    assert answers.answer_message({"id": 1, "path": "/api/run", "body": {}})["error"] == "internal error: KeyError: 'none'"


FAKES = """
const heard = [];
globalThis.window = { listeners: [], addEventListener: (_, f) => window.listeners.push(f),
  removeEventListener: (_, f) => { window.listeners = window.listeners.filter((g) => g !== f); } };
globalThis.document = { createElement: (kind) => ({ kind, style: {}, attributes: {},
  setAttribute(n, v) { this.attributes[n] = v; }, remove() { this.gone = true; },
  contentWindow: { postMessage: (data, to) => heard.push([data, to]) } }) };
const model = { sent: [], listeners: [], get: (name) => `the ${name}`, send: (...all) => model.sent.push(all),
  on: (name, f) => model.listeners.push(f), off: (name, f) => { model.listeners = model.listeners.filter((g) => g !== f); } };
const el = { children: [], append: (child) => el.children.push(child) };
"""


@needs_node
def test_the_messenger_carries_words_of_its_own_frame_only() -> None:
    module = SCRIPT.read_text().replace("export default", "const widget =").replace("30_000", "40")
    found = run_by_node(
        FAKES + module,
        """
const end = widget.render({ model, el });
const frame = el.children[0];
const say = (data, source = frame.contentWindow) => window.listeners.forEach((f) => f({ source, data }));
say({ studio: 1, id: 1, path: "/api/run", body: { points: [] } });
say({ studio: 1, id: 9, path: "/api/run", body: {} }, { other: "window" });
say({ id: 9, path: "/api/run", body: {} });
say(null);
say({ studio: 1, id: 2, path: "/api/table?name=a", body: new ArrayBuffer(3) });
const view = model.sent[0][0].view;
const tell = (message) => model.listeners.forEach((f) => f(message));
tell({ view: "another", id: 1, answer: 0 });
tell({ view, id: 1, answer: { updates: 5 } });
tell({ view, id: 1, answer: "again" });
tell({ view, id: 2, error: "no", headers: ["a"] });
say({ studio: 1, id: 3, path: "/api/run", body: {} });
await new Promise((done) => setTimeout(done, 120));
model.send = () => { throw new Error("no kernel"); };
say({ studio: 1, id: 4, path: "/api/run", body: {} });
const before = [window.listeners.length, model.listeners.length];
end();
globalThis.said = { sandbox: frame.attributes.sandbox, srcdoc: frame.srcdoc, heard, before,
  after: [window.listeners.length, model.listeners.length, frame.gone],
  sent: model.sent.map(([{ view: _, ...rest }, callbacks, buffers]) => [rest, buffers?.map((b) => b.byteLength) ?? null]) };
""",
    )
    assert found["sandbox"] == "allow-scripts allow-downloads"
    assert found["srcdoc"] == "the page"
    silence = "Python did not answer. Is the notebook's kernel running and idle?"
    assert found["heard"] == [
        [{"studio": 1, "id": 1, "answer": {"updates": 5}}, "*"],
        [{"studio": 1, "id": 2, "error": "no", "headers": ["a"]}, "*"],
        [{"studio": 1, "id": 3, "error": silence}, "*"],
        [{"studio": 1, "id": 4, "error": silence}, "*"],
    ]
    assert found["sent"] == [
        [{"id": 1, "path": "/api/run", "body": {"points": []}}, None],
        [{"id": 2, "path": "/api/table?name=a"}, [3]],
        [{"id": 3, "path": "/api/run", "body": {}}, None],
    ]
    assert (found["before"], found["after"]) == ([1, 1], [0, 0, True])


def test_the_widget_brings_its_script_and_page_to_the_front(shown: Any) -> None:
    widget = rb.studio(X, Y)
    state = widget.get_state()
    assert state["_esm"] == SCRIPT.read_text()
    assert state["page"] == widget.page
    assert "default-src 'none'" in widget.page
