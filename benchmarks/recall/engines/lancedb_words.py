"""LanceDB with its own index of words: searched by words, or by words and vectors as it puts them together by default.

Run: ``python lancedb_words.py FOLDER words|both COUNT``, with the interpreter of LanceDB's environment. The folder has
``rows.npy`` and ``queries.npy``, unit vectors, and ``texts.json``: the texts of both. Prints a list of rows a query.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS


def filled(folder: Path, texts: list[str]) -> Any:
    rows = np.load(folder / "rows.npy")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    columns = {"id": range(len(texts)), "text": texts, "vector": vectors}
    table = lancedb.connect(folder / "lancedb").create_table("turns", pa.table(columns), mode="overwrite")
    table.create_index("text", config=FTS())
    return table


def main(folder: Path, how: str, count: int) -> None:
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    table, answers = filled(folder, texts["rows"]), []
    for text, vector in zip(texts["queries"], np.load(folder / "queries.npy"), strict=True):
        if how == "words":
            asked = table.search(text, query_type="fts")
        else:
            asked = table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        answers.append([found["id"] for found in asked.limit(count).to_list()])
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
