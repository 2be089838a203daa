/** Every reading route shows the caller's own writes, waits for a position, and says when it may be stale. */
import { PROGRAM } from "../../src/slices.ts"
import { afterAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { formatPositionToken } from "../../src/frame/routes/checks/6-position.ts"
import { postText } from "../phone/text-requests.ts"
import type { World } from "../support/world.ts"
import { callApp, makeCallsFree, makeCompany, openWorld, ownWorld } from "../support/world.ts"
import { allReadAfterWriteCases, readAfterWriteCaseOf } from "../support/route-scenarios.ts"
import { validRequest } from "../support/api-contract.ts"
import { routeNameOf } from "../support/routes-table.ts"

const world = await ownWorld("store", { rateLimits: "off" })
/** Another process on the same database. */
const other = await openWorld("start", { url: world.databaseUrl })
/** Arguments of the waits of the app below. */
const waits: (readonly unknown[])[] = []
const waitUntilWritten = async (...wait: readonly unknown[]) => {
  waits.push(wait)
  return false
}
/** An app whose read models never catch up. */
const behind = await buildApp(
  { ...world.ports, projector: { ...world.ports.projector, waitUntilWritten } },
  PROGRAM.entries,
  PROGRAM.retiredPaths,
)
await makeCallsFree(world)
const company = await makeCompany(world)
await world.operate("key change", {
  keyId: company.keyId,
  addFundsPerPurchase: "60",
  addFundsPerMonth: "5000",
})
afterAll(async () => {
  await behind.close()
  await other.close()
})

/** A race appears only in some rounds. */
const ROUNDS = 3

/** From the slices' test folders. */
const READINGS = await allReadAfterWriteCases()

/**
 * All reading routes except files, which wait for their lines themselves, and paths with parameters, whose example
 * values do not exist: the slices' own tests read those.
 */
const READING_ROUTES = PROGRAM.routes
  .filter(
    ({ method, fileTypes, url }) =>
      method === "GET" && fileTypes === undefined && !url.includes("/:"),
  )
  .map((route) => ({
    name: routeNameOf(route, PROGRAM.routes),
    url: `${validRequest(route).path}${validRequest(route).query}`,
    reads: route.readModels ?? [],
  }))
const NAMES = READING_ROUTES.map(({ name }) => name)

async function headToken(): Promise<string> {
  return formatPositionToken(await world.ports.store.head(), 0)
}

const readAt = (from: World, key: string, url: string, position: string) =>
  from.call(key, "GET", url, { headers: { "ledger-position": position } })

describe("every reading route", () => {
  it.for(NAMES)("has a read-after-write case: %s", (name) => {
    expect(readAfterWriteCaseOf(READINGS, name)).toBeDefined()
  })

  it("exists if it has a case", () => {
    expect(Object.keys(READINGS).filter((name) => !NAMES.includes(name))).toEqual([])
  })

  it("gets a helpful error if it has no case", () => {
    expect(() => readAfterWriteCaseOf({}, "GET /a")).toThrow(
      /^GET \/a has no read-after-write case: add one .* `writeValue`/,
    )
  })
})

describe.for(READING_ROUTES)("$name", ({ name, url, reads }) => {
  it("shows the caller's own write immediately, and in another process at its position", async () => {
    const { writeValue, readValue } = readAfterWriteCaseOf(READINGS, name)
    for (let i = 0; i < ROUNDS; i += 1) {
      // The other process remembers what it was before.
      await other.call(company.key, "GET", url)
      const expected = await writeValue(world, company)
      const own = await world.call(company.key, "GET", url)
      const there = await readAt(other, company.key, url, await headToken())
      for (const { status, headers, body } of [own, there]) {
        expect([status, readValue(body)]).toEqual([200, expected])
        expect(headers["ledger-stale"]).toBeUndefined()
      }
    }
  })

  it("waits two seconds for its read models, then says that it may be stale", async () => {
    await postText(world, company.key)
    const head = await world.ports.store.head()
    waits.length = 0
    const requested = { headers: { "ledger-position": formatPositionToken(head, 0) } }
    const { status, headers } = await callApp(behind, company.key, "GET", url, requested)
    const isWaiting = reads.length > 0
    expect([status, headers["ledger-stale"]]).toEqual([200, isWaiting ? "true" : undefined])
    expect(waits).toEqual(isWaiting ? [[head, 2_000, reads]] : [])
  })

  it("rejects a position beyond the head and a malformed one", async () => {
    const { commit } = await world.ports.store.head()
    const beyond = formatPositionToken(
      { commit: commit + 1_000_000n, prepare: commit + 1_000_000n },
      0,
    )
    for (const position of [beyond, "no position"]) {
      const { status, body } = await readAt(world, company.key, url, position)
      expect([status, body.error, Object.keys(body.fields)]).toEqual([
        400,
        "validation",
        ["Ledger-Position"],
      ])
    }
  })
})
