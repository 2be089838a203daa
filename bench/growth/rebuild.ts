/** A read model that is built anew, against how many events there are. */
import { performance } from "node:perf_hooks"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { forgetReadModels } from "../../test/support/read-models.ts"
import { charges, portsOf } from "../catch-up/rebuilding.ts"
import type { SpendingCompany } from "../ground/company.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { growsInStep } from "./findings.ts"
import { onLedgers } from "./ledgers.ts"
import type { Sized } from "./points.ts"
import { CURVE, FLUSH_FIGURE, figuresOf, linesOf, measuredAt } from "./points.ts"

const LINE: Sized = {
  name: "rebuild",
  title: "the read model charges built anew",
  sizes: [1_000, 10_000, 100_000, 1_000_000],
  of: "events",
  unit: "ms",
}
/** Below it, starting takes longer than the events. */
const COUNTED_FROM = 10_000
const BUILT_WITHIN_MS = 600_000
/** Some events are no charges. */
const SHOWN_PART = 0.9

/** The curve. */
export const growthRebuild: Benchmark = {
  ...CURVE,
  name: "growth-rebuild",
  title: "time to build the read model charges anew, by how many events there are",
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...figuresOf([LINE])],
  curves: [
    {
      title: "Building a read model anew against events",
      across: { title: "events", scale: "log" },
      up: { title: "milliseconds", scale: "log" },
      lines: linesOf([LINE]),
      find: (lines) => lines.map((line) => growsInStep(line, "events", COUNTED_FROM)),
    },
  ],
  open: onLedgers(openOn),
}

async function openOn(
  ground: Ground,
  _kept: ReadonlyMap<number, SpendingCompany>,
  { signal, report, most }: Setting,
): Promise<Omit<Opened, "close">> {
  report("growth-rebuild: looking for the places of events")
  const sizes = LINE.sizes.filter((size) => size <= most)
  const places = await placesOf(ground, sizes)
  const absent = sizes.filter((size) => !places.has(size))
  return {
    absent: Object.fromEntries(
      absent.map((size) => [`rebuild ${size}`, `${size} events, for fewer are stored`]),
    ),
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measuredAt(LINE, async (size) => {
        signal.throwIfAborted()
        await forgetReadModels(ground.pool)
        const begun = performance.now()
        const projector = await startProjector(portsOf(ground), [charges], [])
        try {
          const isThere = await projector.waitFor(places.get(size) as Position, BUILT_WITHIN_MS)
          honest(isThere, "the read model did not catch up")
          return performance.now() - begun
        } finally {
          await projector.close()
        }
      }),
    },
    check: async () => {
      const last = Math.max(...places.keys())
      const { rows } = await ground.pool.query<{ count: string }>(
        "select count(*) from read.charges where kind = 'charge'",
      )
      const shown = Number(rows[0]?.count)
      honest(shown >= last * SHOWN_PART, `${shown} charges are shown of ${last} events`)
    },
  }
}

/** The place of the last of so many events, where there are so many. */
async function placesOf(
  { store }: Ground,
  sizes: readonly number[],
): Promise<ReadonlyMap<number, Position>> {
  const places = new Map<number, Position>()
  let count = 0
  for await (const page of store.readAll({})) {
    for (const size of sizes) {
      const last = page[size - count - 1]
      if (last !== undefined) places.set(size, last.position)
    }
    count += page.length
  }
  return places
}
