/** Webhooks: incoming texts from a carrier, a hundred per second, until each is answered as taken. */
import { randomUUID } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { telnyxTextWebhooks } from "../../src/phone/webhooks/telnyx.ts"
import { signingAccount } from "../../test/support/telnyx-signing.ts"
import type { Benchmark, OpenBenchmark } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { openTextingCompany } from "../texts/texting-company.ts"

const TEXTS_PER_SECOND = 100
const WEBHOOKS = 1_000
const SENDERS = 5_000

export const webhooksBenchmark: Benchmark = {
  name: "webhooks",
  title: `texts that a carrier tells of, ${TEXTS_PER_SECOND} a second`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "p99", title: "99 of 100 are answered within", unit: "ms" },
  ],
  ratios: [lowerIsBetter("webhook", "99 of 100 are answered within", "p99", null, 100, 2_000)],
  open: async () => {
    const account = signingAccount()
    const settings = {
      TELNYX_KEY: "KEY0123456789abcdef",
      TELNYX_PUBLIC_KEY: account.publicKey,
      // No text is sent, so no carrier is called here.
      TELNYX_URL: "http://127.0.0.1:9/v2",
      BASE_URL: "http://127.0.0.1",
    }
    const house = await openBenchInstallation(null, settings)
    try {
      return { ...(await openOn(house, account)), close: () => house.close() }
    } catch (error) {
      await house.close()
      throw error
    }
  },
}

async function openOn(
  house: BenchInstallation,
  account: ReturnType<typeof signingAccount>,
): Promise<Omit<OpenBenchmark, "close">> {
  const { companyId } = await openTextingCompany(house, "webhooks", 1)
  await house.waitUntilIdle()
  const { number } = await house.ports.readAll
    .selectFrom("numbers")
    .select("number")
    .where("company_id", "=", companyId)
    .executeTakeFirstOrThrow()
  const url = `http://127.0.0.1:${await house.serve(house.ports, telnyxTextWebhooks)}/carriers/telnyx/texts`
  let sent = 0
  const tell = async (): Promise<number> => {
    sent += 1
    const raw = eventTo(String(number), `+1415${5_000_000 + (sent % SENDERS)}`)
    const headers = account.headersOf(raw, Date.now())
    const began = performance.now()
    const answer = await fetch(url, { method: "POST", body: raw, headers })
    const { taken } = (await answer.json()) as { readonly taken?: number }
    const took = performance.now() - began
    assertMeasurement(answer.status === 200 && taken === 1, `it was answered ${answer.status}`)
    return took
  }
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      p99: async () => {
        const waits: Promise<number>[] = []
        const began = performance.now()
        for (let i = 0; i < WEBHOOKS; i += 1) {
          // Each at its own time, however long the others take.
          const early = began + (i * 1_000) / TEXTS_PER_SECOND - performance.now()
          if (early > 1) await pause(early)
          waits.push(tell())
        }
        const took = (await Promise.all(waits)).toSorted((a, b) => a - b)
        return took[Math.floor(took.length * 0.99)] ?? Number.POSITIVE_INFINITY
      },
    },
    check: async () => {
      await house.waitUntilIdle()
      house.assertNoWarnings()
      const { count } = await house.ports.readAll
        .selectFrom("messages")
        .select((db) => db.fn.countAll().as("count"))
        .where("company_id", "=", companyId)
        .where("direction", "=", "in")
        .executeTakeFirstOrThrow()
      assertMeasurement(Number(count) === sent, `${count} texts are here of ${sent} that were sent`)
    },
  }
}

/** Telnyx's webhook event for a text. */
function eventTo(to: string, from: string): string {
  const payload = {
    id: randomUUID(),
    direction: "inbound",
    record_type: "message",
    type: "SMS",
    media: [],
    from: { phone_number: from },
    to: [{ phone_number: to, status: "webhook_delivered" }],
    text: "Is it open on Sunday?",
    parts: 1,
    encoding: "GSM-7",
    errors: [],
  }
  const data = { record_type: "event", id: randomUUID(), event_type: "message.received", payload }
  return JSON.stringify({ data, meta: { attempt: 1, delivered_to: "https://ledger.example.com" } })
}
