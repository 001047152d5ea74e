"""The studio in a notebook: what it shows of rows, and the messages between its page and Python."""

from __future__ import annotations

import builtins
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from notebooks import X, Y
from small_page import needs_node, run_by_node

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
def test_errors_are_shown(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        rb.studio(X, Y, **given)


def test_without_anywidget_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "anywidget":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "rosenblatt.studio.notebook", raising=False)
    for call in (lambda: rb.studio(X, Y), lambda: rb.Perceptron().fit(X, Y).show()):
        with pytest.raises(ImportError, match=r"pip install 'rosenblatt\[notebook\]'"):
            call()


# --- messages ----------------------------------------------------------------------------------------------------------------

REQUEST = {"points": X.tolist(), "labels": [0] * 20 + [1] * 20, "algorithm": "perceptron", "knobs": {}}


def test_python_answers_requests_of_the_page(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = rb.studio(X, Y)
    sent: list[Any] = []
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))

    def send(content: Any, *buffers: bytes) -> Any:
        widget._handle_custom_msg(content, [memoryview(each) for each in buffers])
        return json.loads(json.dumps(sent.pop()))

    answer = send({"view": "v", "id": 3, "path": "/api/run", "body": REQUEST})
    assert (answer["view"], answer["id"], answer["answer"]["updates"]) == ("v", 3, run(REQUEST)["updates"])
    assert send({"view": "v", "id": 4, "path": "/api/proof", "body": REQUEST})["answer"]["verdict"]
    csv = gzip.compress(b"x,y,class\n1,2,a\n2,3,b\n3,1,a\n4,0,b\n")
    assert send({"view": "v", "id": 5, "path": "/api/table?name=a%20b.csv.gz"}, csv)["answer"]["name"] == "a b.csv.gz"
    other = send({"view": "v", "id": 5, "path": "/api/table?name=a.csv&label=1"}, b"x,y,class\n1,2,a\n2,3,b\n3,2,a\n4,3,b\n")
    assert (other["answer"]["label"], other["answer"]["names"]) == ("y", ["2", "3"])
    refused = send({"view": "v", "id": 5, "path": "/api/table?name=a.csv"}, b"p,q\n1.5,2.5\n2.5,3.5\n3.5,1.5\n")
    assert refused.keys() == {"view", "id", "error", "headers"}
    assert refused["headers"] == ["p", "q"]
    wrong = send({"view": "v", "id": 6, "path": "/api/run", "body": REQUEST | {"degree": 9}})
    assert wrong.keys() == {"view", "id", "error"}
    assert "degree must be" in wrong["error"]
    assert not sent


@pytest.mark.parametrize(
    "message",
    [
        None, 1, [], {}, {"path": 1}, {"path": "/api/none", "body": {}}, {"path": "/api/run"}, {"path": "/api/run", "body": []},
        {"path": "/api/table?name=a.csv"}, {"path": [], "body": {}}, {"path": "/api/run", "body": {"points": float("nan")}},
    ],
)  # fmt: skip
def test_a_message_that_makes_no_sense_gets_a_sentence(message: Any) -> None:
    answer = answers.answer_message(message)
    assert "answer" not in answer
    assert answer["error"]
    assert "fault" not in answer["error"]


def test_an_internal_error_in_a_notebook_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(answers.HANDLERS, "/api/run", lambda request: request["none"])
    assert answers.answer_message({"id": 1, "path": "/api/run", "body": {}})["error"] == "internal error: KeyError: 'none'"


FAKES = """
const received = [];
let notify = () => {};
globalThis.window = { listeners: [], addEventListener: (_, f) => window.listeners.push(f),
  removeEventListener: (_, f) => { window.listeners = window.listeners.filter((g) => g !== f); } };
globalThis.document = { createElement: (kind) => ({ kind, style: {}, attributes: {},
  setAttribute(n, v) { this.attributes[n] = v; }, remove() { this.gone = true; },
  contentWindow: { postMessage: (data, to) => { received.push([data, to]); notify(); } } }) };
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
const post = (data, source = frame.contentWindow) => window.listeners.forEach((f) => f({ source, data }));
post({ studio: 1, id: 1, path: "/api/run", body: { points: [] } });
post({ studio: 1, id: 9, path: "/api/run", body: {} }, { other: "window" });
post({ id: 9, path: "/api/run", body: {} });
post(null);
post({ studio: 1, id: 2, path: "/api/table?name=a", body: new ArrayBuffer(3) });
const view = model.sent[0][0].view;
const deliver = (message) => model.listeners.forEach((f) => f(message));
deliver({ view: "another", id: 1, answer: 0 });
deliver({ view, id: 1, answer: { updates: 5 } });
deliver({ view, id: 1, answer: "again" });
deliver({ view, id: 2, error: "no", headers: ["a"] });
const timeout = new Promise((done) => { notify = done; });
post({ studio: 1, id: 3, path: "/api/run", body: {} });
await timeout;
model.send = () => { throw new Error("no kernel"); };
post({ studio: 1, id: 4, path: "/api/run", body: {} });
const before = [window.listeners.length, model.listeners.length];
end();
globalThis.output = { sandbox: frame.attributes.sandbox, srcdoc: frame.srcdoc, received, before,
  after: [window.listeners.length, model.listeners.length, frame.gone],
  sent: model.sent.map(([{ view: _, ...rest }, callbacks, buffers]) => [rest, buffers?.map((b) => b.byteLength) ?? null]) };
""",
    )
    assert found["sandbox"] == "allow-scripts allow-downloads"
    assert found["srcdoc"] == "the page"
    silence = "Python did not answer. Is the notebook's kernel running and idle?"
    assert found["received"] == [
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
