"""The commands on real files: what the issue of each is, and how good the models are."""

from __future__ import annotations

import os

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from datasets import data_file, libsvm


def test_a9a_at_84_percent(tmp_path):
    target = tmp_path / "m.safetensors"
    report = rosenblatt("train", data_file("libsvm/a9a"), "--test", data_file("libsvm/a9a.t"), "-o", target, "--json").json
    assert report["test"]["rows"] == 16281
    assert report["test"]["error"] <= 0.16
    assert report["verdict"] == "inseparable"
    measured = rosenblatt("evaluate", target, data_file("libsvm/a9a.t"), "--json").json
    assert measured["errors"] == report["test"]["errors"]
    assert measured["auc"] > 0.89
    X, y = libsvm("a9a.t")
    labels = rosenblatt("predict", target, data_file("libsvm/a9a.t")).out.split()
    assert int((np.array(labels, int) != y).sum()) == measured["errors"]
    assert X.shape[0] == len(labels)


def test_adult_with_its_categories(tmp_path):
    refused = rosenblatt("train", data_file("uci/adult.data"), "--missing", "refuse", "-o", tmp_path / "m")
    assert refused.code == 2
    assert "line 15, column 13: the value is missing" in refused.err
    target = tmp_path / "m.safetensors"
    train, test = data_file("uci/adult.data"), data_file("uci/adult.test")
    report = rosenblatt("train", train, "--test", test, "-o", target, "--json").json
    counts = "'column 1' 1,836, 'column 6' 1,843, 'column 13' 583 (category 'missing')"
    assert any(counts in note for note in report["notes"])
    assert report["test"]["rows"] == 16281
    assert report["test"]["error"] <= 0.165
    names = list(rb.load(target).feature_names)
    assert any(name.endswith("=Doctorate") for name in names)
    assert rosenblatt("evaluate", target, test, "--json").json["errors"] == report["test"]["errors"]


def test_messages_as_a_bag_of_words(tmp_path):
    target = tmp_path / "m.safetensors"
    report = rosenblatt("train", data_file("text/sms_spam.tsv"), "-o", target, "--json").json
    assert report["classes"] == ["ham", "spam"]
    assert report["test"]["error"] <= 0.03
    heavy = rosenblatt("show", target, "--json", "--features", 10).json["heaviest"]
    assert any("txt" in each["feature"] for each in heavy)


def test_news20_spambase_and_digits(tmp_path):
    news = rosenblatt("train", data_file("libsvm/news20.bz2"), "--max-iter", 5, "-o", tmp_path / "m", "--json").json
    assert len(news["classes"]) == 20
    assert news["test"]["error"] <= 0.25
    spam = rosenblatt("train", data_file("uci/spambase.data"), "-o", tmp_path / "m", "--json").json
    assert spam["test"]["error"] <= 0.1


@pytest.mark.slow
def test_mnist_converted(tmp_path):
    images = data_file("mnist/t10k-images-idx3-ubyte.gz")
    assert rosenblatt("convert", images, tmp_path / "digits.svm").code == 0
    assert rosenblatt("convert", images, tmp_path / "digits.npz").code == 0
    report = [rosenblatt("train", tmp_path / f"digits.{kind}", "-o", tmp_path / "m", "--json").json for kind in ("svm", "npz")]
    assert [one["training"]["rows"] + one["test"]["rows"] for one in report] == [10_000, 10_000]
    assert all(one["test"]["error"] <= 0.15 for one in report)


def test_proofs_from_files(tmp_path):
    sonar, cert = data_file("uci/sonar.all-data"), tmp_path / "c.json"
    assert rosenblatt("certify", sonar, "-o", cert).code == 0
    assert rosenblatt("verify", cert, sonar).code == 0
    assert rosenblatt("certify", data_file("libsvm/heart_scale")).code == 1
    assert "No plane" in rosenblatt("doctor", data_file("libsvm/heart_scale"), "--time-limit", 5).out


@pytest.mark.slow
def test_compare_on_spambase():
    report = rosenblatt("compare", data_file("uci/spambase.data"), "--json").json
    by_name = {entry["algorithm"]: entry for entry in report["entries"]}
    assert by_name["max-margin"]["failed"] == "no plane separates the rows"
    best = min(entry["test"]["error"] for entry in report["entries"] if not entry["failed"])
    assert by_name[report["winner"]]["test"]["error"] == best < 0.09


def test_stream_of_a9a_has_the_bits_of_memory(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    os.symlink(data_file("libsvm/a9a"), folder / "a9a")
    for way in ((), ("--stream",)):
        target = tmp_path / f"m{len(way)}"
        passes = ("--order", "cyclic", "--max-iter", 3)
        assert rosenblatt("train", folder / "a9a", *passes, *way, "-o", target).code == 0
    mine, streamed = rb.load(tmp_path / "m0"), rb.load(tmp_path / "m1")
    np.testing.assert_array_equal(mine.coef, streamed.coef)
    np.testing.assert_array_equal(mine.intercept, streamed.intercept)
