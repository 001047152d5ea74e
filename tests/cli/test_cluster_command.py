"""`rosenblatt cluster`, and the commands with --cluster: the same bits as without workers, through kills and interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from effort import soon
from rosenblatt.cluster.engine import InProcess
from rosenblatt.data.readers import Options
from rosenblatt.training.cluster import ClusterRun, train_on_cluster
from rosenblatt.training.request import Request

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.once]
COMMAND = [sys.executable, "-m", "rosenblatt"]
GUARD_S = 120


def start(*arguments: object, folder: Any, **more: Any) -> subprocess.Popen[str]:
    """Start a command as a terminal does: in a process group of its own, which gets Ctrl-C."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address that `rosenblatt cluster` prints; it is stopped by Ctrl-C."""
    process = start("cluster", "--workers", 2, "--port", 0, "--memory", "1GB", folder=tmp_path_factory.mktemp("cluster"))
    assert process.stdout is not None
    try:
        shown = [process.stdout.readline() for _ in range(3)]
        found = shown[0].split()[1]
        assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", found)
        assert shown[1] == "workers  2, each with 1 thread and 1 GiB\n"
        assert shown[2] == f'use      rosenblatt train "parts/*.csv" --cluster {found}\n'
        yield found
        with distributed.Client(found, set_as_default=False) as client:
            workers = list(client.run(os.getpid).values())
    finally:
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=GUARD_S)
    assert process.returncode == 0
    assert "dask worker tcp://HOST:8786" in errors
    assert errors.endswith("press Ctrl-C to stop\n")
    soon(lambda: not any(map(is_running, workers)))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three sparse files of noisy rows, and a table of two."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    for part in range(3):
        lines = []
        for _ in range(400):
            kind = int(rng.integers(2))
            columns = np.sort(rng.choice(30, 5, replace=False)) + 1
            values = rng.standard_normal(5) + 0.5 * (columns % 2 == kind)
            lines.append(f"{kind} " + " ".join(f"{c}:{v!r}" for c, v in zip(columns, values.tolist(), strict=True)))
        (folder / f"part-{part}.svm").write_text("\n".join(lines) + "\n")
    for part in range(2):
        rows = [f"{rng.normal(k % 2):.3f},{'red' if rng.random() < 0.5 else 'green'},{'yn'[k % 2]}" for k in range(200)]
        (folder / f"table-{part}.csv").write_text("\n".join(["size,color,label", *rows]) + "\n")
    return folder


def expected(files, algorithm: str, parameters: Any = None, **run) -> Any:
    """The outcome without workers."""
    paths = tuple(str(files / f"part-{part}.svm") for part in range(3))
    request = Request(paths, Options(missing="auto"), algorithm, parameters or {}, holdout=0.0)
    return train_on_cluster(request, ClusterRun(InProcess(), block_bytes=9000, **run))


@pytest.mark.parametrize(
    ("options", "algorithm", "run"),
    [
        ((), "logistic", {}),
        (("-a", "average"), "average", {}),
        (("--mode", "mixed", "--shards", "3"), "average", {"mode": "mixed", "shards": 3}),
    ],
)
def test_train_gives_the_bits_of_one_process(files, address, tmp_path, options, algorithm, run):
    model = tmp_path / "m.safetensors"
    arguments = ("train", files / "part-*.svm", "--cluster", address, "--block-size", 9000, *options, "-o", model)
    found = rosenblatt(*arguments, "--test", files / "part-0.svm", "--json")
    assert (found.code, found.err) == (0, "")
    alone = expected(files, algorithm, **run)
    np.testing.assert_array_equal(rb.load(model).coef, alone.estimator.coef_)
    assert rb.load(model).recipe == alone.recipe
    assert found.json["training"] == alone.train.to_dict()
    assert found.json["test"]["rows"] == 400
    assert found.json["cluster"] == f"2 workers at {address}"


def test_the_summary_is_that_of_train(files, address, tmp_path):
    found = rosenblatt("train", files / "table-*.csv", "--cluster", address, "-o", tmp_path / "m")
    lines = [line.split()[0] for line in found.out.splitlines() if line[0] != " "]
    assert lines == ["data", "algorithm", "fit", "work", "training", "baseline", "warning", "time", "cluster", "model"]
    assert "400 training rows, 3 features, 2 classes: n (200), y (200)" in found.out
    assert "No row was held out for testing" in found.out


def test_predictions_measures_and_proofs(files, address, tmp_path):
    model, table, on = tmp_path / "m", files / "table-*.csv", ("--cluster", address, "--block-size", 1500)
    rosenblatt("train", files / "table-0.csv", "-o", model)
    alone = rosenblatt("predict", model, table).out
    assert rosenblatt("predict", model, table, *on).out == alone
    folder = tmp_path / "labels"
    result = rosenblatt("predict", model, table, *on, "-o", f"{folder}/")
    assert f"which {folder / 'index.json'} lists" in result.err
    index = json.loads((folder / "index.json").read_text())
    assert len(index["files"]) > 2
    assert "".join((folder / each["file"]).read_text() for each in index["files"]) == alone
    measured = rosenblatt("evaluate", model, table, "--json").json
    assert rosenblatt("evaluate", model, table, *on, "--json").json["confusion"] == measured["confusion"]
    proof = tmp_path / "proof.json"
    proved = rosenblatt("certify", table, *on, "-o", proof)
    assert proved.code == rosenblatt("certify", table).code == 1
    assert rosenblatt("verify", proof, table).out == "the certificate holds: the rows are not separable\n"


