/** The two directions in which vectors differ most, by power iteration. */

const iterationsMax = 100;
/** Of a direction between two iterations: below this change it has settled. */
const toleranceSquared = 1e-10;

/** Each vector's coordinates along the first two principal components. */
export function projectTo2d(vectors: readonly Float32Array[]): [number, number][] {
  const dimension = vectors.at(0)?.length ?? 0;
  const mean = new Float64Array(dimension);
  for (const vector of vectors) vector.forEach((value, i) => (mean[i] += value / vectors.length));
  const rows = vectors.map((vector) => Float64Array.from(vector, (value, i) => value - mean[i]));
  const along = () => {
    const direction = principalDirection(rows, dimension);
    return rows.map((row) => {
      const coordinate = dot(row, direction);
      // What is left is what the next component is found in.
      for (let i = 0; i < dimension; i++) row[i] -= coordinate * direction[i];
      return coordinate;
    });
  };
  const [x, y] = [along(), along()];
  return x.map((value, i) => [value, y[i]]);
}

/** Of rows that are centred: a unit vector, or zero if all rows are. */
function principalDirection(rows: readonly Float64Array[], dimension: number): Float64Array {
  let direction = normalized(longest(rows) ?? new Float64Array(dimension));
  for (let iteration = 0; iteration < iterationsMax; iteration++) {
    const sum = new Float64Array(dimension);
    for (const row of rows) {
      const weight = dot(row, direction);
      for (let i = 0; i < dimension; i++) sum[i] += weight * row[i];
    }
    const next = normalized(sum);
    const change = next.reduce((total, value, i) => total + (value - direction[i]) ** 2, 0);
    direction = next;
    if (change < toleranceSquared) break;
  }
  return direction;
}

/** A start that is not orthogonal to what is looked for, unless rows are few and chosen for it. */
function longest(rows: readonly Float64Array[]): Float64Array | undefined {
  let [found, length] = [rows.at(0), -1];
  for (const row of rows) {
    const own = dot(row, row);
    if (own > length) [found, length] = [row, own];
  }
  return found;
}

function normalized(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
