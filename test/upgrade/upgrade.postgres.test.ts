/** Derived ids stay what they were, and an upgrade of read models may be stopped and goes on. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { openInstallation } from "../../src/bootstrap/open/installation.ts"
import { derivedId } from "../../src/frame/kernel/ids.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { query } from "../support/embedded.ts"
import { testDatabase, execute } from "../support/postgres.ts"
import { openWorld, makeCompany } from "../support/world.ts"

const FOLDER = join(import.meta.dirname, "..", "data", "upgrade")

/** Ids and what they derive from. */
const DERIVED_IDS = JSON.parse(readFileSync(join(FOLDER, "derived-ids.json"), "utf8")) as readonly {
  readonly prefix: string
  readonly parts: readonly string[]
  readonly id: string
}[]

// A request that is sent again finds what was done by these: they may never come out otherwise.
describe("ids that derive from requests", () => {
  it.each(DERIVED_IDS)("$id", ({ prefix, parts, id }) => {
    expect(derivedId(prefix, ...parts)).toBe(id)
  })
})

const database = await testDatabase()
afterAll(() => database.drop())
const former = await openWorld("start", { url: database.url })
await makeCompany(former)
await former.operate("wait")
await former.close()
await execute(database.url, "update ledger.projections set version = 0 where name = 'companies'")

const versions = () =>
  query(database.url, "select version from ledger.projections where name = 'companies'")

it("a stop is heeded between two pages of events, and the next start builds it whole", async () => {
  const stop = new AbortController()
  const told: string[] = []
  const opening = openInstallation({
    databaseUrl: database.url,
    eventStoreUrl: null,
    databaseConnections: 24,
    clock: "test",
    masterKey: null,
    settings: settingsIn({ BOX_HOST: "simulator" }),
    dataDir: join(tmpdir(), `company-ledger-stopped-${randomUUID()}`),
    baseUrl: () => "http://ledger.test",
    log: {
      info: (message) => {
        told.push(message)
        if (message.includes("is built anew")) stop.abort(new Error("stopped"))
      },
      warn: () => undefined,
    },
    signal: stop.signal,
  })
  await expect(opening).rejects.toThrow("stopped")
  expect(told.join()).toContain("the read model companies is of another version")
  expect(await versions()).toEqual([{ version: 0 }])

  const again = await openWorld("start", { url: database.url })
  await again.close()
  expect(again.warnings).toEqual([])
  expect(await versions()).not.toEqual([{ version: 0 }])
})
