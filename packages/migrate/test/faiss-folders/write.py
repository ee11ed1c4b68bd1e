"""Writes the folders beside it with faiss-cpu: pip install faiss-cpu && python write.py

Each has a faiss.index with the vectors of vectors.json. The tests write the docstore as
LangChain's FaissStore does.
"""

import json
from pathlib import Path

import faiss
import numpy as np

here = Path(__file__).parent
vectors = np.random.default_rng(7).normal(size=(40, 6)).astype("float32")
indexes = {
    "flat": faiss.IndexFlatL2(6),
    "flat-ip": faiss.IndexFlatIP(6),
    "hnsw-flat": faiss.IndexHNSWFlat(6, 8),
    "ivf": faiss.IndexIVFFlat(faiss.IndexFlatL2(6), 6, 1),
}
for name, index in indexes.items():
    if not index.is_trained:
        index.train(vectors)
    index.add(vectors)
    (here / name).mkdir(exist_ok=True)
    faiss.write_index(index, str(here / name / "faiss.index"))
(here / "vectors.json").write_text(json.dumps(vectors.tolist()) + "\n")