def test_killed_workers_change_nothing(files, address, tmp_path):
    model = tmp_path / "m.safetensors"
    with distributed.Client(address, set_as_default=False) as client:
        kill = threading.Timer(1.0, os.kill, (next(iter(client.run(os.getpid).values())), signal.SIGKILL))
    kill.start()
    options = ("--block-size", 9000, "-a", "average", "--max-iter", 40, "--cluster", address)
    found = rosenblatt("train", files / "part-*.svm", *options, "-o", model)
    kill.join()
    assert (found.code, found.err) == (0, "")
    alone = expected(files, "average", {"max_iter": 40})
    np.testing.assert_array_equal(rb.load(model).coef, alone.estimator.coef_)
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=GUARD_S)  # another was started


def test_an_interrupted_command_continues_on_other_workers(files, address, tmp_path):
    checkpoint, model = tmp_path / "fit.checkpoint", tmp_path / "m.safetensors"
    command = ("train", files / "part-*.svm", "--block-size", 9000, "--checkpoint", checkpoint, "-o", model)
    long = (*command, "-a", "average", "--max-iter", 100, "--mode", "mixed", "--cluster")
    process = start(*long, "local:1", folder=tmp_path)
    soon(lambda: checkpoint.exists() and checkpoint.stat().st_size > 1000, GUARD_S)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=GUARD_S)
    assert (process.returncode, out) == (130, "")
    assert errors == f"rosenblatt: interrupted; the same command continues from {checkpoint}\n"
    assert not model.exists()
    other = rosenblatt(*command, "--cluster", address)
    assert other.code == 2
    assert str(checkpoint) in other.err  # of another fit
    assert rosenblatt(*long, address).code == 0
    assert not checkpoint.exists()
    alone = expected(files, "average", {"max_iter": 100}, mode="mixed")
    np.testing.assert_array_equal(rb.load(model).coef, alone.estimator.coef_)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "bad.svm", "--cluster", "{}"], "bad.svm, line 3, character 3: the value of index 1 is 'x'"),
        (["train", "one.csv", "--cluster", "{}"], "one.csv: all rows have the label 'x'; at least two classes are needed"),
        (["train", "absent.svm", "--cluster", "{}"], "absent.svm: file not found"),
        (["train", "bad.svm", "--cluster", "{}", "--report", "r.html"], "--report draws rows, which stay on the workers"),
        (["train", "bad.svm", "--cluster", "{}", "--stream"], "--stream is for one machine: leave out --stream or --cluster"),
        (["predict", "m", "bad.svm", "--cluster", "{}", "--scores"], "--scores needs the rows on this machine: leave out"),
        (["predict", "m", "bad.svm", "--cluster", "{}", "-o", "./"], "--output"),
        (["evaluate", "m", "bad.svm", "--cluster", "{}", "--drift", "d.json"], "--drift needs the rows on this machine"),
        (["certify", "bad.svm", "--cluster", "{}", "--likelihood"], "--likelihood needs the rows on this machine: leave out"),
        (["train", "one.csv", "--cluster", "tcp://127.0.0.1:9"], "no scheduler answers at tcp://127.0.0.1:9: start one with"),
        (["train", "one.csv", "--cluster", "tls://127.0.0.1:9"], "tls://127.0.0.1:9 needs certificates: set DASK_"),
        (["train", "one.csv", "--cluster", "local:none"], "--cluster: 'local:none' must name a number of workers"),
        (["train", "one.csv", "--cluster", "host:8786"], "--cluster: 'host:8786' is not a cluster: write local, local:4, tcp://"),
        (["train", "one.csv", "--cluster", "http://host"], "--cluster: 'http://host' is not the address of a scheduler"),
        (["cluster", "--memory", "much"], "--memory: 'much' is not a size such as 500M or 8G"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence_and_leave_nothing(address, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.setattr("rosenblatt.cluster.dask_engine.CONNECT_TIMEOUT_S", 1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.svm").write_text("1 1:1\n0 1:2\n1 1:x\n")
    (tmp_path / "one.csv").write_text("a,label\n" + "1,x\n" * 30)
    rb.save(rb.Perceptron().fit([[-1.0], [1.0]], ["no", "yes"]), "m")
    before = sorted(tmp_path.iterdir())
    found = rosenblatt(*(each.format(address) for each in arguments))
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"rosenblatt: {sentence}"), found.err
    assert found.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.cli.cluster_options.find_spec", lambda name: None)
    (tmp_path / "rows.svm").write_text("1 1:1\n0 1:2\n")
    for arguments in (["train", tmp_path / "rows.svm", "--cluster", "local"], ["cluster"]):
        found = rosenblatt(*arguments)
        assert (found.code, "pip install 'rosenblatt[dask]'" in found.err) == (2, True)


def test_a_port_in_use_is_named(address):
    port = address.rpartition(":")[2]
    found = rosenblatt("cluster", "--workers", 1, "--port", port)
    assert (found.code, found.err) == (2, f"rosenblatt: port {port} is in use: choose another with --port\n")
