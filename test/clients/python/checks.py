"""
What the published Python clients do against the service, unchanged: one line of JSON per check, with an error for those that fail.
The environment names the service: SEALDEX_TEST_URL, SEALDEX_TEST_KEY.
"""

import asyncio
import inspect
import json
import logging
import os
import sys
import time
import warnings

import numpy as np

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

import cyborgdb  # noqa: E402
from cyborgdb import Client  # noqa: E402
from cyborgdb.integrations.langchain import CyborgVectorStore  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402

version = tuple(int(part) for part in sys.argv[1].split("."))
url = os.environ["SEALDEX_TEST_URL"]
api_key = os.environ["SEALDEX_TEST_KEY"]
client = Client(base_url=url, api_key=api_key)
takes_config = "index_config" in inspect.signature(Client.create_index).parameters

checks = []
dimension = 16
rng = np.random.default_rng(7)
vectors = rng.standard_normal((200, dimension)).astype(np.float32)
metadata = [{"n": i, "kind": "odd" if i % 2 else "even", "tags": ["a", f"t{i % 5}"]} for i in range(200)]


def check(name, since=(0, 0), until=(99, 0)):
    """Registers a check for the versions that have what it is about: `since` included, `until` not."""

    def register(function):
        if since <= version < until:
            checks.append((name, function))
        return function

    return register


def create(name, config=None, **options):
    name = f"{sys.argv[1]} {name}"
    key = os.urandom(32)
    if takes_config and config is not None:
        options["index_config"] = config
    elif takes_config and version < (0, 13):
        options["index_config"] = cyborgdb.IndexIVFFlat(type="ivfflat", dimension=options.pop("dimension", None))
    elif takes_config and "dimension" in options:
        options["index_config"] = cyborgdb.IndexIVFFlat(dimension=options.pop("dimension"))
    return client.create_index(index_name=name, index_key=key, **options), name, key


def items():
    return [{"id": f"i{i}", "vector": vectors[i].tolist(), "metadata": metadata[i]} for i in range(len(vectors))]


def filled(name):
    index, name, key = create(name)
    index.upsert(items())
    return index, name, key


def ids_of(results):
    return [result["id"] for result in single(results)]


def single(results):
    """The results of one query: the oldest client sends every query as a batch."""
    return results[0] if results and isinstance(results[0], list) else results


def refused(function, *parts):
    """That the call raises, with one of the parts in the message."""
    try:
        function()
    except Exception as error:
        assert any(part in str(error) for part in parts), str(error)
        return error
    raise AssertionError("expected an error")


@check("health")
def _():
    health = client.get_health()
    assert (health if isinstance(health, dict) else json.loads(health.to_json()))["status"] == "healthy", health


@check("create, list, load, describe, delete an index")
def _():
    index, name, key = create("life", dimension=dimension)
    assert name in client.list_indexes()
    loaded = client.load_index(index_name=name, index_key=key)
    assert loaded.is_trained() is False
    if takes_config:
        assert loaded.index_type == "ivfflat", loaded.index_type
        assert loaded.index_config["dimension"] == dimension
        assert loaded.index_config["metric"] == "euclidean"
    else:
        assert (loaded.dimension, loaded.metric, loaded.n_lists) == (dimension, "euclidean", 1)
    index.delete_index()
    assert name not in client.list_indexes()


@check("the first vector decides the dimension")
def _():
    index, name, key = create("dimension")
    read = (lambda at: at.index_config["dimension"]) if takes_config else (lambda at: at.dimension)
    assert read(client.load_index(index_name=name, index_key=key)) == 0
    index.upsert(items()[:3])
    assert read(client.load_index(index_name=name, index_key=key)) == dimension


@check("every index type", until=(0, 17))
def _():
    for make, kind in [
        (lambda: cyborgdb.IndexIVFFlat(type="ivfflat", dimension=dimension), "ivfflat"),
        (lambda: cyborgdb.IndexIVFPQ(type="ivfpq", dimension=dimension, pq_dim=8, pq_bits=8), "ivfpq"),
    ] + ([(lambda: cyborgdb.IndexIVF(type="ivf", dimension=dimension), "ivf")] if hasattr(cyborgdb, "IndexIVF") else []):
        index, name, key = create(f"type {kind}", make())
        index.upsert(items())
        assert client.load_index(index_name=name, index_key=key).index_type == kind
        assert ids_of(index.query(query_vectors=vectors[5].tolist(), top_k=1)) == ["i5"]


