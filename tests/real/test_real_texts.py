"""Real texts become the rows that scikit-learn makes of them."""

from __future__ import annotations

import csv

import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import rosenblatt as rb
from data import data_file


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
