/** What the log says of a server of events that does not answer, and what it says all the same. */
import { expect, it, onTestFinished } from "vitest"
import { AccessDenied, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import type { SuppressionWaits } from "../../src/bootstrap/open/log-suppression.ts"
import { openSuppressedLog } from "../../src/bootstrap/open/log-suppression.ts"
import { worldDatabase } from "../support/world-database.ts"
import { newSignal } from "../support/signal.ts"

const WAITS = { probeTimeoutMs: 100, probeIntervalMs: 20 }
const BEGINS = /^EventStoreDB has not answered since 20\S+Z$/
const ENDS = /^EventStoreDB answers again after \d+ s; failures meanwhile: (\d+) /

/** A log over a server that fails as it is told, and a database that answers. */
async function openScene(waits: SuppressionWaits = WAITS) {
  const database = await worldDatabase()
  onTestFinished(() => database.drop())
  const { notify, until } = newSignal()
  const lines: { readonly message: string; readonly error: unknown }[] = []
  const calm = openSuppressedLog(database.url, {
    info: () => undefined,
    warn: (message, error) => {
      lines.push({ message, error })
      notify()
    },
  })
  onTestFinished(() => calm.watch.stop())
  const server = { fault: null as Error | null, silent: false, asked: 0 }
  const head = async () => {
    server.asked += 1
    if (server.silent) return new Promise<never>(() => undefined)
    if (server.fault !== null) throw server.fault
    return null
  }
  const watch = calm.watchStore(head, waits)
  onTestFinished(() => watch.stop())
  const said = () => lines.map(({ message }) => message)
  const untilSaid = async (count: number) => {
    await until(() => lines.length >= count)
    expect(lines).toHaveLength(count)
  }
  return { warn: calm.log.warn, lines, said, untilSaid, server, watch }
}

const refused = () => new Unavailable("the event store is unavailable: connect ECONNREFUSED")

it("has two lines for any number of callers, of one that is gone as of one that is silent", async () => {
  const { warn, said, untilSaid, server, lines } = await openScene()
  server.fault = refused()
  for (let i = 0; i < 50; i += 1) warn(`call ${i}`, new UnknownOutcome("it broke"))
  await untilSaid(1)
  expect(lines[0]).toEqual({ message: expect.stringMatching(BEGINS), error: server.fault })
  for (let i = 0; i < 50; i += 1) warn(`call ${i}`, refused())
  server.fault = null
  await untilSaid(2)
  expect(ENDS.exec(said()[1] ?? "")?.[1]).toBe("100")
  server.silent = true
  warn("one", refused())
  warn("another", refused())
  await untilSaid(3)
  server.silent = false
  await untilSaid(4)
  expect(said()[2]).toMatch(BEGINS)
  expect(said()[3]).toMatch(ENDS)
})

it("has two lines for a silence that was over before anybody noticed it, and one for a single failure", async () => {
  const { warn, said, untilSaid, watch } = await openScene({ ...WAITS, lateMs: 300 })
  for (let i = 0; i < 70; i += 1) warn(`call ${i}`, new UnknownOutcome("no answer in time"))
  await untilSaid(2)
  expect(said()).toEqual([
    "call 0",
    expect.stringMatching(
      /^EventStoreDB did not answer for a moment; other failures within 0 s: 69 /,
    ),
  ])
  warn("another", refused())
  await untilSaid(3)
  warn("one more", refused())
  await expect.poll(() => watch.probe()).toBe(true)
  // Whoever stops hears of it too.
  watch.stop()
  await untilSaid(4)
  expect(said().slice(2)).toEqual([
    "another",
    expect.stringMatching(/other failures within .*: 1 /),
  ])
})

it("says what comes of anything else, silence or not", async () => {
  const { warn, said, untilSaid, server } = await openScene()
  warn("busy", new Unavailable("too many appends are under way"))
  await untilSaid(1)
  server.fault = refused()
  warn("lost", refused())
  await untilSaid(2)
  const lost = Object.assign(new Error("gone"), { code: "ECONNRESET" })
  warn("a fault", new TypeError("no"))
  warn("the database", lost)
  warn("the database within", new Unavailable("no lock", { cause: lost }))
  warn("nothing", null)
  await untilSaid(6)
  expect(said()).toEqual([
    "busy",
    expect.stringMatching(BEGINS),
    "a fault",
    "nothing",
    "the database",
    "the database within",
  ])
})

it("asks a server of events no longer than it is silent, and not at all before", async () => {
  const { warn, said, untilSaid, server, watch } = await openScene()
  expect(server.asked).toBe(0)
  server.fault = new AccessDenied("no")
  warn("who has no right hears so", refused())
  await untilSaid(1)
  expect(server.asked).toBe(1)
  server.fault = refused()
  warn("lost", refused())
  await untilSaid(2)
  watch.stop()
  server.fault = null
  expect(await watch.probe()).toBe(false)
  warn("lost", refused())
  expect(said()).toEqual(["who has no right hears so", expect.stringMatching(BEGINS)])
})
