"""The vectors of the benchmarks, and the right answers."""

import numpy as np

from benchmarks.conversations import questions, turns
from benchmarks.vectors import Truth, VectorFiles, write_vectors


def truth(tmp_path, rows, queries):
    np.save(tmp_path / "rows.npy", np.array(rows, dtype=np.float32))
    np.save(tmp_path / "queries.npy", np.array(queries, dtype=np.float32))
    return Truth(VectorFiles("made", tmp_path / "rows.npy", tmp_path / "queries.npy"), top_k=2)


def test_recall_is_the_share_of_right_rows(tmp_path):
    right = truth(tmp_path, [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    assert right.recall([[0, 1], [2, 1]]) == 1.0
    assert right.recall([[0, 2], [2, 1]]) == 0.75
    assert right.recall([[0, 0], [2, 1]]) == 0.75
    assert right.recall([[1, 0]]) == 1.0


def test_rows_with_equal_scores_are_equally_right(tmp_path):
    right = truth(tmp_path, [[1.0, 0.0], [0.6, 0.8], [0.6, 0.8]], [[1.0, 0.0]])
    assert right.recall([[0, 1]]) == right.recall([[0, 2]]) == 1.0


def test_made_vectors_are_of_unit_length(tmp_path):
    files = write_vectors(tmp_path, 10_001, kept=tmp_path)
    rows = np.load(files.rows)
    assert rows.shape == (10_001, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_made_turns_differ_and_are_the_same_in_each_run():
    assert len(set(turns(10_000))) == 10_000
    assert turns(10) == turns(10)
    assert len(set(questions(60))) == 60
