/** A stop while the start builds a read model of another version anew, which may take an hour. */
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { openInstallation } from "../../src/compose/installation.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { query } from "../support/embedded.ts"
import { execute, testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

const database = await testDatabase()
afterAll(() => database.drop())
const world = await openWorld("start", { url: database.url })
await makeCompany(world)
await world.operate("wait")
await world.close()
await execute(database.url, "update ledger.projections set version = 0 where name = 'companies'")

const versions = () =>
  query(database.url, "select version from ledger.projections where name = 'companies'")

it("is heeded between two pages of events, and the next start builds it whole", async () => {
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
