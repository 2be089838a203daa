/** What a text, a charge and an idle company cost a whole installation, with all that follows from them. */
import { setTimeout as pause } from "node:timers/promises"
import { PROGRAM } from "../../src/slices.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { sendText } from "../../src/phone/send-text.ts"
import { honest } from "../benchmark.ts"
import { callTogether } from "../ground/callers.ts"
import type { SpendingCompany } from "../ground/company.ts"
import { openCompany } from "../ground/company.ts"
import type { House } from "../ground/house.ts"
import type { Asking } from "../http/asking.ts"
import type { Callers } from "../http/callers.ts"
import { onlyStatuses } from "../http/callers.ts"
import { openTextingCompany } from "../texts/companies.ts"
import { DRAWN, FOR_MS, SIZE, SPENDING } from "./spending.ts"
import type { Left, Spent } from "./spent.ts"
import { spentAndLeftBy, spentBy } from "./spent.ts"

/** What is measured of an installation. */
export interface Installed {
  /** Of one text by HTTP: sent, settled and in every list. */
  readonly text: () => Promise<Spent & Left>
  /** Of one charge through the writer, in every list. */
  readonly charge: () => Promise<Spent & Left>
  /** Of making one company. */
  readonly company: () => Promise<Spent & Left>
  /** Of a second in which nobody calls. */
  readonly rest: () => Promise<Spent>
}

const TEXTING = 10
const KEYS_EACH = 20
const CONNECTIONS = 64
const REST_S = 2
const MADE = 50

/** Opens companies of all three kinds. */
export async function openInstalled(
  house: House,
  callers: Callers,
  signal: AbortSignal,
): Promise<Installed> {
  const { operate, ports, pool } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  const opening = Array.from({ length: TEXTING }, (_, i) =>
    openTextingCompany(house, `company ${i}`, KEYS_EACH),
  )
  const keys = (await Promise.all(opening)).flatMap((company) => company.keys)
  const told = { store: ports.store, wasToldAfterStore: () => undefined }
  const spending: SpendingCompany[] = []
  for (let i = 0; i < SPENDING; i += 1) {
    spending.push(await openCompany(told, ports.runner, SIZE, DRAWN))
  }
  const { entries, retired } = PROGRAM
  const port = await house.listen(await buildApp(ports, entries, retired, { rateLimits: "off" }))
  const asking: Asking = {
    method: "POST",
    path: sendText.url,
    texts: true,
    connections: CONNECTIONS,
    forMs: FOR_MS,
    keys,
    port,
  }
  let companies = TEXTING
  const settled = async (work: () => Promise<number>): Promise<Spent & Left> => {
    await house.settle()
    return spentAndLeftBy(pool, async () => {
      const count = await work()
      await house.settle()
      return count
    })
  }
  return {
    text: () =>
      settled(async () => {
        const answers = await callers.ask(asking)
        onlyStatuses(answers, [200, 429])
        return answers.ids.length
      }),
    charge: () =>
      settled(async () => {
        const one = (own: number) => (spending[own] as SpendingCompany).charge(ports.runner)
        return (await callTogether(SPENDING, one, signal, FOR_MS)).count
      }),
    company: () =>
      settled(async () => {
        for (let i = 0; i < MADE; i += 1) {
          const name = `idle ${companies + i}`
          honest((await operate("company create", { name, funds: "10" })) !== null, "no company")
        }
        companies += MADE
        return MADE
      }),
    rest: async () => {
      await house.settle()
      return spentBy(pool, async () => {
        await pause(REST_S * 1_000, undefined, { signal })
        return REST_S
      })
    },
  }
}
