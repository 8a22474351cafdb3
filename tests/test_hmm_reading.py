"""Sequences in every shape are one table of steps, and answers come back in that shape."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suffice.reading.sequences import sequences_of

A, B, C = np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), np.arange(4.0).reshape(2, 2)


def test_a_list_of_arrays():
    found = sequences_of([A, B, C])
    np.testing.assert_array_equal(found.offsets, [0, 3, 3, 5])
    np.testing.assert_array_equal(found.table, np.vstack([A, C]))
    back = found.unread(np.arange(5))
    assert [part.tolist() for part in back] == [[0, 1, 2], [], [3, 4]]
    np.testing.assert_array_equal(found.read([[0, 1, -1], [], [2, 2]], "states"), [0, 1, -1, 2, 2])


def test_strings_and_lists_of_symbols():
    for X in (["abc", "", "d"], [["a", "b", "c"], [], ["d"]], [("a", "b", "c"), (), ("d",)]):
        found = sequences_of(X)
        assert found.table.ravel().tolist() == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(found.offsets, [0, 3, 3, 4])
    assert sequences_of([["ab", None]]).table.ravel().tolist() == ["ab", None]


def test_lists_of_numbers_are_one_column():
    np.testing.assert_array_equal(sequences_of([[1, 2], [3]]).table, [[1], [2], [3]])
    np.testing.assert_array_equal(sequences_of([np.array([1.0, 2.0])]).table, [[1], [2]])


def test_padded_arrays_lose_their_tails_only():
    X = np.full((2, 4, 2), np.nan)
    X[0, :3], X[1, 2] = A, 1.0  # the second begins with two missing steps
    found = sequences_of(X)
    np.testing.assert_array_equal(found.lengths, [3, 3])
    back = found.unread(np.arange(6))
    np.testing.assert_array_equal(back, [[0, 1, 2, -1], [3, 4, 5, -1]])
    assert np.isnan(found.unread(np.ones((6, 5)))[0, 3]).all()
    np.testing.assert_array_equal(found.read(back, "states"), np.arange(6))


def test_frames_in_any_order():
    frame = pd.DataFrame({"who": ["b", "a", "b", "a"], "when": [2, 1, 1, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    found = sequences_of(frame, sequence="who", time="when")
    assert list(found.table.columns) == ["x"] and list(found.keys) == ["b", "a"]
    np.testing.assert_array_equal(found.table["x"], [3, 1, 4, 2])
    np.testing.assert_array_equal(found.unread(found.table["x"].to_numpy()), frame["x"])
    np.testing.assert_array_equal(found.read(frame["x"], "states"), [3, 1, 4, 2])


def test_lengths_and_one_sequence():
    np.testing.assert_array_equal(sequences_of(np.vstack([A, C]), lengths=[3, 0, 2]).offsets, [0, 3, 3, 5])
    np.testing.assert_array_equal(sequences_of(A).offsets, [0, 3])
    assert sequences_of(A).unread(np.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": A, "lengths": [1]}, "add up to 1, but X has 3"),
        ({"X": A, "lengths": [1.5, 1.5]}, "whole numbers"),
        ({"X": []}, "empty list"),
        ({"X": [A, np.zeros((2, 3))]}, "2 and 3 columns"),
        ({"X": [1.0, 2.0]}, "one entry for each sequence"),
        ({"X": A, "sequence": "who"}, "no DataFrame"),
        ({"X": pd.DataFrame({"x": [1]}), "sequence": "who"}, "not a column"),
        ({"X": pd.DataFrame({"x": [1], "who": [None]}), "sequence": "who"}, "missing cells"),
    ],
)
def test_what_is_no_sequence_is_told(arguments, message):
    with pytest.raises(ValueError, match=message):
        sequences_of(**arguments)


def test_states_of_other_lengths_are_told():
    with pytest.raises(ValueError, match="number 1 has not"):
        sequences_of([A, C]).read([[0, 0, 0], [1]], "states")
    with pytest.raises(ValueError, match="2 steps and X has 3"):
        sequences_of(A).read([0, 1], "states")
