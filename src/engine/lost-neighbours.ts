/** Neighbours that a search loses because it does not scan their lists. */

/** Lists of neighbours: per neighbour of a held-out row the rank and the distance ratio of its list. */
export interface ObservedNeighbours {
  readonly ranks: readonly number[];
  readonly ratios: readonly number[];
  /** The cosine that each neighbour needed of a query whose surroundings a filter removes, and of one that is far from all rows. */
  readonly cosines: readonly number[];
  readonly farCosines: readonly number[];
  /** See margins.ts. Empty if codes rule out nothing. */
  readonly margins: readonly number[];
}

/** Which lists are scanned: the number of lists, and the largest distance ratio. */
export interface ListLimits {
  readonly probes: number;
  readonly ratio: number;
}

/** The share of some neighbours that are in other lists. */
export function missedShare({ ranks, ratios }: ObservedNeighbours, { probes, ratio }: ListLimits): number {
  let missed = 0;
  for (let i = 0; i < ranks.length; i++) if (ranks[i] >= probes || ratios[i] > ratio) missed++;
  return missed / ranks.length;
}

/** Depths by which the power of a trend is found: down to the tenth neighbour. */
const trendDepths = 5;
/**
 * The loss from which on a power is used. Less is lost by a larger one, which chance decides: so few neighbours are. By this one more is expected to be lost
 * than is.
 */
const trendLoss = 0.1;

/** The share of the power by which less is lost of neighbours that are nearer than any that were observed: the nearer, the less the loss still falls. */
const nearerPower = 1 / 2;

/** The share of the neighbours down to a depth that limits lose. */
export type LossTrend = (limits: ListLimits, depth: number) => number;

/**
 * What the same limits lose at other depths than those of observations, ascending: about a power of the depth. It is none in round clusters, where
 * neighbours lie in as near lists however deep they are, and up to a half if few dimensions matter.
 */
export function trendOf(observed: readonly ObservedNeighbours[], depths: readonly number[]): LossTrend {
  const some = observed.slice(0, trendDepths);
  const places = depths.slice(0, trendDepths).map(Math.log);
  const ratios = Float64Array.from(some[0].ratios).sort();
  const usual = line({ probes: Infinity, ratio: ratios[Math.ceil((1 - trendLoss) * ratios.length) - 1] });
  return (limits, depth) => {
    const own = line(limits);
    const power = Math.min(own.power, usual.power);
    const nearest = Math.max(Math.log(depth), places[0]);
    return Math.exp(
      own.loss + power * (nearest - own.place) + nearerPower * power * (Math.log(depth) - nearest),
    );
  };

  /** The line through the logarithms of losses that is nearest to all of them: its middle, and its slope. */
  function line(limits: ListLimits) {
    // Half a neighbour, if none is lost.
    const losses = some.map((each) => Math.log(Math.max(missedShare(each, limits), 0.5 / each.ranks.length)));
    const [place, loss] = [meanOf(places), meanOf(losses)];
    const spread = meanOf(places.map((x) => (x - place) ** 2));
    const common = meanOf(places.map((x, i) => (x - place) * (losses[i] - loss)));
    return { place, loss, power: Math.max(0, common / spread) };
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
