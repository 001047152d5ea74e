"""Real texts become the rows that scikit-learn makes of them."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import rosenblatt as rb
from datasets import data_file


def sms():
    lines = data_file("text/sms_spam.tsv").read_text(encoding="utf-8").split("\n")
    return [line.partition("\t")[2] for line in lines]


def news():
    with data_file("text/ag_news_test.csv").open(encoding="utf-8", newline="") as file:
        return [" ".join(row[1:]) for row in csv.reader(file)][::5]


@pytest.mark.parametrize("texts", [sms, news])
@pytest.mark.parametrize(("analyzer", "ngram_range"), [("word", (1, 2)), ("char", (4, 4)), ("char_wb", (3, 4))])
def test_hashed_rows_are_the_same_bits(texts, analyzer, ngram_range):
    settings = {"analyzer": analyzer, "ngram_range": ngram_range}
    ours, theirs = rb.TextHasher(**settings).transform(texts()), HashingVectorizer(**settings).transform(texts())
    for name in ("indptr", "indices", "data"):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()


def test_a_vocabulary_is_the_same():
    ours, theirs = rb.Vocabulary(min_count=2, norm=None), CountVectorizer(min_df=2)
    X, Y = ours.fit_transform(sms()), theirs.fit_transform(sms())
    assert ours.vocabulary_ == theirs.vocabulary_
    assert abs(X - Y).max() == 0


@pytest.mark.slow
def test_spam_among_short_messages_is_found():
    """F1 of 0.96 over five folds, without the messages that repeat others."""
    lines = list(dict.fromkeys(data_file("text/sms_spam.tsv").read_text(encoding="utf-8").splitlines()))
    texts, spam = [line.partition("\t")[2] for line in lines], np.array([line.startswith("spam\t") for line in lines])
    hasher = rb.TextHasher(analyzer="char_wb", ngram_range=(1, 5), binary=True, alternate_sign=False)
    rows, folds = hasher.transform(texts), StratifiedKFold(5, shuffle=True, random_state=0)
    found = [
        f1_score(spam[test], rb.AROW(r=0.1, random_state=0).fit(rows[train], spam[train]).predict(rows[test]))
        for train, test in folds.split(texts, spam)
    ]
    assert np.mean(found) >= 0.96
