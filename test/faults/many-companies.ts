/** Many companies that send texts through one address, some of them up to a limit. */
import { randomUUID } from "node:crypto"
import { expect } from "vitest"
import type { Company, Operator } from "../support/company.ts"
import type { ApiAnswer } from "../support/world.ts"
import { PRICE_MICROS, overHttp } from "./callers.ts"
import { expectAudit, makeSender, reckonCharges } from "./reckoning.ts"
import { newSignal } from "../support/waiting.ts"

const KNOWN_WITHIN_MS = 90_000
const MADE_AT_ONCE = 4
/** The connection told nothing. */
const NO_ANSWER: ApiAnswer = { status: 0, body: null, headers: {} }

/** A company under load. */
export interface LoadedCompany extends Company {
  /** So many texts fit its limit; null: it has none. */
  readonly fitting: number | null
  /** Name → id, of the texts that were answered 200. */
  readonly acknowledged: Map<string, string>
  refused: number
}

/** Makes so many; every second one has a limit that is worth `fitting` texts. */
export async function makeCompanies(
  operator: Operator,
  count: number,
  fitting: number,
): Promise<readonly LoadedCompany[]> {
  const made: LoadedCompany[] = []
  const dollars = ((fitting * PRICE_MICROS) / 1e6).toFixed(6)
  let begun = 0
  const making = Array.from({ length: MADE_AT_ONCE }, async () => {
    for (let i = begun++; i < count; i = begun++) {
      const isLimited = i % 2 === 0
      const limits = isLimited ? [{ dollars }] : []
      made.push({
        ...(await makeSender(operator, { limits })),
        fitting: isLimited ? fitting : null,
        acknowledged: new Map<string, string>(),
        refused: 0,
      })
    }
  })
  await Promise.all(making)
  return made
}

/** A text that was answered for good. */
export interface Served {
  readonly company: string
  /** The process that answered, as the proxy names it. */
  readonly by: string
  readonly begunAt: number
  /** From its first try on, in ms. */
  readonly tookMs: number
  /** How often it was repeated because nobody knew what became of it. */
  readonly repeated: number
}

/** What was sent so far, and how it ends. */
export interface ManyTexts {
  readonly served: readonly Served[]
  /** Resolves once so many more were served. */
  readonly more: (count: number) => Promise<void>
  /** Sends no more; resolves when all that were begun are known. @throws where one never was */
  readonly end: () => Promise<void>
}

/** Sends texts of all companies in turn, by so many callers, until it is ended. */
export function sendInTurn(
  url: string,
  companies: readonly LoadedCompany[],
  callers: number,
): ManyTexts {
  const served: Served[] = []
  const { tell, until } = newSignal()
  let isEnded = false
  let turn = 0
  const running = Array.from({ length: callers }, async () => {
    while (!isEnded) {
      const company = companies[turn++ % companies.length] as LoadedCompany
      served.push(await sendOne(url, company, `+1415555${String(1_000 + (turn % 200))}`))
      tell()
    }
  })
  const all = Promise.all(running).then(() => undefined)
  return {
    served,
    more: (count) => {
      const wanted = served.length + count
      return Promise.race([until(() => served.length >= wanted), all])
    },
    end: async () => {
      isEnded = true
      await all
    },
  }
}

/** Sends a text, and the same again as long as nobody knows what became of it. */
async function sendOne(url: string, company: LoadedCompany, to: string): Promise<Served> {
  const name = randomUUID()
  const begunAt = performance.now()
  const send = overHttp(() => url, company.key)
  for (let repeated = 0; ; repeated += 1) {
    const { status, body, headers } = (await send(name, to)) ?? NO_ANSWER
    const tookMs = performance.now() - begunAt
    const isLimit = status === 429 && body.error === "spend_limit_reached"
    if (status === 200) company.acknowledged.set(name, body.id as string)
    if (isLimit) company.refused += 1
    if (status === 200 || isLimit) {
      const by = String(headers["x-served-by"]).split(", ").at(-1) ?? ""
      return { company: company.companyId, by, begunAt, tookMs, repeated }
    }
    const isPassing = [0, 409, 502, 503, 504].includes(status)
    if (!isPassing || tookMs > KNOWN_WITHIN_MS) {
      throw new Error(`${name} was answered ${status}: ${JSON.stringify(body)}`)
    }
  }
}

/** No limit was passed, nothing was charged twice, nothing acknowledged is lost; the audit holds. */
export async function expectExact(
  operator: Operator,
  companies: readonly LoadedCompany[],
): Promise<void> {
  await operator.operate("wait")
  for (const company of companies) {
    const { fitting, acknowledged, refused } = company
    if (fitting === null) expect(refused).toBe(0)
    else {
      // What a killed process had charged is its own repeat's: none is told no by it, and nothing of a limit is lost.
      if (refused > 0) expect(acknowledged.size).toBe(fitting)
      expect(acknowledged.size).toBeLessThanOrEqual(fitting)
      const { limits } = await operator.operate("limit list", { company: company.companyId })
      const most = fitting * PRICE_MICROS
      for (const { usedMicros } of limits) expect(usedMicros).toBeLessThanOrEqual(most)
    }
    await reckonCharges(operator, company)
  }
  await expectAudit(operator)
}

/** The value below which a share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
