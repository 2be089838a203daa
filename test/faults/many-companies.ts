/** Many companies that send texts through one address, half of them up to a limit. */
import { randomUUID } from "node:crypto"
import { expect } from "vitest"
import type { Company, OperationRunner } from "../support/company.ts"
import type { ApiAnswer } from "../support/world.ts"
import { PRICE_MICROS, senderOverHttp } from "./text-load.ts"
import { expectCleanAudit, makeSender, expectExactCharges } from "./charge-audit.ts"
import { newSignal } from "../support/signal.ts"

const OUTCOME_WITHIN_MS = 90_000
const CREATE_CONCURRENCY = 4
/** The connection broke without an answer. */
const NO_ANSWER: ApiAnswer = { status: 0, body: null, headers: {} }

export interface LoadedCompany extends Company {
  /** Number of texts that fit within its limit; null without a limit. */
  readonly textsWithinLimit: number | null
  /** Message ids of the accepted texts, by idempotency key. */
  readonly acknowledged: Map<string, string>
  refused: number
}

/** Makes companies; every second one has a limit that fits `fitting` texts. */
export async function makeCompanies(
  operator: OperationRunner,
  count: number,
  fitting: number,
): Promise<readonly LoadedCompany[]> {
  const made: LoadedCompany[] = []
  const dollars = ((fitting * PRICE_MICROS) / 1e6).toFixed(6)
  let begun = 0
  const making = Array.from({ length: CREATE_CONCURRENCY }, async () => {
    for (let i = begun++; i < count; i = begun++) {
      const isLimited = i % 2 === 0
      const limits = isLimited ? [{ dollars }] : []
      made.push({
        ...(await makeSender(operator, { limits })),
        textsWithinLimit: isLimited ? fitting : null,
        acknowledged: new Map<string, string>(),
        refused: 0,
      })
    }
  })
  await Promise.all(making)
  return made
}

export interface ServedText {
  readonly company: string
  /** The process that answered, as the proxy names it. */
  readonly by: string
  readonly startedAt: number
  /** Milliseconds since the first try. */
  readonly tookMs: number
  /** Number of retries after unknown outcomes. */
  readonly repeatCount: number
}

/** The texts sent so far, and controls of the load. */
export interface ManyTexts {
  readonly served: readonly ServedText[]
  /** Resolves once this many more texts were served. */
  readonly sendMore: (count: number) => Promise<void>
  /** Sends no more, and resolves when all sent texts have an outcome. @throws if one never gets an outcome */
  readonly end: () => Promise<void>
}

/** Sends texts for all companies in turn, with concurrent callers, until `end` is called. */
export function sendRoundRobin(
  url: string,
  companies: readonly LoadedCompany[],
  callers: number,
): ManyTexts {
  const served: ServedText[] = []
  const { notify, until } = newSignal()
  let isEnded = false
  let turn = 0
  const running = Array.from({ length: callers }, async () => {
    while (!isEnded) {
      const company = companies[turn++ % companies.length] as LoadedCompany
      served.push(await sendOne(url, company, `+1415555${String(1_000 + (turn % 200))}`))
      notify()
    }
  })
  const all = Promise.all(running).then(() => undefined)
  return {
    served,
    sendMore: (count) => {
      const wanted = served.length + count
      return Promise.race([until(() => served.length >= wanted), all])
    },
    end: async () => {
      isEnded = true
      await all
    },
  }
}

/** Sends a text, and retries it while its outcome is unknown. */
async function sendOne(url: string, company: LoadedCompany, to: string): Promise<ServedText> {
  const name = randomUUID()
  const startedAt = performance.now()
  const send = senderOverHttp(() => url, company.key)
  for (let repeatCount = 0; ; repeatCount += 1) {
    const { status, body, headers } = (await send(name, to)) ?? NO_ANSWER
    const tookMs = performance.now() - startedAt
    const isLimit = status === 429 && body.error === "spend_limit_reached"
    if (status === 200) company.acknowledged.set(name, body.id as string)
    if (isLimit) company.refused += 1
    if (status === 200 || isLimit) {
      const by = String(headers["x-served-by"]).split(", ").at(-1) ?? ""
      return { company: company.companyId, by, startedAt, tookMs, repeatCount }
    }
    const isTemporary = [0, 409, 502, 503, 504].includes(status)
    if (!isTemporary || tookMs > OUTCOME_WITHIN_MS) {
      throw new Error(`${name} was answered ${status}: ${JSON.stringify(body)}`)
    }
  }
}

/** Expects that no limit was exceeded, no text was charged twice or lost, and the audit is clean. */
export async function expectExactTexts(
  operator: OperationRunner,
  companies: readonly LoadedCompany[],
): Promise<void> {
  await operator.operate("wait")
  for (const company of companies) {
    const { textsWithinLimit, acknowledged, refused } = company
    if (textsWithinLimit === null) expect(refused).toBe(0)
    else {
      // A retry reuses the charge of a killed process, so no part of a limit is lost.
      if (refused > 0) expect(acknowledged.size).toBe(textsWithinLimit)
      expect(acknowledged.size).toBeLessThanOrEqual(textsWithinLimit)
      const { limits } = await operator.operate("limit list", { company: company.companyId })
      const most = textsWithinLimit * PRICE_MICROS
      for (const { usedMicros } of limits) expect(usedMicros).toBeLessThanOrEqual(most)
    }
    await expectExactCharges(operator, company)
  }
  await expectCleanAudit(operator)
}

/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
