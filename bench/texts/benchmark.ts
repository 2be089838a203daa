/** Ratio 5: texts through the whole program, compared with a web server that only validates them. */
import { PROGRAM } from "../../src/slices.ts"
import { performance } from "node:perf_hooks"
import type { FastifyRequest } from "fastify"
import fastify from "fastify"
import type { z } from "zod"
import { sendText } from "../../src/phone/send-text.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { onInstallation } from "../fixtures/on-installation.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import { assertStatuses } from "../http/http-callers.ts"
import { checkTexts, openTextingCompany } from "./texting-company.ts"

const COMPANIES = 10
const KEYS_EACH = 20
const CONNECTIONS = 64
const MEASURED_MS = 1_500

/** The benchmark of texts over HTTP. */
export const textsBenchmark: Benchmark = {
  name: "texts",
  title: `POST /phone/messages to fresh recipients by ${COMPANIES * KEYS_EACH} keys, ${CONNECTIONS} connections`,
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "bare", title: "bare Fastify POST with the same schema", unit: "per second" },
    { name: "texts", title: "texts acknowledged", unit: "per second" },
    { name: "sent", title: "the same until all of them are sent and settled", unit: "per second" },
    { name: "named", title: "texts acknowledged, with Idempotency-Key", unit: "per second" },
  ],
  ratios: [
    {
      id: "5",
      title: "texts ÷ bare Fastify POST with the same schema",
      of: "texts",
      per: "bare",
      better: "more",
      target: 0.15,
      floor: 0.08,
    },
    {
      id: "5 named",
      title: "texts with Idempotency-Key ÷ the same",
      of: "named",
      per: "bare",
      better: "more",
      target: null,
      floor: null,
    },
  ],
  open: onInstallation(openOn),
}

async function openOn(
  house: BenchInstallation,
  callers: HttpCallers,
  { report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { operate, ports } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  report(`texts: opening ${COMPANIES} companies`)
  const opening = Array.from({ length: COMPANIES }, (_, i) =>
    openTextingCompany(house, `company ${i}`, KEYS_EACH),
  )
  const companies = await Promise.all(opening)
  const asking = {
    method: "POST",
    path: sendText.url,
    keys: companies.flatMap(({ keys }) => keys),
    isTexting: true,
    connections: CONNECTIONS,
    forMs: MEASURED_MS,
  } as const
  const port = await house.serve(ports, PROGRAM.entries)
  const barePort = await house.listen(bareApp())

  const acknowledged: string[] = []
  let refused = 0
  let sentPerSecond = 0
  const measured = async (hasIdempotencyKeys: boolean): Promise<number> => {
    await house.waitUntilIdle()
    const begun = performance.now()
    const answers = await callers.ask({ ...asking, port, hasIdempotencyKeys })
    assertStatuses(answers, [200, 429])
    assertMeasurement(
      answers.ids.length === answers.statuses[200],
      "an acknowledged text has no id",
    )
    acknowledged.push(...answers.ids)
    refused += answers.statuses[429] ?? 0
    // The next measurement must have the machine to itself.
    await house.waitUntilIdle()
    sentPerSecond = (answers.ids.length * 1_000) / (performance.now() - begun)
    return answers.perSecond
  }
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      bare: async () => {
        const answers = await callers.ask({ ...asking, port: barePort })
        assertStatuses(answers, [200])
        return answers.perSecond
      },
      texts: () => measured(false),
      sent: async () => sentPerSecond,
      named: () => measured(true),
    },
    check: async () => {
      assertMeasurement(refused > 0, "no limit was ever used up")
      await checkTexts(ports, companies, acknowledged)
      house.assertNoWarnings()
    },
  }
}

/** A web server that validates a text with the same schema, and answers with a body of the same length. */
function bareApp() {
  const app = fastify({ logger: false })
  const schema = sendText.body as z.ZodType<{ readonly to: string; readonly body: string }>
  const handler = async (request: FastifyRequest) => {
    const { to, body } = schema.parse(request.body)
    return { id: `msg_${"0".repeat(22)}`, status: "queued", from: "+14155550100", to, body }
  }
  app.route({ method: "POST", url: sendText.url, handler })
  return app
}