@check("ivfsq", since=(0, 15), until=(0, 17))
def _():
    index, *_ = create("ivfsq", cyborgdb.IndexIVFSQ(dimension=dimension))
    index.upsert(items())
    assert ids_of(index.query(query_vectors=vectors[5].tolist(), top_k=1)) == ["i5"]


@check("every metric")
def _():
    for metric in ["euclidean", "squared_euclidean", "cosine"]:
        index, *_ = create(f"metric {metric}", metric=metric)
        index.upsert(items())
        nearest = single(index.query(query_vectors=vectors[5].tolist(), top_k=2, include=["distance"]))
        assert nearest[0]["id"] == "i5" and nearest[0]["distance"] < 1e-5 < nearest[1]["distance"], nearest


@check("upsert dictionaries with vectors, contents and metadata")
def _():
    index, *_ = create("dictionaries")
    index.upsert([
        {"id": "a", "vector": vectors[0].tolist(), "contents": "text", "metadata": {"n": 1}},
        {"id": "b", "vector": vectors[1].tolist(), "contents": b"\x00\xff"},
    ])
    a, b = index.get(["a", "b"])
    assert a["metadata"] == {"n": 1} and np.allclose(a["vector"], vectors[0], atol=0)
    assert a["contents"] in ("text", b"text"), a
    assert b["contents"] in ("AP8=", b"\x00\xff"), b


@check("upsert ids with lists of vectors")
def _():
    index, *_ = create("lists")
    index.upsert(["a", "b"], [vectors[0].tolist(), vectors[1].tolist()])
    assert sorted(index.list_ids()) == ["a", "b"]


@check("upsert ids with a numpy array")
def _():
    index, *_ = create("numpy")
    index.upsert([f"i{i}" for i in range(200)], vectors)
    assert np.array_equal(np.array(index.get(["i7"], include=["vector"])[0]["vector"], dtype=np.float32), vectors[7])
    index.upsert([0, 1], vectors[:2].astype(np.float64))
    assert len(index.list_ids()) == 202


@check("upsert_binary with metadata and contents", since=(0, 15))
def _():
    index, *_ = create("binary")
    index.upsert_binary(["a", "b"], vectors[:2], metadata=[{"n": 1}, None], contents=["text", "more"])
    a, b = index.get(["a", "b"])
    assert a["metadata"] == {"n": 1} and a["contents"] in ("text", b"text"), a
    assert not b["metadata"], b


@check("absent contents in upsert_binary", since=(0, 17))
def _():
    index, *_ = create("binary contents")
    index.upsert_binary(["a", "b"], vectors[:2], contents=[None, b"\x00"])
    a, b = index.get(["a", "b"], include=["contents"])
    assert not a["contents"] and b["contents"], (a, b)


@check("upsert replaces")
def _():
    index, *_ = filled("replaces")
    index.upsert([{"id": "i5", "vector": (vectors[5] + 100).tolist(), "metadata": {"n": -1}}])
    assert len(index.list_ids()) == 200
    assert index.get(["i5"], include=["metadata"])[0]["metadata"] == {"n": -1}


@check("20,000 items in one upsert")
def _():
    index, *_ = create("large")
    many = np.random.default_rng(1).standard_normal((20_000, 64)).astype(np.float32)
    index.upsert([{"id": f"i{i}", "vector": vector.tolist()} for i, vector in enumerate(many)])
    assert len(index.list_ids()) == 20_000


@check("100,000 vectors in one upsert of a numpy array", since=(0, 15))
def _():
    index, *_ = create("large numpy")
    many = np.random.default_rng(1).standard_normal((100_000, 32)).astype(np.float32)
    index.upsert([f"i{i}" for i in range(100_000)], many)
    assert ids_of(index.query(query_vectors=many[99_999], top_k=1)) == ["i99999"]


@check("query a list")
def _():
    index, *_ = filled("query")
    results = single(index.query(query_vectors=vectors[5].tolist(), top_k=3, include=["distance", "metadata"]))
    assert results[0]["id"] == "i5" and results[0]["distance"] == 0 and results[0]["metadata"] == metadata[5]
    assert len(results) == 3


@check("query lists")
def _():
    index, *_ = filled("query lists")
    results = index.query(query_vectors=vectors[3:5].tolist(), top_k=1)
    assert [ids_of(each) for each in results] == [["i3"], ["i4"]], results


