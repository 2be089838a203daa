/** Many companies that send texts through one address, some of them up to a limit. */
import { randomUUID } from "node:crypto"
import { expect } from "vitest"
import { PRICE_MICROS, textTo } from "./callers.ts"
import type { Sender, Operate } from "./reckoning.ts"
import { expectAudit, reckonCharges } from "./reckoning.ts"

const SILENT_AFTER_MS = 20_000
const KNOWN_WITHIN_MS = 90_000
const MADE_AT_ONCE = 4

/** A company under load. */
export interface LoadedCompany extends Sender {
  /** So many texts fit its limit; null: it has none. */
  readonly fitting: number | null
  /** Name → id, of the texts that were answered 200. */
  readonly acknowledged: Map<string, string>
  refused: number
}

/** Makes so many; every second one has a limit that is worth `fitting` texts. */
export async function makeCompanies(
  operate: Operate,
  count: number,
  fitting: number,
): Promise<readonly LoadedCompany[]> {
  await operate("price set", { item: "api_call", dollars: "0" })
  const made: LoadedCompany[] = []
  let begun = 0
  const making = Array.from({ length: MADE_AT_ONCE }, async () => {
    for (let i = begun++; i < count; i = begun++) {
      made.push(await makeCompany(operate, `many-${i}`, i % 2 === 0 ? fitting : null))
    }
  })
  await Promise.all(making)
  return made
}

async function makeCompany(
  operate: Operate,
  name: string,
  fitting: number | null,
): Promise<LoadedCompany> {
  const company = await operate("company create", { name, funds: "100" })
  const of = { company: company.companyId }
  await operate("card set", { ...of, verified: true })
  const given = { ...of, person: company.ownerId, allOperations: true }
  const { keyId, key } = await operate("key create", given)
  if (fitting !== null) {
    const dollars = ((fitting * PRICE_MICROS) / 1e6).toFixed(6)
    await operate("limit set", { ...of, class: "general", period: "month", dollars })
  }
  const sender = { ...company, keyId, key, fundsMicros: 100_000_000 }
  return { ...sender, fitting, acknowledged: new Map<string, string>(), refused: 0 }
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
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()
  let isEnded = false
  let turn = 0
  const running = Array.from({ length: callers }, async () => {
    while (!isEnded) {
      const company = companies[turn++ % companies.length] as LoadedCompany
      served.push(await sendOne(url, company, `+1415555${String(1_000 + (turn % 200))}`))
      for (const one of waiting) {
        if (served.length < one.count) continue
        waiting.delete(one)
        one.resolve()
      }
    }
  })
  const all = Promise.all(running).then(() => undefined)
  return {
    served,
    more: (count) => {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      waiting.add({ count: served.length + count, resolve: () => resolve(undefined) })
      return Promise.race([promise, all])
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
  for (let repeated = 0; ; repeated += 1) {
    const { status, body, by } = await attempt(url, company.key, name, to)
    const tookMs = performance.now() - begunAt
    const isLimit = status === 429 && body.error === "spend_limit_reached"
    if (status === 200) company.acknowledged.set(name, body.id as string)
    if (isLimit) company.refused += 1
    if (status === 200 || isLimit) {
      return { company: company.companyId, by, begunAt, tookMs, repeated }
    }
    const isPassing = [0, 409, 502, 503, 504].includes(status)
    if (!isPassing || tookMs > KNOWN_WITHIN_MS) {
      throw new Error(`${name} was answered ${status}: ${JSON.stringify(body)}`)
    }
  }
}

interface Attempt {
  /** 0 where the connection told nothing. */
  readonly status: number
  // A test says what it expects of a body.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
  readonly by: string
}

async function attempt(url: string, key: string, name: string, to: string): Promise<Attempt> {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "idempotency-key": name,
  }
  try {
    const answer = await fetch(`${url}/api/v1/phone/messages`, {
      method: "POST",
      headers,
      body: JSON.stringify(textTo(to)),
      signal: AbortSignal.timeout(SILENT_AFTER_MS),
    })
    const text = await answer.text()
    // The proxy's own answers are pages.
    const isPage = !(answer.headers.get("content-type") ?? "").includes("json")
    const by = answer.headers.get("x-served-by")?.split(", ").at(-1) ?? ""
    return { status: answer.status, body: isPage ? null : JSON.parse(text), by }
  } catch (error) {
    const isSilent = error instanceof DOMException && error.name === "TimeoutError"
    if (error instanceof TypeError || isSilent) return { status: 0, body: null, by: "" }
    throw error
  }
}

/** No limit was passed, nothing was charged twice, nothing acknowledged is lost; the audit holds. */
export async function expectExact(
  operate: Operate,
  companies: readonly LoadedCompany[],
): Promise<void> {
  await operate("wait")
  for (const company of companies) {
    const { fitting, acknowledged, refused } = company
    if (fitting === null) expect(refused).toBe(0)
    else {
      // What a killed process had charged is its own repeat's: none is told no by it, and nothing of a limit is lost.
      if (refused > 0) expect(acknowledged.size).toBe(fitting)
      expect(acknowledged.size).toBeLessThanOrEqual(fitting)
      const { limits } = await operate("limit list", { company: company.companyId })
      const most = fitting * PRICE_MICROS
      for (const { usedMicros } of limits) expect(usedMicros).toBeLessThanOrEqual(most)
    }
    await reckonCharges(operate, company)
  }
  await expectAudit(operate)
}

/** The value below which a share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
