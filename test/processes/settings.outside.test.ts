/** Multiple processes with unusual settings: all serve, take operator commands and stop cleanly. */
import { expect, it, onTestFinished } from "vitest"
import { homeWorkerOf } from "../../adapters/postgres/home-worker.ts"
import { tagOfId } from "../../domain/kernel/ids.ts"
import { senderOverHttp } from "../faults/text-load.ts"
import { makeSender } from "../faults/charge-audit.ts"
import type { Company } from "../support/company.ts"
import { startEventStoreDb } from "../faults/eventstoredb-process.ts"
import { testDatabase } from "../support/test-database.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"

const PROCESSES = 2
const LONG_MS = 180_000

interface Running {
  readonly place: ServerDataFolder
  readonly server: ServerProcess
  /** One sender for each home process. */
  readonly senders: readonly Company[]
}

/** Starts two processes on an external PostgreSQL with these settings, and makes a company in each. */
async function run(settings: Record<string, string>): Promise<Running> {
  const database = await testDatabase({ migrated: false })
  onTestFinished(() => database.drop())
  const place = await makeDataFolder({
    RATE_LIMITS: "off",
    DATABASE_URL: database.url,
    ...settings,
  })
  onTestFinished(() => place.removeFiles())
  const server = await place.start("--processes", String(PROCESSES))
  await untilAllServe(server)
  const senders: Company[] = []
  for (let i = 0; Object.keys(senders).length < PROCESSES; i++) {
    const sender = await makeSender(place)
    senders[(homeWorkerOf(tagOfId(sender.companyId), PROCESSES) ?? 1) - 1] = sender
  }
  return { place, server, senders }
}

/** Waits until both processes serve. */
async function untilAllServe({ url }: ServerProcess): Promise<void> {
  for (let number = 1; number <= PROCESSES; number++) {
    const ready = () =>
      fetch(`${url}/readyz?process=${number}`).then(
        ({ status }) => status,
        () => null,
      )
    await expect.poll(ready).toBe(200)
  }
}

/** Sends a text from each company, checks the texts and the audit, and stops all processes. */
async function expectServiceAndStop(
  { place, server, senders }: Running,
  after = new Date(0),
): Promise<void> {
  const { operate } = place
  const since = after.toISOString()
  for (const [i, { key, companyId }] of senders.entries()) {
    const sent = await senderOverHttp(() => server.url, key)(`text-${i}`, `+1415555${2_000 + i}`)
    expect(sent).toMatchObject({ status: 200, body: { status: "queued" } })
    await operate("wait")
    const { messages } = await operate("message list", { company: companyId, since })
    expect(messages).toMatchObject([{ status: "sent" }])
  }
  expect(await operate("audit verify")).toMatchObject({ ok: true })
  const code = await server.endBySignal("SIGTERM")
  // On a busy machine the stop may time out, and then says what was left.
  const late = "stopped before all was done"
  const lines = server.log().split("\n").filter(Boolean)
  expect(lines.filter((line) => !line.includes(late))).toEqual([])
  expect(code).toBe(lines.length === 0 ? 0 : 1)
}

it("processes serve on all IPv4 and IPv6 addresses", { timeout: LONG_MS }, async () => {
  const running = await run({ HOST: "::" })
  const { port } = new URL(running.server.url)
  expect(running.server.url).toBe(`http://[::1]:${port}`)
  for (const host of ["127.0.0.1", "[::1]"]) {
    for (const number of [1, 2]) {
      const answer = await fetch(`http://${host}:${port}/readyz?process=${number}`)
      expect(answer.status, host).toBe(200)
    }
  }
  await expectServiceAndStop(running)
})

it(
  "processes share one test clock with their events in EventStoreDB",
  { timeout: LONG_MS },
  async () => {
    const eventStore = await startEventStoreDb()
    onTestFinished(() => eventStore.removeFiles())
    const running = await run({ LEDGER_CLOCK: "test", LEDGER_EVENTSTORE_URL: eventStore.url })
    const { now } = await running.place.runCommand("clock", "show")
    await running.place.runCommand("clock", "advance", "2d")
    await expectServiceAndStop(running, new Date(Date.parse(now) + 2 * 86_400_000 - 1))
  },
)
