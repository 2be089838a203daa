/** Throughput against callers: charges on one company by 1 to 1,024 of them. */
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { callTogether } from "../ground/callers.ts"
import { openCompany } from "../ground/company.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { onGround } from "../ground/open-on.ts"
import { fallsBelowPeak } from "./findings.ts"
import type { Sized } from "./points.ts"
import { CURVE, FLUSH_FIGURE, figuresOf, linesOf, measuredAt } from "./points.ts"

const SIZE = { people: 20, keys: 40 }
const LINE: Sized = {
  name: "callers",
  title: "charges on one company",
  sizes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
  of: "callers",
  unit: "per second",
}

/** The curve. */
export const growthCallers: Benchmark = {
  ...CURVE,
  name: "growth-callers",
  title: "charges a second on one company, by how many callers wait for an answer each",
  stores: ["postgres", "eventstoredb", "memory"],
  figures: [FLUSH_FIGURE, ...figuresOf([LINE])],
  curves: [
    {
      title: "Throughput against callers",
      across: { title: "callers that wait for their answer", scale: "log" },
      up: { title: "charges a second", scale: "linear" },
      lines: linesOf([LINE]),
      find: (lines) => lines.map((line) => fallsBelowPeak(line, "callers")),
    },
  ],
  open: onGround(openOn),
}

async function openOn(ground: Ground, { signal }: Setting): Promise<Omit<Opened, "close">> {
  const runner = ground.newRunner()
  const company = await openCompany(ground, runner, SIZE)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measuredAt(LINE, async (callers) => {
        company.draw()
        return (await callTogether(callers, () => company.charge(runner), signal)).perSecond
      }),
    },
    check: () => company.check(runner),
  }
}
