// What each side finds by exact search: words by BM25, vectors by cosine.

/** The BM25 scores of every document, by brute force over what the analyzer gives. */
export function bm25(texts, { analyze, queryTerms, k1, b }) {
  const postings = new Map();
  const lengths = texts.map((text, document) => {
    const { terms, frequencies, length } = analyze(text);
    for (const [i, term] of terms.entries()) {
      if (!postings.has(term)) postings.set(term, []);
      postings.get(term).push([document, frequencies[i]]);
    }
    return length;
  });
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  return (query) => {
    const scores = new Float64Array(texts.length);
    for (const { term, weight } of queryTerms(query)) {
      const list = postings.get(term) ?? [];
      const idf = Math.log(1 + (texts.length - list.length + 0.5) / (list.length + 0.5));
      for (const [document, frequency] of list) {
        const norm = k1 * (1 - b + (b * lengths[document]) / mean);
        scores[document] += (weight * idf * frequency * (k1 + 1)) / (frequency + norm);
      }
    }
    return scores;
  };
}

/** The cosines of a query's vector with all of `vectors`, which have norm 1: rows of one array. */
export function cosines(vectors, query) {
  const dimension = query.length;
  const scores = new Float64Array(vectors.length / dimension);
  for (let row = 0; row < scores.length; row++) {
    let sum = 0;
    for (let i = 0; i < dimension; i++) sum += vectors[row * dimension + i] * query[i];
    scores[row] = sum;
  }
  return scores;
}

/** The best `count` documents with a score above `least`, as a `Ranking`. */
export function best(scores, count, least = -Infinity) {
  const rows = [];
  for (let row = 0; row < scores.length; row++) if (scores[row] > least) rows.push(row);
  rows.sort((x, y) => scores[y] - scores[x] || x - y);
  rows.length = Math.min(rows.length, count);
  return { rows, scores: rows.map((row) => scores[row]) };
}
