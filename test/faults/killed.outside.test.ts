/** The API or EventStoreDB is killed repeatedly under load; callers retry unknown outcomes. */
import { afterAll, describe, expect, it } from "vitest"
import { queryRows } from "../support/embedded-postgres.ts"
import { ownDataFolder } from "../support/server-process.ts"
import { scaledMs } from "../support/scaled-time.ts"
import { ownDatabase } from "../support/world-database.ts"
import {
  RECOVERY_LIMIT_MS,
  newSeededNumbers,
  newTextKeys,
  senderOverHttp,
  roundCount,
  startTextLoad,
} from "./text-load.ts"
import { startEventStoreDb } from "./eventstoredb-process.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"
import type { SupervisedServer } from "./supervised-server.ts"
import { startSupervised } from "./supervised-server.ts"

const ROUNDS = Array.from({ length: roundCount(2, 20) }, (_, i) => i + 1)
const TEXTS = 100

const eventStore = await startEventStoreDb()
afterAll(() => eventStore.removeFiles())
const { seed, between } = newSeededNumbers()

interface Killed {
  readonly settings: Readonly<Record<string, string>>
  readonly kill: (server: SupervisedServer) => Promise<void>
  /** Whether each kill restarts the server. */
  readonly restartsServer: boolean
}

const API: Killed = { settings: {}, kill: (server) => server.kill(), restartsServer: true }
const EVENTSTOREDB: Killed = {
  settings: { LEDGER_EVENTSTORE_URL: eventStore.url },
  kill: () => eventStore.killAndRestart(),
  restartsServer: false,
}

describe.for([
  ["the API", API],
  ["EventStoreDB", EVENTSTOREDB],
] as const)("kill -9 of %s", async ([, { settings, kill, restartsServer }]) => {
  const databaseUrl = await ownDatabase()
  const folder = await ownDataFolder({
    DATABASE_URL: databaseUrl,
    LEDGER_CLOCK: "test",
    RATE_LIMITS: "off",
    ...settings,
  })
  const server = await startSupervised(folder)
  const sender = await makeSender(server)
  const acknowledged = new Map<string, string>()

  it.for(ROUNDS)(
    `loses nothing and charges nothing twice (seed ${seed}, round %i)`,
    { timeout: 180_000 },
    async (round) => {
      const load = startTextLoad(newTextKeys(TEXTS), senderOverHttp(server.address, sender.key))
      await load.untilAcknowledged(between(5, TEXTS - 40))
      const before = new Map(load.acknowledged)
      const killedAt = performance.now()
      await kill(server)
      await load.done
      expect(server.startCount()).toBe(restartsServer ? 1 + round : 1)
      expect(before.size).toBeLessThan(TEXTS)
      expect(load.recoveredAfterMs(killedAt)).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
      expect(load.acknowledged.size).toBe(TEXTS)
      for (const [name, id] of load.acknowledged) acknowledged.set(name, id)
      for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
      await expectSoundLedger(server, { ...sender, acknowledged })
    },
  )

  it("settles everything within an hour, charges exactly the acknowledged texts, and stops", async () => {
    await server.operate("clock advance", { duration: "2h" })
    await server.operate("wait")
    await expectSoundLedger(server, { ...sender, acknowledged }, true)
    const stored = await queryRows(databaseUrl, "select from eventstore.events limit 1")
    expect(stored).toHaveLength(restartsServer ? 1 : 0)
    expect(await server.stop()).toBe(0)
  })
})
