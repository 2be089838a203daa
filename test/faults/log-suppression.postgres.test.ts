/** Log lines of an outage of the event store, and of other failures meanwhile. */
import { expect, it, onTestFinished } from "vitest"
import { AccessDenied, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import type { SuppressionTimeouts } from "../../src/bootstrap/open/log-suppression.ts"
import { openSuppressedLog } from "../../src/bootstrap/open/log-suppression.ts"
import { worldDatabase } from "../support/world-database.ts"
import { newSignal } from "../support/signal.ts"

const TIMEOUTS = { probeTimeoutMs: 100, probeIntervalMs: 20 }
const BEGINS = /^EventStoreDB has not answered since 20\S+Z$/
const ENDS = /^EventStoreDB answers again after \d+ s; failures meanwhile: (\d+) /

/** A log that watches a server with faults on demand, and a database that answers. */
async function openLogFixture(timeouts: SuppressionTimeouts = TIMEOUTS) {
  const database = await worldDatabase()
  onTestFinished(() => database.drop())
  const { notify, until } = newSignal()
  const lines: { readonly message: string; readonly error: unknown }[] = []
  const suppressed = openSuppressedLog(database.url, {
    info: () => undefined,
    warn: (message, error) => {
      lines.push({ message, error })
      notify()
    },
  })
  onTestFinished(() => suppressed.watch.stop())
  const server = { fault: null as Error | null, silent: false, probes: 0 }
  const head = async () => {
    server.probes += 1
    if (server.silent) return new Promise<never>(() => undefined)
    if (server.fault !== null) throw server.fault
    return null
  }
  const watch = suppressed.watchStore(head, timeouts)
  onTestFinished(() => watch.stop())
  const messages = () => lines.map(({ message }) => message)
  const untilLogged = async (count: number) => {
    await until(() => lines.length >= count)
    expect(lines).toHaveLength(count)
  }
  return { warn: suppressed.log.warn, lines, messages, untilLogged, server, watch }
}

const unavailable = () => new Unavailable("the event store is unavailable: connect ECONNREFUSED")

it("has two lines for an outage with any number of callers, whether the server is down or hangs", async () => {
  const { warn, messages, untilLogged, server, lines } = await openLogFixture()
  server.fault = unavailable()
  for (let i = 0; i < 50; i += 1) warn(`call ${i}`, new UnknownOutcome("it broke"))
  await untilLogged(1)
  expect(lines[0]).toEqual({ message: expect.stringMatching(BEGINS), error: server.fault })
  for (let i = 0; i < 50; i += 1) warn(`call ${i}`, unavailable())
  server.fault = null
  await untilLogged(2)
  expect(ENDS.exec(messages()[1] ?? "")?.[1]).toBe("100")
  server.silent = true
  warn("one", unavailable())
  warn("another", unavailable())
  await untilLogged(3)
  server.silent = false
  await untilLogged(4)
  expect(messages()[2]).toMatch(BEGINS)
  expect(messages()[3]).toMatch(ENDS)
})

it("has two lines for an outage that ended before it was noticed, and one for a single failure", async () => {
  const { warn, messages, untilLogged, watch } = await openLogFixture({ ...TIMEOUTS, lateMs: 300 })
  for (let i = 0; i < 70; i += 1) warn(`call ${i}`, new UnknownOutcome("no answer in time"))
  await untilLogged(2)
  expect(messages()).toEqual([
    "call 0",
    expect.stringMatching(
      /^EventStoreDB did not answer for a moment; other failures within 0 s: 69 /,
    ),
  ])
  warn("another", unavailable())
  await untilLogged(3)
  warn("one more", unavailable())
  await expect.poll(() => watch.probe()).toBe(true)
  // A stop logs the summary too.
  watch.stop()
  await untilLogged(4)
  expect(messages().slice(2)).toEqual([
    "another",
    expect.stringMatching(/other failures within .*: 1 /),
  ])
})

it("logs failures with other causes, even during an outage", async () => {
  const { warn, messages, untilLogged, server } = await openLogFixture()
  warn("busy", new Unavailable("too many appends are under way"))
  await untilLogged(1)
  server.fault = unavailable()
  warn("lost", unavailable())
  await untilLogged(2)
  const lost = Object.assign(new Error("gone"), { code: "ECONNRESET" })
  warn("a fault", new TypeError("no"))
  warn("the database", lost)
  warn("the database within", new Unavailable("no lock", { cause: lost }))
  warn("nothing", null)
  await untilLogged(6)
  expect(messages()).toEqual([
    "busy",
    expect.stringMatching(BEGINS),
    "a fault",
    "nothing",
    "the database",
    "the database within",
  ])
})

it("probes the event store only during an outage", async () => {
  const { warn, messages, untilLogged, server, watch } = await openLogFixture()
  expect(server.probes).toBe(0)
  server.fault = new AccessDenied("no")
  warn("access denied", unavailable())
  await untilLogged(1)
  expect(server.probes).toBe(1)
  server.fault = unavailable()
  warn("lost", unavailable())
  await untilLogged(2)
  watch.stop()
  server.fault = null
  expect(await watch.probe()).toBe(false)
  warn("lost", unavailable())
  expect(messages()).toEqual(["access denied", expect.stringMatching(BEGINS)])
})