@check("query a numpy vector")
def _():
    index, *_ = filled("query numpy")
    results = single(index.query(query_vectors=vectors[5], top_k=2, include=["distance"]))
    assert results[0]["id"] == "i5" and results[0]["distance"] == 0 and len(results) == 2, results


@check("query a numpy array, with filters and probes")
def _():
    index, *_ = filled("query batch")
    results = index.query(query_vectors=vectors[3:5], top_k=4, n_probes=8, filters={"kind": "odd"}, include=["metadata"], greedy=True)
    assert results[0][0]["id"] == "i3"
    assert all(each["metadata"]["kind"] == "odd" for each in results[1]), results


@check("query texts by an embedding model")
def _():
    index, *_ = create("texts", embedding_model="sealdex/lexical-512")
    index.upsert([{"id": "salmon", "contents": "The salmon swims."}, {"id": "keys", "contents": "Rotate encryption keys."}])
    assert ids_of(index.query(query_contents="encryption key", top_k=1)) == ["keys"]


@check("filters")
def _():
    index, *_ = filled("filters")
    cases = [
        ({"kind": "odd"}, lambda n: n % 2 == 1),
        ({"n": {"$gte": 10, "$lt": 14}}, lambda n: 10 <= n < 14),
        ({"n": {"$in": [1, 2, 500]}}, lambda n: n in (1, 2)),
        ({"n": {"$nin": list(range(5, 200))}}, lambda n: n < 5),
        ({"tags": "t3"}, lambda n: n % 5 == 3),
        ({"$or": [{"n": 1}, {"n": 7}]}, lambda n: n in (1, 7)),
        ({"$and": [{"kind": "even"}, {"n": {"$lte": 6}}]}, lambda n: n in (0, 2, 4, 6)),
        ({"missing": {"$exists": False}, "n": {"$ne": 3}}, lambda n: n != 3),
    ]
    for filters, matches in cases:
        results = single(
            index.query(query_vectors=vectors[0].tolist(), top_k=200, filters=filters, include=["metadata"])
        )
        assert sorted(each["metadata"]["n"] for each in results) == [n for n in range(200) if matches(n)], filters


@check("dates in metadata and filters", since=(0, 17))
def _():
    from datetime import date, datetime

    index, *_ = create("dates")
    index.upsert([{"id": f"d{day}", "vector": vectors[day].tolist(), "metadata": {"at": datetime(2025, 1, day)}} for day in range(1, 9)])
    results = index.query(query_vectors=vectors[0].tolist(), filters={"at": {"$gte": date(2025, 1, 7)}})
    assert sorted(ids_of(results)) == ["d7", "d8"], results


@check("top_k above the number of items")
def _():
    index, *_ = filled("top k")
    assert len(single(index.query(query_vectors=vectors[0].tolist(), top_k=20_000))) == 200


@check("get with fields, and ids that are not there")
def _():
    index, *_ = filled("get")
    assert ids_of(index.get(["i3", "nobody", "i1"], include=["metadata"])) == ["i3", "i1"]
    assert index.get([]) == []


@check("delete and list")
def _():
    index, *_ = filled("delete")
    index.delete(["i0", "nobody"])
    assert len(index.list_ids()) == 199 and "i0" not in index.list_ids()


@check("train, is_trained, is_training")
def _():
    index, *_ = filled("train")
    index.train(n_lists=8, batch_size=512, max_iters=10, tolerance=1e-4)
    assert index.is_trained() is True
    assert index.is_training() is False
    assert ids_of(index.query(query_vectors=vectors[5].tolist(), top_k=1, n_probes=8)) == ["i5"]


@check("train an empty index, and with more lists than items")
def _():
    index, *_ = create("train empty")
    index.train()
    index.upsert(items())
    index.train(n_lists=1000)


@check("queries by metadata alone", since=(0, 18))
def _():
    index, *_ = filled("metadata")
    assert sorted(ids_of(index.query_metadata(filters={"n": {"$lt": 3}}))) == ["i0", "i1", "i2"]
    assert ids_of(index.query_metadata(filters={"kind": "odd"}, order_by="n", ascending=False, top_k=2)) == ["i199", "i197"]
    assert ids_of(index.query_metadata(order_by={"n": 1}, top_k=2)) == ["i0", "i1"]
    assert len(index.query_metadata()) == 200


