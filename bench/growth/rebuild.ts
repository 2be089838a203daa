/** Rebuilding a read model, by the number of events. */
import { performance } from "node:perf_hooks"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { dropReadModels } from "../../test/support/read-models.ts"
import { chargesProjection, projectorPorts } from "../catch-up/charges-projection.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { growsLinearly } from "./findings.ts"
import { onLedgers } from "./ledgers.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, FLUSH_FIGURE, curveFigures, curveLines, measureAtSizes } from "./points.ts"

const LINE: SizedLine = {
  name: "rebuild",
  title: "the read model charges rebuilt",
  sizes: [1_000, 10_000, 100_000, 1_000_000],
  of: "events",
  unit: "ms",
}
/** With fewer events the start takes longer than the events. */
const COUNTED_FROM = 10_000
const BUILT_WITHIN_MS = 600_000
/** Some events are not charges. */
const SHOWN_PART = 0.9

export const rebuildGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-rebuild",
  title: "time to rebuild the read model charges, by the number of events",
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...curveFigures([LINE])],
  curves: [
    {
      title: "Rebuilding a read model by events",
      across: { title: "events", scale: "log" },
      up: { title: "milliseconds", scale: "log" },
      lines: curveLines([LINE]),
      find: (lines) => lines.map((line) => growsLinearly(line, "events", COUNTED_FROM)),
    },
  ],
  open: onLedgers(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  _kept: ReadonlyMap<number, SpendingCompany>,
  { signal, report, maxSize }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  report("growth-rebuild: looking for the places of events")
  const sizes = LINE.sizes.filter((size) => size <= maxSize)
  const places = await positionsAtSizes(ground, sizes)
  const absent = sizes.filter((size) => !places.has(size))
  return {
    skipped: Object.fromEntries(
      absent.map((size) => [`rebuild ${size}`, `${size} events, for fewer are stored`]),
    ),
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measureAtSizes(LINE, async (size) => {
        signal.throwIfAborted()
        await dropReadModels(ground.pool)
        const begun = performance.now()
        const projector = await startProjector(projectorPorts(ground), [chargesProjection], [])
        try {
          const isThere = await projector.waitUntilWritten(
            places.get(size) as Position,
            BUILT_WITHIN_MS,
          )
          assertMeasurement(isThere, "the read model did not catch up")
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
      assertMeasurement(shown >= last * SHOWN_PART, `${shown} charges are shown of ${last} events`)
    },
  }
}

/** The position of the last of so many events, for each size that exists. */
async function positionsAtSizes(
  { store }: StoreEnvironment,
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
