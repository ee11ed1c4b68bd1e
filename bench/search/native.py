"""Measures a native library on one data set; prints a JSON line for each setting, as measure.mjs does.

    native.py ENGINE FOLDER DIMENSION

FOLDER holds base.f32, queries.f32 and nearest.i32 (the ten nearest rows of each query). Vectors are compared by Euclidean
distance. One thread, one query at a time; 2 to 5 microseconds of each are the call from Python.
"""

import json
import os
import pathlib
import resource
import sys
import time

import numpy

NEIGHBOURS = 10
RUNS = 3


def rabitq_ivf(base, lists):
    import rabitqlib

    exact = rabitqlib.FinalAssignmentMode.Exact
    means = rabitqlib.RaBitQKMeans(base.shape[1], lists, num_threads=os.cpu_count(), final_assignment=exact)
    means.train(base)
    index = rabitqlib.IvfIndex(
        dim=base.shape[1], max_elements=len(base), num_clusters=lists, nbits=32, metric="l2"
    )
    index.build(base, means.centroids, means.assignments, num_threads=os.cpu_count())
    for probes in (4, 8, 12, 16, 24, 32, 48, 64):
        yield probes, lambda query: index.search(query, NEIGHBOURS, probes)[0]


def rabitq_graph(base, lists):
    import rabitqlib

    degree = 64 if base.shape[1] <= 256 else 32
    index = rabitqlib.SymqgIndex(dim=base.shape[1], max_degree=degree, metric="l2")
    index.build(base, 200, num_threads=os.cpu_count())
    for expansion in (10, 15, 20, 30, 40, 60, 80, 120):
        yield expansion, lambda query: index.search(query, NEIGHBOURS, expansion)[0]


def faiss_refined(codes):
    def open_index(base, lists):
        import faiss

        index = faiss.index_factory(base.shape[1], f"IVF{lists},{codes(base.shape[1])},Refine(Flat)")
        index.train(base)
        index.add(base)
        faiss.omp_set_num_threads(1)
        inner = faiss.downcast_index(index.base_index)
        for probes in (8, 16, 24, 32, 48, 64):
            for factor in (5, 10, 20):
                inner.nprobe, index.k_factor = probes, factor
                yield f"{probes}, {factor}", lambda query: index.search(query, NEIGHBOURS)[1]

    return open_index


def faiss_hnsw(base, lists):
    import faiss

    index = faiss.index_factory(base.shape[1], "HNSW16,Flat")
    index.add(base)
    faiss.omp_set_num_threads(1)
    for expansion in (10, 20, 40, 80, 160):
        index.hnsw.efSearch = expansion
        yield expansion, lambda query: index.search(query, NEIGHBOURS)[1]


ENGINES = {
    "rabitqlib IVF": rabitq_ivf,
    "rabitqlib SymphonyQG": rabitq_graph,
    "FAISS IVF, PQfs": faiss_refined(lambda dimension: f"PQ{dimension // 2}x4fs"),
    "FAISS IVF, RaBitQfs": faiss_refined(lambda dimension: "RaBitQfs"),
    "FAISS HNSW": faiss_hnsw,
}


def measure(search, queries, nearest):
    for i in range(min(50, len(queries))):
        search(queries[i : i + 1])
    times, rates = [], []
    for _ in range(RUNS):
        hits, run = 0, []
        for i in range(len(queries)):
            start = time.perf_counter()
            found = search(queries[i : i + 1])
            run.append(time.perf_counter() - start)
            hits += len(numpy.intersect1d(found[0], nearest[i]))
        rates.append(len(run) / sum(run))
        times += run
    return {
        "recall": hits / nearest.size,
        "queriesPerSecond": sorted(rates)[RUNS // 2],
        "p50": float(numpy.median(times)) * 1e6,
        "p99": float(numpy.percentile(times, 99)) * 1e6,
    }


def main():
    name, folder, dimension = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    base = numpy.fromfile(folder / "base.f32", numpy.float32).reshape(-1, dimension)
    queries = numpy.fromfile(folder / "queries.f32", numpy.float32).reshape(-1, dimension)
    nearest = numpy.fromfile(folder / "nearest.i32", numpy.int32).reshape(-1, NEIGHBOURS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    built = None
    for setting, search in ENGINES[name](base, round(2 * numpy.sqrt(len(base)))):
        built = built or {
            "buildSeconds": time.perf_counter() - started,
            "buildCpuSeconds": time.process_time() - cpu,
            "rssBytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
        }
        line = {"engine": name, "n": len(base), "dimension": dimension, "setting": str(setting), "diskBytes": 0}
        print(json.dumps(line | measure(search, queries, nearest) | built), flush=True)


main()
