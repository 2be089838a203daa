/** A stop while the start builds a read model of another version anew, which may take an hour. */
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openInstallation } from "../../src/compose/installation.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  const world = await openWorld({ url: database.url })
  await makeCompany(world)
  await world.operate("wait")
  await world.close()
  await asked("update ledger.projections set version = 0 where name = 'companies'")
})
afterAll(() => database.drop())

async function asked(statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

const versions = () => asked("select version from ledger.projections where name = 'companies'")

/** Opens an installation on the database; `told` hears what its log is told. */
const open = (told: (message: string) => void, signal: AbortSignal) =>
  openInstallation({
    ...{ databaseUrl: database.url, eventStoreUrl: null, databaseConnections: 24, signal },
    ...{ clock: "test", masterKey: null, settings: settingsIn({ BOX_HOST: "simulator" }) },
    dataDir: join(tmpdir(), `company-ledger-stopped-${randomUUID()}`),
    baseUrl: () => "http://ledger.test",
    log: { info: told, warn: () => undefined },
  })

it("is heeded between two pages of events, and the next start builds it whole", async () => {
  const stop = new AbortController()
  const told: string[] = []
  const opening = open((message) => {
    told.push(message)
    if (message.includes("is built anew")) stop.abort(new Error("stopped"))
  }, stop.signal)
  await expect(opening).rejects.toThrow("stopped")
  expect(told.join()).toContain("the read model companies is of another version")
  expect(await versions()).toEqual([{ version: 0 }])

  const { close } = await open(() => undefined, new AbortController().signal)
  expect(await close()).toEqual([])
  expect(await versions()).not.toEqual([{ version: 0 }])
})
