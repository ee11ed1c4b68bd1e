"""Measures a native library on one data set; prints a JSON line for each setting, as measure.mjs does.

    native.py ENGINE FOLDER DIMENSION K ...

FOLDER holds base.f32, queries.f32 and nearest.i32 (the nearest rows of each query). Vectors are compared by Euclidean
distance. One thread, one query at a time; 2 to 5 microseconds of each are the call from Python.
"""

import json
import os
import pathlib
import resource
import sys
import time

import numpy

RUNS = 3
# Queries of one run take about this long at most.
RUN_SECONDS = 4


def rabitq_ivf(base, lists):
    import rabitqlib

    exact = rabitqlib.FinalAssignmentMode.Exact
    means = rabitqlib.RaBitQKMeans(base.shape[1], lists, num_threads=os.cpu_count(), final_assignment=exact)
    means.train(base)
    index = rabitqlib.IvfIndex(
        dim=base.shape[1], max_elements=len(base), num_clusters=lists, nbits=32, metric="l2"
    )
    index.build(base, means.centroids, means.assignments, num_threads=os.cpu_count())

    def settings(k):
        for probes in (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256):
            yield probes, lambda query: index.search(query, k, probes)[0]

    return settings


def rabitq_graph(base, lists):
    import rabitqlib

    degree = 64 if base.shape[1] <= 256 else 32
    index = rabitqlib.SymqgIndex(dim=base.shape[1], max_degree=degree, metric="l2")
    index.build(base, 200, num_threads=os.cpu_count())

    def settings(k):
        for times in (1, 1.5, 2, 3, 4, 6, 8, 12, 20):
            expansion = round(times * k)
            yield expansion, lambda query: index.search(query, k, expansion)[0]

    return settings


def scann_soar(base, lists):
    import scann

    if abs(numpy.linalg.norm(base, axis=1) - 1).max() > 1e-3:
        sys.exit("error: SOAR is for vectors that are compared by cosine")
    builder = scann.scann_ops_pybind.builder(base, 10, "dot_product").set_n_training_threads(os.cpu_count())
    builder = builder.tree(
        num_leaves=lists,
        num_leaves_to_search=50,
        training_sample_size=len(base),
        soar_lambda=1.5,
        overretrieve_factor=2.0,
        spherical=True,
    )
    searcher = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()

    def settings(k):
        for leaves in (8, 16, 32, 64, 96, 128, 192):
            for reordered in (3 * k, 6 * k):
                yield f"{leaves}, {reordered}", lambda query: searcher.search(
                    query[0],
                    final_num_neighbors=k,
                    pre_reorder_num_neighbors=reordered,
                    leaves_to_search=leaves,
                )[0][None]

    return settings


def faiss_refined(codes):
    def open_index(base, lists):
        import faiss

        index = faiss.index_factory(base.shape[1], f"IVF{lists},{codes(base.shape[1])},Refine(Flat)")
        index.train(base)
        index.add(base)
        faiss.omp_set_num_threads(1)
        inner = faiss.downcast_index(index.base_index)

        def settings(k):
            for probes in (8, 16, 24, 32, 48, 64, 96, 128):
                for factor in (5, 10, 20):
                    inner.nprobe, index.k_factor = probes, factor
                    yield f"{probes}, {factor}", lambda query: index.search(query, k)[1]

        return settings

    return open_index


def faiss_hnsw(base, lists):
    import faiss

    index = faiss.index_factory(base.shape[1], "HNSW16,Flat")
    index.add(base)
    faiss.omp_set_num_threads(1)

    def settings(k):
        for times in (1, 2, 4, 8, 16):
            index.hnsw.efSearch = times * k
            yield times * k, lambda query: index.search(query, k)[1]

    return settings


ENGINES = {
    "rabitqlib IVF": rabitq_ivf,
    "rabitqlib SymphonyQG": rabitq_graph,
    "ScaNN": scann_soar,
    "FAISS IVF, PQfs": faiss_refined(lambda dimension: f"PQ{dimension // 2}x4fs"),
    "FAISS IVF, RaBitQfs": faiss_refined(lambda dimension: "RaBitQfs"),
    "FAISS HNSW": faiss_hnsw,
}


def measure(search, base, queries, nearest):
    """Rows that are as near as the last of the nearest count as found: of rows that are equal, any does."""
    k = nearest.shape[1]
    squares = lambda i, rows: ((base[rows] - queries[i]) ** 2).sum(axis=1)
    farthest = [squares(i, rows[rows >= 0]).max(initial=0) * (1 + 1e-5) + 1e-9 for i, rows in enumerate(nearest)]
    warming = min(50, len(queries))
    started = time.perf_counter()
    for i in range(warming):
        search(queries[i : i + 1])
    each = (time.perf_counter() - started) / warming
    count = min(len(queries), max(10, int(RUN_SECONDS / each)))
    times, rates = [], []
    for _ in range(RUNS):
        hits, run = 0, []
        for i in range(count):
            start = time.perf_counter()
            found = search(queries[i : i + 1])
            run.append(time.perf_counter() - start)
            rows = numpy.unique(numpy.asarray(found[0], numpy.int64))
            hits += int((squares(i, rows[rows >= 0]) <= farthest[i]).sum())
        rates.append(len(run) / sum(run))
        times += run
    return {
        "k": k,
        "recall": hits / count / k,
        "queriesPerSecond": sorted(rates)[RUNS // 2],
        "p50": float(numpy.median(times)) * 1e6,
        "p99": float(numpy.percentile(times, 99)) * 1e6,
    }


def main():
    name, folder, dimension = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    base = numpy.fromfile(folder / "base.f32", numpy.float32).reshape(-1, dimension)
    queries = numpy.fromfile(folder / "queries.f32", numpy.float32).reshape(-1, dimension)
    nearest = numpy.fromfile(folder / "nearest.i32", numpy.int32).reshape(len(queries), -1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    settings = ENGINES[name](base, round(2 * numpy.sqrt(len(base))))
    built = {
        "buildSeconds": time.perf_counter() - started,
        "buildCpuSeconds": time.process_time() - cpu,
        "rssBytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
    }
    for k in map(int, sys.argv[4:]):
        for setting, search in settings(k):
            line = {"engine": name, "n": len(base), "dimension": dimension, "setting": str(setting), "diskBytes": 0}
            print(json.dumps(line | measure(search, base, queries, nearest[:, :k]) | built), flush=True)


main()
