/** Calls by webhooks: how soon a phone rings, and five hundred calls at once. */
import type { Benchmark, Opened } from "../benchmark.ts"
import { honest, judged } from "../benchmark.ts"
import { elapsed } from "../ground/elapsed.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Exchange, Rung } from "./exchange.ts"
import { CALLS_EACH, openExchange } from "./exchange.ts"

const AT_ONCE = 500
const ONE_BY_ONE = 100

/** Calls. */
export const calls: Benchmark = {
  name: "calls",
  title: `calls by signed webhooks: ${ONE_BY_ONE} one by one, and ${AT_ONCE} at once`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    {
      name: "dial",
      title: `a call that came until the first dial, p95 of ${ONE_BY_ONE}`,
      unit: "ms",
    },
    { name: "answer", title: "a webhook until its answer, p99 of the same calls", unit: "ms" },
    {
      name: "ring",
      title: `${AT_ONCE} calls come at once, until the last phone rings`,
      unit: "ms",
    },
    { name: "talk", title: `${AT_ONCE} phones are answered at once, until all talk`, unit: "ms" },
    { name: "end", title: `${AT_ONCE} hang up at once, until all is settled`, unit: "ms" },
  ],
  ratios: [
    judged("call dial", "a call until its first dial, p95", "dial", null, 300, 1_000),
    judged("call webhook", "a webhook until its answer, p99", "answer", null, 100, 2_000),
    // Callers hear ringing meanwhile; their networks give up after a minute at the earliest.
    judged("calls ring", `${AT_ONCE} calls until all ring`, "ring", null, 10_000, 30_000),
    judged("calls talk", `${AT_ONCE} calls until all talk`, "talk", null, 10_000, 30_000),
  ],
  open: async () => {
    const exchange = await openExchange(AT_ONCE / CALLS_EACH)
    return { ...openOn(exchange), close: () => exchange.close() }
  },
}

function openOn(exchange: Exchange): Omit<Opened, "close"> {
  const { house } = exchange
  const missed: Rung[] = []
  const answered: Rung[] = []
  let crowd: readonly Rung[] = []
  let answerMs = 0
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      dial: async () => {
        exchange.answeredMs.length = 0
        const took: number[] = []
        for (let i = 0; i < ONE_BY_ONE; i += 1) {
          const rung = await exchange.ring(i)
          took.push(rung.afterMs)
          missed.push(rung)
          exchange.hangUp(rung)
        }
        await house.settle()
        answerMs = percentile(exchange.answeredMs, 0.99)
        return percentile(took, 0.95)
      },
      answer: async () => answerMs,
      ring: () =>
        elapsed(async () => {
          const all = Array.from({ length: AT_ONCE }, (_, i) => exchange.ring(i))
          crowd = await Promise.all(all)
        }),
      talk: () => elapsed(() => Promise.all(crowd.map((rung) => exchange.talk(rung)))),
      end: () =>
        elapsed(async () => {
          answered.push(...crowd)
          for (const rung of crowd) exchange.hangUp(rung)
          await house.settle()
        }),
    },
    check: async () => {
      const outcomes = await exchange.outcomes()
      const minutes = answered.map((rung) => outcomes.get(exchange.idOf(rung)))
      honest(minutes.length % AT_ONCE === 0, "not all talked at once")
      honest(
        minutes.every((one) => one?.outcome === "answered" && one.chargedMicros > 0),
        "a call that was answered is not listed so, or cost nothing",
      )
      honest(
        missed.every((rung) => {
          const one = outcomes.get(exchange.idOf(rung))
          return one?.outcome === "missed" && one.chargedMicros === 0
        }),
        "a call that was given up is not missed, or cost something",
      )
      house.check()
    },
  }
}

/** The value that this share of them does not pass. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}
