/**
 * Whether a recorded history of one index could have happened one call at a time, each at a moment between its beginning and
 * its end: linearizability, checked by search (Wing & Gong, 1993; states seen before are cut off as in Lowe, 2017).
 *
 * The index is a map from id to the stamp of the batch that wrote it last. A batch writes or deletes several ids at once and a
 * read sees all of them, so half a batch, a lost, doubled or reordered one, and a stale read are all found.
 */

export interface Call {
  /** Its name, for people. */
  readonly name: string;
  readonly began: number;
  /** Infinity where it failed: it may have had its effect at any time since, or have it yet, or never. */
  readonly ended: number;
  /** Ids and their new stamps; null deletes. Undefined for a read and for a delete by filter. */
  readonly writes?: Readonly<Record<string, string | null>>;
  /** A delete by filter: of all items whose stamps begin with this. */
  readonly deletesStamps?: string;
  /** The result of a read: every live id and its stamp. */
  readonly seen?: Readonly<Record<string, string>>;
}

/**
 * The same question with fewer possibilities. A failed batch that was seen had its effect by the end of the read that saw it
 * first. One that was not seen can be left out of every order that has it: when anybody looked, others had overwritten it.
 */
function simplify(calls: readonly Call[]): Call[] {
  const firstSeen = new Map<string, number>();
  for (const { seen, ended } of calls) {
    for (const stamp of Object.values(seen ?? {})) {
      firstSeen.set(stamp, Math.min(ended, firstSeen.get(stamp) ?? Infinity));
    }
  }
  return calls.flatMap((call) => {
    const [stamp] = Object.values(call.writes ?? {});
    if (call.ended < Infinity || typeof stamp !== "string") return [call];
    const ended = firstSeen.get(stamp);
    return ended === undefined ? [] : [{ ...call, ended }];
  });
}

/** An order that explains the history, or null. Of the batches that failed, it has those that had an effect. */
export function linearize(history: readonly Call[]): Call[] | null {
  const calls = simplify(history).sort((a, b) => a.ended - b.ended);
  const ids = [
    ...new Set(
      calls.flatMap(({ writes, seen }) => [...Object.keys(writes ?? {}), ...Object.keys(seen ?? {})]),
    ),
  ].sort();
  const order: number[] = [];
  const done = calls.map(() => false);
  const visited = new Set<string>();

  function isSeen(state: readonly (string | null)[], seen: Readonly<Record<string, string>>): boolean {
    return ids.every((id, i) => (seen[id] ?? null) === state[i]);
  }

  function after(state: readonly (string | null)[], { writes = {}, deletesStamps }: Call): (string | null)[] {
    return state.map((stamp, i) => {
      if (ids[i] in writes) return writes[ids[i]];
      return deletesStamps !== undefined && stamp?.startsWith(deletesStamps) ? null : stamp;
    });
  }

  /** Calls that may be next: none of those left ended before they began. */
  function candidates(): number[] {
    const firstEnd = calls[done.indexOf(false)]?.ended ?? Infinity;
    const found: number[] = [];
    for (let i = 0; i < calls.length; i++) if (!done[i] && calls[i].began <= firstEnd) found.push(i);
    return found;
  }

  function search(state: readonly (string | null)[]): boolean {
    // A read that fits here changes nothing for the others, so it may as well be here.
    const read = candidates().find((i) => calls[i].seen !== undefined && isSeen(state, calls[i].seen));
    if (read !== undefined) {
      done[read] = true;
      order.push(read);
      if (search(state)) return true;
      done[read] = false;
      order.pop();
      return false;
    }
    if (calls.every(({ ended }, i) => done[i] || ended === Infinity)) return true;
    const key = `${done.map(Number).join("")} ${state.join(",")}`;
    if (visited.has(key)) return false;
    visited.add(key);
    for (const i of candidates()) {
      const { seen } = calls[i];
      if (seen !== undefined) continue;
      done[i] = true;
      order.push(i);
      if (search(after(state, calls[i]))) return true;
      done[i] = false;
      order.pop();
    }
    return false;
  }

  return search(ids.map(() => null)) ? order.map((i) => calls[i]) : null;
}

/** Throws, with the history, where no order explains it. */
export function expectLinearizable(calls: readonly Call[]): void {
  if (linearize(calls) !== null) return;
  const lines = [...calls]
    .sort((a, b) => a.began - b.began)
    .map(({ name, began, ended, writes, deletesStamps, seen }) => {
      const what =
        seen === undefined ? JSON.stringify(writes ?? deletesStamps) : `saw ${JSON.stringify(seen)}`;
      return `${began.toFixed(1)} to ${ended.toFixed(1)}  ${name}: ${what}`;
    });
  throw new Error(`no order of these calls explains their results:\n${lines.join("\n")}`);
}
