"""Splits texts into n-grams of words or characters, as scikit-learn's HashingVectorizer does.

A text is UTF-8 as written by Python's encoder. It is copied to `clean`, in lower case and with runs of blanks replaced by one
space; `starts` holds the positions of its units (words or characters) there. A gram is a run of units, clean[froms[g]:tos[g]].
The table `kinds` gives the kind of every character (word character, blank or other), `lows` its lower case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel

WORDS, CHARS, CHARS_IN_WORDS = 0, 1, 2
WORD_CHAR, BLANK = np.uint8(1), np.uint8(2)
SPACE = np.uint8(32)
ONE = np.uintp(1)
LOW_SIX_BITS = np.uint32(0x3F)


class StopWords(NamedTuple):
    """Words that are left out, text[bounds[w]:bounds[w + 1]], and a hash table of them."""

    slots: IntArray  # uint32, a power of two: w + 1, or 0 for an empty slot; none if there are no stop words
    bounds: IntArray  # uintp
    text: IntArray
    longest: np.uintp  # bytes


class GramRules(NamedTuple):
    """How texts are split: runs of `low` to `high` units; `kinds` and `lows` may end after the largest character used."""

    analyzer: int  # WORDS, CHARS or CHARS_IN_WORDS
    low: np.uintp
    high: np.uintp
    kinds: IntArray
    lows: IntArray
    shortest: np.uintp  # characters of a word
    stop_words: StopWords


class GramBuffers(NamedTuple):
    """Buffers for one text, its units and its grams; `clean` is three bytes longer than needed."""

    clean: IntArray
    starts: IntArray
    froms: IntArray
    tos: IntArray


@inlined
def _continuation(text: IntArray, i: Any, shift: Any) -> Any:
    """Six bits of a continuation byte, shifted."""
    return np.uint32(np.uint32(np.uint32(text[i]) & LOW_SIX_BITS) << np.uint32(shift))


@inlined
def _character(text: IntArray, i: Any) -> Any:
    """The character at text[i] and the position of the next one."""
    c = np.uint32(text[i])
    if c < np.uint32(0x80):
        return c, i + ONE
    if c < np.uint32(0xE0):
        return np.uint32(np.uint32((c & np.uint32(0x1F)) << np.uint32(6)) | _continuation(text, i + ONE, 0)), i + np.uintp(2)
    if c < np.uint32(0xF0):
        high = np.uint32(np.uint32((c & np.uint32(0x0F)) << np.uint32(12)) | _continuation(text, i + ONE, 6))
        return np.uint32(high | _continuation(text, i + np.uintp(2), 0)), i + np.uintp(3)
    high = np.uint32(np.uint32((c & np.uint32(0x07)) << np.uint32(18)) | _continuation(text, i + ONE, 12))
    low = np.uint32(_continuation(text, i + np.uintp(2), 6) | _continuation(text, i + np.uintp(3), 0))
    return np.uint32(high | low), i + np.uintp(4)


@inlined
def _tail(c: Any, shift: Any) -> Any:
    return np.uint8(np.uint32(0x80) | np.uint32(np.uint32(c >> np.uint32(shift)) & LOW_SIX_BITS))


@inlined
def _put(clean: IntArray, at: Any, c: Any) -> Any:
    """Write a character and return the next position."""
    if c < np.uint32(0x80):
        clean[at] = np.uint8(c)
        return at + ONE
    if c < np.uint32(0x800):
        clean[at] = np.uint8(np.uint32(0xC0) | np.uint32(c >> np.uint32(6)))
        clean[at + ONE] = _tail(c, 0)
        return at + np.uintp(2)
    if c < np.uint32(0x10000):
        clean[at] = np.uint8(np.uint32(0xE0) | np.uint32(c >> np.uint32(12)))
        clean[at + ONE] = _tail(c, 6)
        clean[at + np.uintp(2)] = _tail(c, 0)
        return at + np.uintp(3)
    clean[at] = np.uint8(np.uint32(0xF0) | np.uint32(c >> np.uint32(18)))
    clean[at + ONE] = _tail(c, 12)
    clean[at + np.uintp(2)] = _tail(c, 6)
    clean[at + np.uintp(3)] = _tail(c, 0)
    return at + np.uintp(4)


@kernel
def slot_of_word(text: IntArray, i: Any, stop: Any, slots: Any) -> Any:
    """The first slot for a word in a table of the given size: FNV-1a, Fowler, Noll and Vo."""
    h = np.uint32(2166136261)
    for k in range(i, stop):
        h = np.uint32(np.uint32(h ^ np.uint32(text[k])) * np.uint32(16777619))
    return np.uintp(h & np.uint32(slots - 1))


@kernel
def _is_stop_word(words: StopWords, clean: IntArray, begin: Any, at: Any) -> Any:
    length = at - begin
    if length > words.longest:
        return False
    slot = slot_of_word(clean, begin, at, words.slots.shape[0])
    while words.slots[slot] != np.uint32(0):
        word = np.uintp(words.slots[slot]) - ONE
        first = words.bounds[word]
        if words.bounds[word + ONE] - first == length:
            k = np.uintp(0)
            while k < length and words.text[first + k] == clean[begin + k]:
                k += ONE
            if k == length:
                return True
        slot = np.uintp((slot + ONE) & np.uintp(words.slots.shape[0] - 1))
    return False


@kernel
def _words(rules: GramRules, text: IntArray, i: Any, stop: Any, clean: IntArray, starts: IntArray) -> Any:
    """Words that are long enough and no stop words, each followed by a space."""
    kinds, lows, shortest, filtered = rules.kinds, rules.lows, rules.shortest, rules.stop_words.slots.shape[0] > 0
    count, begin, at, letters = np.uintp(0), np.uintp(0), np.uintp(0), np.uintp(0)
    while i < stop:
        c, i = _character(text, i)
        c = lows[c]
        if kinds[c] == WORD_CHAR:
            at = _put(clean, at, c)
            letters += ONE
        if kinds[c] != WORD_CHAR or i >= stop:
            if letters >= shortest and not (filtered and _is_stop_word(rules.stop_words, clean, begin, at)):
                clean[at] = SPACE
                starts[count] = begin
                count += ONE
                begin = at + ONE
            at = begin
            letters = np.uintp(0)
    starts[count] = begin
    return count


@inlined
def _is_ascii(text: IntArray, i: Any, stop: Any) -> Any:
    found = np.uint8(0)
    for k in range(i, stop):
        found |= text[k]
    return found < np.uint8(0x80)


@kernel
def _ascii_words(rules: GramRules, text: IntArray, i: Any, stop: Any, clean: IntArray, starts: IntArray) -> Any:
    """The same for ASCII texts, where every character is one byte."""
    kinds, lows, shortest, filtered = rules.kinds, rules.lows, rules.shortest, rules.stop_words.slots.shape[0] > 0
    count, begin, at = np.uintp(0), np.uintp(0), np.uintp(0)
    while i < stop:
        c = lows[text[i]]
        i += ONE
        if kinds[c] == WORD_CHAR:
            clean[at] = np.uint8(c)
            at += ONE
            if i < stop:
                continue
        if at - begin >= shortest and not (filtered and _is_stop_word(rules.stop_words, clean, begin, at)):
            clean[at] = SPACE
            starts[count] = begin
            count += ONE
            begin = at + ONE
        at = begin
    starts[count] = begin
    return count


@kernel
def _chars(text: IntArray, i: Any, stop: Any, kinds: IntArray, lows: IntArray, clean: IntArray, starts: IntArray) -> Any:
    """All characters; a run of two or more blanks becomes one space, a single blank is kept."""
    count, at, blanks = np.uintp(0), np.uintp(0), np.uintp(0)
    while i < stop:
        c, i = _character(text, i)
        c = lows[c]
        if kinds[c] == BLANK:
            blanks += ONE
            if blanks > ONE:
                at = starts[count - ONE]
                clean[at] = SPACE
                at += ONE
                continue
        else:
            blanks = np.uintp(0)
        starts[count] = at
        count += ONE
        at = _put(clean, at, c)
    starts[count] = at
    return count


@kernel
def _chars_in_words(
    text: IntArray, i: Any, stop: Any, kinds: IntArray, lows: IntArray, clean: IntArray, starts: IntArray
) -> Any:
    """Parts between blanks, with a space before and after each."""
    clean[0], starts[0] = SPACE, np.uintp(0)
    count, at = ONE, ONE
    while i < stop:
        c, i = _character(text, i)
        c = lows[c]
        blank = kinds[c] == BLANK
        if not blank:
            starts[count] = at
            count += ONE
            at = _put(clean, at, c)
        if (blank or i >= stop) and at > ONE and clean[at - ONE] != SPACE:
            clean[at] = SPACE
            starts[count] = at
            count += ONE
            at += ONE
    starts[count] = at
    return count


@kernel
def split_units(rules: GramRules, text: IntArray, i: Any, stop: Any, clean: IntArray, starts: IntArray) -> Any:
    """Fill `clean` and `starts` from text[i:stop] and return the number of units; one more start marks the end."""
    if rules.analyzer == WORDS and _is_ascii(text, i, stop):
        return _ascii_words(rules, text, i, stop, clean, starts)
    if rules.analyzer == WORDS:
        return _words(rules, text, i, stop, clean, starts)
    if rules.analyzer == CHARS:
        return _chars(text, i, stop, rules.kinds, rules.lows, clean, starts)
    return _chars_in_words(text, i, stop, rules.kinds, rules.lows, clean, starts)


@inlined
def _runs(starts: IntArray, first: Any, last: Any, size: Any, gap: Any, froms: IntArray, tos: IntArray, m: Any) -> Any:
    """All runs of `size` units among first..last, which are separated by `gap` bytes."""
    i = first
    while i + size <= last:
        froms[m] = starts[i]
        tos[m] = starts[i + size] - gap
        m += ONE
        i += ONE
    return m


@kernel
def find_grams(rules: GramRules, clean: IntArray, starts: IntArray, count: Any, froms: IntArray, tos: IntArray) -> Any:
    """Find all grams of a text and return their number."""
    m = np.uintp(0)
    if rules.analyzer != CHARS_IN_WORDS:
        gap = ONE if rules.analyzer == WORDS else np.uintp(0)
        for size in range(rules.low, rules.high + ONE):
            m = _runs(starts, np.uintp(0), count, np.uintp(size), gap, froms, tos, m)
        return m
    first = np.uintp(0)  # the space before a word
    while first + ONE < count:
        last = first + ONE
        while clean[starts[last]] != SPACE:
            last += ONE
        for size in range(rules.low, rules.high + ONE):
            if last + ONE - first <= np.uintp(size):  # a short word counts once
                froms[m], tos[m] = starts[first], starts[last + ONE]
                m += ONE
                break
            m = _runs(starts, first, last + ONE, np.uintp(size), np.uintp(0), froms, tos, m)
        first = last
    return m
