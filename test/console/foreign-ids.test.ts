/** Another company's ids in every call of the API by a session: they are answered as what is not there. */
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { routesIn } from "../../src/frame/calls/one-of.ts"
import { reachedBy } from "../../src/frame/http/ways-in.ts"
import { PROGRAM } from "../../src/slices.ts"
import { useBoxes } from "../boxes/pretended.ts"
import { useDomains } from "../domains/pretended.ts"
import { useForms } from "../leads/forms.ts"
import { usePublishing } from "../publishing/pretended.ts"
import { rightRequest } from "../support/right-requests.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { useVoice } from "../voice/pretended.ts"
import type { Browser } from "./browser.ts"
import { browserOf } from "./comers.ts"

/** As ids look in examples: a kind, and letters and digits with at least one digit among them. */
const ID = /\b([a-z]{2,8})_(?=[A-Za-z]*\d)[0-9A-Za-z]{4,}\b/g

/** Every route that a session reaches and that an id is sent to, in its path, query or body. */
const ASKED = routesIn(reachedBy(PROGRAM.entries)).flatMap((route) => {
  const { path, query, body, headers } = rightRequest(route)
  const sent = JSON.stringify({ path: path + query, body: body ?? null })
  const kinds = [...new Set([...sent.matchAll(ID)].map(([, kind = ""]) => kind))]
  return kinds.length === 0 ? [] : [{ route, sent, kinds, headers }]
})
const KINDS = [...new Set(ASKED.flatMap(({ kinds }) => kinds))].toSorted()

let world: World
let company: Company
let others: readonly Company[]
let owner: Browser
let theirs: ReadonlyMap<string, string>
beforeAll(async () => {
  world = await openWorld({ settings: { RATE_LIMITS: "off" }, rateLimits: "off" })
  company = await makeCompany(world)
  const made: Company[] = []
  for (const use of [useBoxes, useVoice, usePublishing, useDomains, useForms]) {
    const other = await makeCompany(world)
    await use(world, other)
    made.push(other)
  }
  others = made
  await world.operate("wait")
  owner = await browserOf(world, company.ownerId)
  theirs = new Map((await Promise.all(made.map(idsOf))).flatMap((found) => [...found]))
}, 240_000)
afterAll(() => world.close())

/** An id of each kind that the read models show of a company. */
async function idsOf({ companyId }: Company): Promise<ReadonlyMap<string, string>> {
  const db = world.ports.readAll
  const { rows: columns } = await sql<{ table: string; column: string }>`
    select table_name as table, column_name as column from information_schema.columns
    where table_schema = 'read' and data_type = 'text' and column_name <> 'company_id'`.execute(db)
  const found = new Map<string, string>()
  const looksLike = `^(${KINDS.join("|")})_[0-9A-Za-z]+$`
  for (const { table, column } of columns) {
    const { rows } = await sql<{ id: string }>`
      select distinct ${sql.id(column)} as id from ${sql.table(`read.${table}`)}
      where company_id = ${companyId} and ${sql.id(column)} ~ ${looksLike}`.execute(db)
    for (const { id } of rows) found.set(id.slice(0, id.indexOf("_")), id)
  }
  return found
}

/** An id of the same form that names nothing. */
const noneLike = (id: string): string =>
  id.replace(/_.*/, (rest) => `_${"0".repeat(rest.length - 2)}1`)

async function answerTo({ route, sent, headers }: (typeof ASKED)[number], isNone: boolean) {
  const used: string[] = []
  const text = sent.replaceAll(ID, (_all, kind: string) => {
    const id = theirs.get(kind) ?? ""
    used.push(isNone ? noneLike(id) : id)
    return used.at(-1) ?? ""
  })
  const { path, body } = JSON.parse(text) as { readonly path: string; readonly body: object | null }
  const url = `/console/${company.companyId}${path}`
  const answer = await owner.send(route.method, url, body ?? undefined, { headers })
  const shown = used.reduce((all, id) => all.replaceAll(id, "ID"), JSON.stringify(answer.body))
  return { status: answer.status, body: shown.replaceAll(/req_\w+/g, "req") }
}

async function streamsOf(companies: readonly Company[]): Promise<string> {
  const found = []
  for (const { companyId } of companies) {
    found.push(await world.operate("audit streams", { company: companyId }))
  }
  return JSON.stringify(found)
}

describe("another company's ids", () => {
  it("are there, of each kind that is sent", () => {
    expect([...theirs.keys()].toSorted()).toEqual(KINDS)
    expect(ASKED.length).toBeGreaterThan(20)
    // What a path names is an id, or stands behind one.
    const named = routesIn(reachedBy(PROGRAM.entries)).filter(({ url }) => url.includes("/:"))
    expect(named.filter((route) => !ASKED.some((one) => one.route === route))).toEqual([])
  })

  it("are answered by every call as those that name nothing, and change nothing", async () => {
    const before = await streamsOf(others)
    for (const asked of ASKED) {
      const { name } = asked.route
      const [found, none] = [await answerTo(asked, false), await answerTo(asked, true)]
      expect([name, found]).toEqual([name, none])
    }
    expect(await streamsOf(others)).toBe(before)
  }, 120_000)
})
