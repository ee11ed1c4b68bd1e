/** Reservations: promises of the next commit, which others wait for. */

import { describe, expect, test } from "vitest";
import { newLog, same } from "./commit-world.js";

describe("a reservation", () => {
  const hold = async () => {
    const one = await newLog();
    const other = one.open();
    const holder = await other.reserveNextCommit(1000);
    expect(one.own.known?.version).toBe(1);
    await one.own.newest();
    return { ...one, other, holder };
  };

  test("is a promise of the next commit that others see", async () => {
    const { own, holder } = await hold();
    expect(holder).toMatch(/^[0-9a-f]{32}$/);
    expect(own.known?.reservation).toEqual({ holder, ms: 1000 });
  });

  test("is waited for as long as it lasts, looking more and more rarely", async () => {
    const { own, clock, reset, costs } = await hold();
    reset();
    const start = clock.ms;
    const committed = await own.commit(same);
    expect(committed).toMatchObject({ version: 3 });
    expect(committed?.reservation).toBeUndefined();
    const expected = [2, 4, 8, 16, 32, ...Array.from({ length: 19 }, () => 50)];
    expect(clock.pauses).toEqual(expected);
    expect(clock.ms - start).toBe(1012);
    expect(costs()).toEqual({ reads: 25, creates: 1, lists: 0 });
  });

  test("ends with the commit of its holder, which does not wait and comes first", async () => {
    const { own, other, holder, clock } = await hold();
    clock.afterPause = async () => {
      clock.afterPause = async () => {};
      await Promise.all([
        other.commit((latest) => ({ ...latest, dimension: (latest.dimension ?? 0) + 5 })),
        other.commit((latest) => ({ ...latest, dimension: (latest.dimension ?? 1) * 2 }), holder),
      ]);
    };
    const committed = await own.commit(same);
    expect(committed).toMatchObject({ version: 4, dimension: 7 });
    // The other change of the holder's process waited as well, until that one was there.
    expect(clock.pauses).toEqual([2, 2]);
  });

  test("that is claimed again while others wait is waited for from then on", async () => {
    const { own, other, holder, clock } = await hold();
    clock.afterPause = async () => {
      if (clock.pauses.length !== 10) return;
      await other.commit(
        (latest) => ({ ...latest, reservation: { holder: "a".repeat(32), ms: 300 } }),
        holder,
      );
    };
    await own.commit(same);
    // 62 ms, then five times 50, until it was claimed again for 300 ms more.
    expect(clock.pauses).toHaveLength(16);
  });

  test("is released by its holder alone, if it has not ended", async () => {
    const { own, other, holder, costs, reset, clock } = await hold();
    reset();
    await own.releaseReservation("somebody else's");
    expect(costs().creates).toBe(0);
    await other.releaseReservation(holder);
    expect(other.known).toMatchObject({ version: 3 });
    expect(other.known?.reservation).toBeUndefined();
    await other.releaseReservation(holder);
    expect(other.known?.version).toBe(3);
    await own.newest();
    await own.commit(same);
    expect(clock.pauses).toEqual([]);
  });

  test("of an index that nothing is known of is not held", async () => {
    const { open, store, costs } = await newLog();
    await open(store).releaseReservation("holder");
    expect(costs()).toEqual({ reads: 0, creates: 0, lists: 0 });
  });
});
