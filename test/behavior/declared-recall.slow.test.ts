import type { DeclaredRecall } from "../../src/api/vector-index.js";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { type Client, createClient, generateKey, type IndexType, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { gaussian, uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { cases, repeats } from "../tier.js";
import { filtersOf, loadSet, type RecallSet, setsOnDisk, smallest, squaresTo } from "./recall-sets.js";

const synthetic = cases({ fast: ["skewed"], all: ["skewed", "clustered", "uniform"] });
const names = [...synthetic, ...(inject("tier") === "all" ? setsOnDisk() : [])];
const n = repeats("SEALDEX_RECALL_ROWS", { fast: 8_000, all: 16_000 });
const queryCount = repeats("SEALDEX_RECALL_QUERIES", { fast: 400, all: 600 });
const declared = cases({ fast: [0.9, 0.99], all: [0.9, 0.95, 0.98, 0.99] });
const types: readonly IndexType[] = ["ivfflat", "ivf", "ivfpq"];
/** The most that a measured recall may be below the declared one. */
const slack = 0.01;
/** By how much more it may be below because a later training measures with rows that a random key chooses, of small indexes some hundred. */
const chance = 0.01;
/** The most that it may be above for ten neighbors, without a filter, if queries are like rows. */
const excess = 0.03;
const [measuredFilters] = cases({ fast: [/^(all|25 % bound) /], all: [/^(all|25|5) /] });

const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

type Rows = readonly Float32Array[];

async function newIndex({ metric }: Pick<RecallSet, "metric">, type: IndexType = "ivfflat") {
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  clients.push(client);
  const pq = { type: "ivfpq", pqBits: 8, pqDim: 4 } as const;
  const indexConfig = type === "ivfpq" ? pq : { type };
  return client.createIndex({ indexName: "declared", indexKey: generateKey(), metric, indexConfig });
}

/** Ids are positions, from `first` on. */
async function add(
  index: VectorIndex,
  rows: Rows,
  first = 0,
  metadata: (row: number) => object = () => ({}),
) {
  for (let start = 0; start < rows.length; start += 5000) {
    const items = rows.slice(start, start + 5000).map((vector, i) => {
      const row = first + start + i;
      return { id: `${row}`, vector, metadata: { ...metadata(row) } };
    });
    await index.upsert(items);
  }
}

/** Per query, the squared distances of all rows, and the smallest of those that are there, ascending. */
type Truth = readonly { readonly squares: Float64Array; readonly nearest: Float64Array }[];

const distances = (set: RecallSet) => set.queries.map((query) => squaresTo(set, query));

function truthOf(
  squares: readonly Float64Array[],
  isThere: (row: number) => boolean = () => true,
  count = 100,
): Truth {
  return squares.map((all) => ({ squares: all, nearest: smallest(all, isThere, count) }));
}

/** The share of the `topK` nearest rows, or rows as near, that queries of this recall find. */
async function measured(
  index: VectorIndex,
  { queries }: RecallSet,
  truth: Truth,
  asked: { readonly recall: DeclaredRecall; readonly topK: number; readonly filter?: object },
): Promise<number> {
  let found = 0;
  let wanted = 0;
  for (const [i, queryVector] of queries.slice(0, asked.topK > 10 ? 150 : queries.length).entries()) {
    const { squares, nearest } = truth[i];
    const count = Math.min(asked.topK, nearest.length);
    const farthest = nearest[count - 1] * (1 + 1e-6) + 1e-9;
    const matches = await index.query({ queryVector, ...asked, include: [] });
    found += matches.filter(({ id }) => squares[Number(id)] <= farthest).length;
    wanted += count;
  }
  return found / wanted;
}

/** For each declared recall, the share that queries find of what a scan of everything finds. */
async function sharesOfExact(index: VectorIndex, queryVectors: Rows, topK: number) {
  const exact = await index.query({ queryVectors, topK, recall: "exact", include: [] });
  const wanted = exact.map((matches) => new Set(matches.map(({ id }) => id)));
  const shares: { recall: number; share: number }[] = [];
  for (const recall of declared) {
    let found = 0;
    for (const [i, queryVector] of queryVectors.entries()) {
      const matches = await index.query({ queryVector, topK, recall, include: [] });
      found += matches.filter(({ id }) => wanted[i].has(id)).length;
    }
    shares.push({ recall, share: found / (topK * queryVectors.length) });
  }
  return shares;
}

describe.each(names)("of %s vectors", (name) => {
  const set = loadSet(name, n, queryCount);
  let squares: Float64Array[] = [];
  beforeAll(() => void (squares = distances(set)));
  afterAll(() => void (squares = []));

  test("a query finds the share of neighbors that it declares, with and without a filter", async () => {
    const filters = filtersOf(set).filter(({ name: filter }) => measuredFilters.test(filter));
    const index = await newIndex(set);
    const metadata = (row: number) =>
      Object.fromEntries(filters.map(({ accepts }, i) => [`f${i}`, accepts[row]]));
    await add(index, set.rows, 0, metadata);
    await index.train();
    const low: string[] = [];
    const high: string[] = [];
    for (const [i, { name: filter, accepts }] of filters.entries()) {
      const truth = truthOf(squares, (row) => accepts[row]);
      for (const topK of [1, 10, 100]) {
        for (const recall of declared) {
          const asked = { recall, topK, filter: { [`f${i}`]: true } };
          const share = await measured(index, set, truth, asked);
          const found = `${filter}, k = ${topK}: ${share} of ${recall}`;
          if (share < recall - slack) low.push(found);
          if (i === 0 && topK === 10 && share > recall + excess) high.push(found);
        }
      }
    }
    expect(low).toEqual([]);
    if (synthetic.includes(name)) expect(high).toEqual([]);
  });

  test.each(types.filter((type) => type !== "ivfflat"))(
    "in codes of %s, of the neighbors that a scan of all codes finds",
    async (type) => {
      const index = await newIndex(set, type);
      await add(index, set.rows);
      await index.train();
      const truth = truthOf(squares);
      const all = await measured(index, set, truth, { recall: "exact", topK: 10 });
      for (const recall of declared) {
        const share = await measured(index, set, truth, { recall, topK: 10 });
        expect(share).toBeGreaterThanOrEqual(all * (recall - slack));
      }
    },
  );
});

const regrown = cases({ fast: ["flat"], all: ["flat", ...names] });

describe.each(types.filter((type) => type !== "ivfflat"))(
  "an index of %s that has grown fourfold",
  (type) => {
    test.each(regrown)(
      "reaches its declared recall after retraining, relative to a scan of all codes of %s vectors",
      async (name) => {
        const set = loadSet(name, Math.min(n, 16_000), queryCount);
        const rows = set.rows.slice(0, 16_000);
        const index = await newIndex(set, type);
        await add(index, rows.slice(0, rows.length / 4));
        await index.train();
        await add(index, rows.slice(rows.length / 4), rows.length / 4);
        await index.train();
        for (const topK of [10, 100]) {
          const queries = set.queries.slice(0, topK > 10 ? 150 : queryCount);
          for (const { recall, share } of await sharesOfExact(index, queries, topK)) {
            expect(share).toBeGreaterThanOrEqual(recall - slack - chance);
          }
        }
      },
    );
  },
);

test.each<[IndexType, number]>([
  ["ivf", 1],
  ["ivf", 2],
  // Codes of one bit per component.
  ["ivfpq", 1],
  ["ivfpq", 2],
])(
  "an index of %s that was trained %i times reaches its declared recall, relative to a scan of all codes",
  async (type, trainings) => {
    const d = 32;
    const rows = rowsOf(uniform(12_600, d, 9), d);
    const queries = rows.splice(12_000);
    const index = await newIndex({ metric: "euclidean" }, type);
    await add(index, rows);
    // From the second one on, training knows rows as their codes alone.
    for (let i = 0; i < trainings; i++) await index.train();
    for (const { recall, share } of await sharesOfExact(index, queries, 10)) {
      expect(share).toBeGreaterThanOrEqual(recall - slack);
    }
  },
);

/** 8,000 rows of which many are equal, or nearly, and queries like those that are not. */
const repeated: readonly [string, (distinct: Rows, random: () => number) => Float32Array[]][] = [
  [
    "of which each occurs 20 times",
    (distinct) => distinct.slice(0, 400).flatMap((row) => Array(20).fill(row)),
  ],
  [
    "of which each has 20 near copies",
    (distinct, random) =>
      distinct
        .slice(0, 400)
        .flatMap((row) => Array.from({ length: 20 }, () => row.map((x) => x + 0.01 * random()))),
  ],
  [
    "of which half are equal",
    (distinct) => [...distinct.slice(0, 4000), ...Array(4000).fill(distinct[4000])],
  ],
];

describe.each(repeated)("an index of rows %s", (_, rowsFrom) => {
  test.each(types)("reaches its declared recall, as %s", async (type) => {
    const d = 32;
    const vectors = rowsOf(uniform(4500, d, 12), d);
    const queries = vectors.splice(4200);
    const index = await newIndex({ metric: "euclidean" }, type);
    await add(index, rowsFrom(vectors, seededRandom(4)));
    await index.train({ nLists: 80 });
    for (const topK of [10, 100]) {
      const exact = await index.query({
        queryVectors: queries,
        topK,
        recall: "exact",
        include: ["distance"],
      });
      for (const recall of declared) {
        let found = 0;
        for (const [i, queryVector] of queries.entries()) {
          const matches = await index.query({ queryVector, topK, recall, include: ["distance"] });
          found += matches.filter(({ distance }) => distance <= exact[i][topK - 1].distance).length;
        }
        expect(found / (topK * queries.length)).toBeGreaterThanOrEqual(recall - slack - chance);
      }
    }
  });
});

test("a query for more neighbors than there are near one another reaches its declared recall", async () => {
  const [d, size, count] = [256, 50, 120];
  const random = seededRandom(11);
  const draw = () => Float32Array.from({ length: d }, () => gaussian(random));
  const centres = Array.from({ length: count }, draw);
  const near = (i: number) => draw().map((x, j) => centres[i % count][j] + 0.5 * x);
  const rows = Array.from({ length: size * count }, (_, i) => near(i));
  const set: RecallSet = { metric: "cosine", rows, queries: Array.from({ length: 200 }, (_, i) => near(i)) };
  const index = await newIndex(set);
  await add(index, set.rows);
  await index.train({ nLists: 110 });
  const truth = truthOf(distances(set));
  for (const topK of [50, 60, 100]) {
    for (const recall of declared) {
      const share = await measured(index, set, truth, { recall, topK });
      expect(share, `${topK}, ${recall}`).toBeGreaterThanOrEqual(recall - slack);
    }
  }
});

test.each(["euclidean", "cosine"] as const)(
  "rows that one component puts 1,000 standard deviations from the origin are found as often as declared, %s",
  async (metric) => {
    const random = seededRandom(3);
    const vector = () => Float32Array.from({ length: 16 }, (_, i) => (i === 0 ? 1000 : 0) + gaussian(random));
    const index = await newIndex({ metric });
    await add(index, Array.from({ length: 6000 }, vector));
    await index.train();
    const queryVectors = Array.from({ length: 300 }, vector);
    // Exact scores, since float32 has few bits left to distinguish these rows.
    const exact = await index.query({ queryVectors, topK: 10, recall: "exact" });
    for (const recall of [0.8, 0.95]) {
      const found = await index.query({ queryVectors, topK: 10, recall });
      const shares = found.map((matches, i) => {
        const farthest = exact[i][9].distance;
        return matches.filter(({ distance }) => distance <= farthest).length / 10;
      });
      expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(recall - 0.03);
    }
  },
);

test.each([1, 300])(
  "%i rows that are a billion times as far away as the others widen no limits",
  async (count) => {
    const random = seededRandom(5);
    const vector = () => Float32Array.from({ length: 16 }, () => gaussian(random));
    const far = Array.from({ length: count }, () => vector().map((value) => 1e9 * value));
    const rows = [...far, ...Array.from({ length: 6000 }, vector)];
    const set: RecallSet = { metric: "euclidean", rows, queries: Array.from({ length: 200 }, vector) };
    const index = await newIndex(set);
    await add(index, rows);
    await index.train();
    const share = await measured(index, set, truthOf(distances(set)), { recall: 0.9, topK: 10 });
    expect(share).toBeGreaterThanOrEqual(0.9 - slack);
    const [{ nLists }, { profile }] = await Promise.all([
      index.describe(),
      index.query({ queryVectors: set.queries, recall: 0.9, topK: 10, include: ["profile"] }),
    ]);
    // A ninth of the lists, without those rows.
    expect(profile.lists / set.queries.length).toBeLessThan(nLists / 4);
  },
);

test("zero vectors under cosine, which are near to nothing, widen no limits", async () => {
  const d = 24;
  const vectors = rowsOf(uniform(6000, d, 5), d);
  /** Lists for 0.8 of 100 neighbors. */
  const listsFor = async (zeros: number) => {
    const index = await newIndex({ metric: "cosine" });
    await add(index, [...vectors, ...Array.from({ length: zeros }, () => new Float32Array(d))]);
    await index.train({ nLists: 80 });
    const { recallCurves = [] } = await index.describe();
    return recallCurves.find(({ topK }) => topK === 100)?.points[0].nProbes ?? 0;
  };
  expect(await listsFor(300)).toBeLessThanOrEqual(1.1 * (await listsFor(0)));
});

test.each(types)(
  "an index of %s of zero vectors alone is left as it is by a training, and finds them",
  async (type) => {
    const index = await newIndex({ metric: "cosine" }, type);
    await add(
      index,
      Array.from({ length: 300 }, () => new Float32Array(16)),
    );
    await index.train({ nLists: 4 });
    const found = await index.query({ queryVector: new Float32Array(16).fill(1), topK: 400, nProbes: 0 });
    expect(found.map(({ distance }) => distance)).toEqual(Array.from({ length: 300 }, () => 1));
  },
);

test.each(types)(
  "zero vectors outside of namespaces leave the items of %s in them as they are",
  async (type) => {
    const d = 16;
    const index = await newIndex({ metric: "cosine" }, type);
    await add(
      index,
      Array.from({ length: 100 }, () => new Float32Array(d)),
    );
    const rows = rowsOf(uniform(500, d, 5), d);
    await index.upsert(
      rows.map((vector, i) => ({ id: `${i}`, vector })),
      { namespace: "a" },
    );
    const ask = () => index.query({ queryVectors: rows.slice(0, 5), namespace: "a", recall: "exact" });
    const before = await ask();
    const { storedBytes } = await index.describe();
    await index.train();
    expect(await index.describe()).toMatchObject({ trained: false, storedBytes });
    expect(await ask()).toEqual(before);
  },
);

test.each(types)("an index of %s can be trained to more lists than rows that are not zero", async (type) => {
  const d = 64;
  const directed = rowsOf(uniform(9, d, 5), d);
  const index = await newIndex({ metric: "cosine" }, type);
  await add(index, [...directed, ...Array.from({ length: 300 }, () => new Float32Array(d))]);
  await index.train({ nLists: 12 });
  expect((await index.describe()).nLists).toBe(9);
  for (const [i, queryVector] of directed.entries()) {
    const [nearest] = await index.query({ queryVector, topK: 1 });
    expect(nearest.id).toBe(String(i));
  }
});

test.each(types)('recall "exact" of %s is a scan of everything', async (type) => {
  const set = loadSet("clustered", 3000, 20);
  const index = await newIndex(set, type);
  await add(index, set.rows);
  await index.train();
  for (const queryVector of set.queries) {
    const asked = { queryVector, topK: 25 };
    const exact = await index.query({ ...asked, recall: "exact" });
    expect(exact).toEqual(await index.query({ ...asked, nProbes: 65_536 }));
    if (type !== "ivfflat") continue;
    const squares = squaresTo(set, queryVector);
    const nearest = [...squares.keys()].sort((a, b) => squares[a] - squares[b]).slice(0, 25);
    expect(exact.map(({ id }) => Number(id))).toEqual(nearest);
  }
});

describe("of an index that changed since it was trained", () => {
  const set = loadSet("skewed", 8000, queryCount);
  const squares = distances(set);
  const truth = truthOf(squares);

  test.each([2, 3.9])(
    "a query reaches its declared recall after the index has grown %d times",
    async (growth) => {
      const index = await newIndex(set);
      const trained = Math.floor(set.rows.length / growth);
      await add(index, set.rows.slice(0, trained));
      await index.train({ nLists: 60 });
      await add(index, set.rows.slice(trained), trained);
      for (const recall of declared) {
        expect(await measured(index, set, truth, { recall, topK: 10 })).toBeGreaterThanOrEqual(
          recall - slack,
        );
      }
    },
  );

  test("a query reaches its declared recall among rows unlike those of training", async () => {
    const index = await newIndex(set);
    // Clusters of which training saw none.
    const known = (row: number) => set.rows[row][0] < 1;
    const rows = [...set.rows.keys()].sort((a, b) => Number(known(b)) - Number(known(a)));
    const ordered: RecallSet = { ...set, rows: rows.map((row) => set.rows[row]) };
    const trained = rows.filter(known).length;
    await add(index, ordered.rows.slice(0, trained));
    await index.train({ nLists: 60 });
    await add(index, ordered.rows.slice(trained), trained);
    for (const recall of declared) {
      const share = await measured(index, ordered, truthOf(distances(ordered)), { recall, topK: 10 });
      expect(share).toBeGreaterThanOrEqual(recall - slack);
    }
  });

  test.each([100, 1000])(
    "a query for %d reaches its declared recall after most items are deleted",
    async (topK) => {
      const index = await newIndex(set);
      await add(index, set.rows, 0, (row) => ({ gone: row % 10 > 1 }));
      await index.train({ nLists: 120 });
      await index.delete({ filter: { gone: true } });
      const left = truthOf(squares, (row) => row % 10 <= 1, topK);
      for (const recall of declared) {
        expect(await measured(index, set, left, { recall, topK })).toBeGreaterThanOrEqual(recall - slack);
      }
    },
  );
});

test("describe shows the measurements of training: more lists for more recall or more neighbors", async () => {
  const set = loadSet("clustered", 4000, 1);
  const index = await newIndex(set);
  await add(index, set.rows);
  expect(await index.describe()).not.toHaveProperty("recallCurves");
  await index.train({ nLists: 80 });
  const { recallCurves = [] } = await index.describe();
  expect(recallCurves.map(({ topK }) => topK)).toEqual([1, 10, 100, 1000]);
  for (const { points } of recallCurves) {
    expect(points.map(({ recall }) => recall)).toEqual([0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999]);
    const probes = points.map(({ nProbes }) => nProbes);
    expect(probes).toEqual(probes.toSorted((a, b) => a - b));
    for (const count of probes) expect(count).toBeGreaterThanOrEqual(1);
  }
  const last = recallCurves.map(({ points }) => points[6].nProbes);
  expect(last[3]).toBeGreaterThan(last[0]);
});
