"""Texts that are hard to cut: letters whose lower case is special, marks, wide blanks, and anything else there is."""

from __future__ import annotations

from hypothesis import strategies as st

BLANKS = " \t\n\r\x0b\x1c\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000"
SIGMAS, DOTLESS, MARKS = "Σ\u03c3ς", "Iİ\u0131", "\u0345\u0307\u0301\u200d"
HARD = "aZ_9" + BLANKS + SIGMAS + DOTLESS + MARKS + "ßẞǅ\u212a\u2c65\u023aéÉñДд中😀𐐀\x00.,-'"
LETTERS = st.one_of(st.sampled_from(HARD), st.characters(exclude_categories=["Cs"]))
TEXTS = st.one_of(st.text("abC é\n", max_size=16), st.text(LETTERS, max_size=16), st.text("aA b.", max_size=30))
BROKEN = st.text(st.one_of(LETTERS, st.characters(categories=["Cs"])), max_size=8)
