/** Calls by webhooks: the time until a phone rings, and five hundred concurrent calls. */
import type { Benchmark, OpenBenchmark } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import { measureMs } from "../fixtures/elapsed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { PhoneExchange, RingingCall } from "./phone-exchange.ts"
import { CALLS_PER_COMPANY, openPhoneExchange } from "./phone-exchange.ts"

const CONCURRENT_CALLS = 500
const SEQUENTIAL_CALLS = 100

export const callsBenchmark: Benchmark = {
  name: "calls",
  title: `calls by signed webhooks: ${SEQUENTIAL_CALLS} in sequence, and ${CONCURRENT_CALLS} concurrently`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    {
      name: "dial",
      title: `a call that came until the first dial, p95 of ${SEQUENTIAL_CALLS}`,
      unit: "ms",
    },
    { name: "answer", title: "a webhook until its answer, p99 of the same calls", unit: "ms" },
    {
      name: "ring",
      title: `${CONCURRENT_CALLS} concurrent calls, until the last phone rings`,
      unit: "ms",
    },
    {
      name: "talk",
      title: `${CONCURRENT_CALLS} phones answered concurrently, until all talk`,
      unit: "ms",
    },
    {
      name: "end",
      title: `${CONCURRENT_CALLS} concurrent hang-ups, until all is settled`,
      unit: "ms",
    },
  ],
  ratios: [
    lowerIsBetter("call dial", "a call until its first dial, p95", "dial", null, 300, 1_000),
    lowerIsBetter("call webhook", "a webhook until its answer, p99", "answer", null, 100, 2_000),
    // Callers hear ringing meanwhile; their networks give up after a minute at the earliest.
    lowerIsBetter(
      "calls ring",
      `${CONCURRENT_CALLS} calls until all ring`,
      "ring",
      null,
      10_000,
      30_000,
    ),
    lowerIsBetter(
      "calls talk",
      `${CONCURRENT_CALLS} calls until all talk`,
      "talk",
      null,
      10_000,
      30_000,
    ),
  ],
  open: async () => {
    const exchange = await openPhoneExchange(CONCURRENT_CALLS / CALLS_PER_COMPANY)
    return { ...openMeasurements(exchange), close: () => exchange.close() }
  },
}

function openMeasurements(exchange: PhoneExchange): Omit<OpenBenchmark, "close"> {
  const { house } = exchange
  const missed: RingingCall[] = []
  const answered: RingingCall[] = []
  let crowd: readonly RingingCall[] = []
  let answerMs = 0
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      dial: async () => {
        exchange.webhookMs.length = 0
        const took: number[] = []
        for (let i = 0; i < SEQUENTIAL_CALLS; i += 1) {
          const rung = await exchange.ring(i)
          took.push(rung.ringDelayMs)
          missed.push(rung)
          exchange.hangUp(rung)
        }
        await house.waitUntilIdle()
        answerMs = percentile(exchange.webhookMs, 0.99)
        return percentile(took, 0.95)
      },
      answer: async () => answerMs,
      ring: () =>
        measureMs(async () => {
          const all = Array.from({ length: CONCURRENT_CALLS }, (_, i) => exchange.ring(i))
          crowd = await Promise.all(all)
        }),
      talk: () => measureMs(() => Promise.all(crowd.map((rung) => exchange.talk(rung)))),
      end: () =>
        measureMs(async () => {
          answered.push(...crowd)
          for (const rung of crowd) exchange.hangUp(rung)
          await house.waitUntilIdle()
        }),
    },
    check: async () => {
      const outcomes = await exchange.outcomes()
      const minutes = answered.map((rung) => outcomes.get(exchange.callIdOf(rung)))
      assertMeasurement(minutes.length % CONCURRENT_CALLS === 0, "not all calls overlapped")
      assertMeasurement(
        minutes.every((one) => one?.outcome === "answered" && one.chargedMicros > 0),
        "a call that was answered is not listed so, or cost nothing",
      )
      assertMeasurement(
        missed.every((rung) => {
          const one = outcomes.get(exchange.callIdOf(rung))
          return one?.outcome === "missed" && one.chargedMicros === 0
        }),
        "a call that was given up is not missed, or cost something",
      )
      house.assertNoWarnings()
    },
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}