@check("users of an index", since=(0, 17))
def _():
    index, name, key = filled("users")
    reader = index.create_user(["read"])
    assert [user["permissions"] for user in index.list_users()] == [["read"]]
    theirs = Client(base_url=url, api_key=reader["api_key"]).load_index(index_name=name, index_key=key)
    assert ids_of(theirs.query(query_vectors=vectors[5].tolist(), top_k=1)) == ["i5"]
    refused(lambda: theirs.upsert(items()[:1]), "403")
    index.delete_user(reader["user_id"])
    assert index.list_users() == []
    refused(lambda: theirs.query(query_vectors=vectors[5].tolist()), "401")


@check("wrong API key, wrong index key, a name that is taken, unknown index, wrong dimension")
def _():
    index, name, key = filled("refused")
    refused(Client(base_url=url, api_key="wrong").list_indexes, "401")
    refused(lambda: client.create_index(index_name=name, index_key=key), "409", "ValidationError", "validation")
    refused(lambda: index.upsert([{"id": "a", "vector": [1.0, 2.0]}]), "422", "dimension")
    if version >= (0, 17):
        refused(lambda: client.load_index(index_name=name, index_key=os.urandom(32)), "403")
        refused(lambda: client.load_index(index_name="nobody", index_key=key), "404")
    else:
        # These versions give out an index of an unknown type.
        assert client.load_index(index_name=name, index_key=os.urandom(32)).index_type == "unknown"


@check("errors of invalid requests say what is wrong")
def _():
    index, *_ = filled("errors")
    error = refused(lambda: index.upsert([{"id": "a", "vector": [1.0, 2.0]}]), "422", "expected")
    assert "expected" in str(error), error


@check("fields that are not supported are refused", since=(0, 17))
def _():
    refused(lambda: client.create_index(index_name="kms", kms_name="slot"), "kms_name")


class Words(Embeddings):
    """Texts with the same first letter are near one another."""

    def embed_query(self, text):
        vector = np.full(dimension, 0.01)
        vector[ord(text[0].lower()) % dimension] = 1
        return vector.tolist()

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


def store(name, **options):
    return CyborgVectorStore(
        index_name=f"{sys.argv[1]} {name}", index_key=os.urandom(32), api_key=api_key, base_url=url, embedding=Words(), **options
    )


texts = ["apple", "banana", "cherry", "date"]


@check("LangChain: add, search, scores, get, delete")
def _():
    at = store("store")
    ids = at.add_texts(texts, metadatas=[{"n": i} for i in range(4)])
    assert len(ids) == 4
    assert at.similarity_search("apricot", k=1)[0].page_content == "apple"
    [(document, score)] = at.similarity_search_with_score("banana", k=1)
    assert document.metadata["n"] == 1 and score > 0.99, (document, score)
    assert [each.page_content for each in at.similarity_search_by_vector(Words().embed_query("cherry"), k=1)] == ["cherry"]
    assert [each.page_content for each in at.get(ids[:1])] == ["apple"]
    assert sorted(at.list_ids()) == sorted(ids)
    assert at.delete(ids[:1]) is True and len(at.list_ids()) == 3


@check("LangChain: filters and retriever")
def _():
    at = store("retriever")
    at.add_texts(texts, metadatas=[{"n": i} for i in range(4)])
    found = at.similarity_search("apple", k=4, filter={"n": {"$gte": 2}})
    assert sorted(each.metadata["n"] for each in found) == [2, 3], found
    assert at.as_retriever(search_kwargs={"k": 1}).invoke("date")[0].page_content == "date"


@check("LangChain: from_texts, and the same index again")
def _():
    key = os.urandom(32)
    options = dict(index_name=f"{sys.argv[1]} from", index_key=key, api_key=api_key, base_url=url)
    CyborgVectorStore.from_texts(texts, Words(), **options)
    again = CyborgVectorStore(embedding=Words(), **options)
    assert again.similarity_search("banana", k=1)[0].page_content == "banana"


@check("LangChain: asynchronous methods")
def _():
    async def run():
        at = store("async")
        ids = await at.aadd_texts(texts)
        assert (await at.asimilarity_search("date", k=1))[0].page_content == "date"
        assert (await at.asimilarity_search_with_score("date", k=1))[0][1] > 0.99
        await at.adelete(ids)
        assert at.list_ids() == []

    asyncio.run(run())


for name, function in checks:
    outcome = {"check": name}
    begin = time.monotonic()
    try:
        function()
    except Exception as error:
        outcome["error"] = f"{type(error).__name__}: {error}"[:2000]
    outcome["ms"] = round(1000 * (time.monotonic() - begin))
    print(json.dumps(outcome), flush=True)
