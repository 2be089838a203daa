/**
 * An EventStoreDB server that stops answering on open connections, or that is gone. Callers get 503 at their own
 * deadline, calls under way are resolved afterwards, and the log has one line at the start and one at the end.
 */
import { expectSoundAudit } from "../credits/buy-funds.ts"
import { afterAll, afterEach, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { storedEventsOf } from "../storage/store-contents.ts"
import { MESSAGES_PATH, newPhoneNumber } from "../phone/text-requests.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { newIdempotencyKey } from "./interrupted-requests.ts"
import { scaledMs } from "../support/scaled-time.ts"

/** Long enough for a call to reach its charge on a busy machine. */
const DEADLINE_MS = scaledMs(1_000)
/** Time for everything except waiting, on a busy machine. */
const SLACK_MS = 10_000
const CONCURRENT = 12

const server = await EventStoreDbServer.start()
afterAll(() => server.stop())
const world = await ownWorld("store", { eventStoreUrl: server.url, deadlineMs: DEADLINE_MS })
// Each test starts with a store that answers, even after a failed test.
afterEach(async () => {
  server.relay.thaw()
  if (isRefused) await accept()
  const answers = () => world.ports.store.head().then(Boolean, () => false)
  while (!(await answers()));
})

let isRefused = false

/** Accepts connections again. */
async function accept(): Promise<void> {
  isRefused = false
  await server.relay.accept()
}

async function countingApp() {
  const counted = { calls: 0 }
  const { runner } = world.ports
  const buffer = (async (target, item, deadlineMs) => {
    const fault = await runner.buffer(target, item, deadlineMs)
    if (fault === null) counted.calls += 1
    return fault
  }) as Ports["runner"]["buffer"]
  const app = await buildApp(
    { ...world.ports, runner: { ...runner, buffer } },
    PROGRAM.entries,
    PROGRAM.retiredPaths,
  )
  return { app, counted }
}

/** The log of an outage. */
const TWO_LINES = [
  expect.stringMatching(/^EventStoreDB has not answered since 20\S+Z: \w+: ./),
  expect.stringMatching(/^EventStoreDB answers again after \d+ s; failures meanwhile: \d\d+ /),
]

interface Text {
  readonly to: string
  readonly name: string
}

function textTo(to: string): Text {
  return { to, name: newIdempotencyKey() }
}

/** Freezes the store at the next charge, whose append begins with the buffered calls. */
async function freezeAtCharge(): Promise<void> {
  const silent = Promise.withResolvers<void>()
  server.faultOf = ({ types }) => {
    if (types.includes("Charged")) silent.resolve(server.relay.freeze())
    return "none"
  }
  await silent.promise
  server.faultOf = () => "none"
}

it(
  "an unresponsive store: calls get 503 in time, and each runs once when it is back",
  { timeout: 180_000 },
  async () => {
    const company = await makeCompany(world)
    const { app, counted } = await countingApp()
    const authorization = `Bearer ${company.key}`
    const send = async ({ to, name }: Text) => {
      const from = performance.now()
      const headers = { authorization, "idempotency-key": name }
      const payload = { to, body: "Hello" }
      const answer = await app.inject({ method: "POST", url: MESSAGES_PATH, headers, payload })
      const ms = performance.now() - from
      const later = answer.headers["retry-after"]
      return { ...answer.json(), status: answer.statusCode, ms, later }
    }
    const known = newPhoneNumber()
    expect((await send(textTo(known))).status).toBe(200)

    const before = world.warnings.length
    const warned = () => world.warnings.slice(before)
    const frozen = freezeAtCharge()
    const texts = Array.from({ length: CONCURRENT }, () => textTo(known))
    const sending = texts.map(send)
    await frozen
    const strangers = Array.from({ length: CONCURRENT }, () => textTo(newPhoneNumber()))
    const first = await Promise.all([...sending, ...strangers.map(send)])
    await world.untilWarned(before + 1)
    const second = await Promise.all(texts.map(send))
    for (const { status, error, later, ms } of [...first, ...second]) {
      expect([status, error, later]).toEqual([503, "unavailable", "5"])
      expect(ms).toBeLessThan(DEADLINE_MS + SLACK_MS)
    }
    const answersLike = (pattern: RegExp, among = first) =>
      among.filter(({ message }) => pattern.test(message))
    const unknown = answersLike(/^It is not known yet whether this was charged/)
    const undone = answersLike(/nothing was charged/)
    expect(unknown.length).toBeGreaterThan(0)
    expect(unknown.every(({ chargeId }) => chargeId.startsWith("chg_"))).toBe(true)
    expect(undone.length).toBeGreaterThan(0)
    expect(unknown.length + undone.length).toBe(first.length)
    expect(
      answersLike(/An earlier request with this Idempotency-Key may have been charged/, second),
    ).toHaveLength(CONCURRENT)

    server.relay.thaw()
    const untilDone = async (text: Text) => {
      for (;;) {
        const answer = await send(text)
        if (answer.status === 200) return answer.id as string
        expect([503, 409]).toContain(answer.status)
      }
    }
    const everything = [...texts, ...strangers]
    const ids = await Promise.all(everything.map(untilDone))
    expect(await Promise.all(everything.map(untilDone))).toEqual(ids)
    expect(new Set(ids).size).toBe(everything.length)

    await world.ports.runner.flush()
    await world.operate("wait")
    const facts = await storedEventsOf(world.ports.store)
    const ofType = (type: string) => facts.filter((fact) => fact.type === type)
    const charged = ofType("Charged").length - ofType("ChargeReduced").length
    expect(charged).toBe(everything.length + 1)
    const counters = ofType("ApiCallsCounted").flatMap(({ data }) => JSON.parse(data).counters)
    expect(counters.reduce((sum, { calls }) => sum + calls, 0)).toBe(counted.calls)
    await expectSoundAudit(world, company)
    await world.untilWarned(before + 2)
    expect(warned()).toEqual(TWO_LINES)
    await app.close()
  },
)

it("a store that is gone: the same, with one log line at the start and one at the end", async () => {
  const company = await makeCompany(world)
  const before = world.warnings.length
  const warned = () => world.warnings.slice(before)
  const send = async ({ to, name }: Text) => {
    const headers = { "idempotency-key": name }
    const sent = { body: { to, body: "Hello" }, headers }
    return (await world.call(company.key, "POST", MESSAGES_PATH, sent)).status
  }
  await server.relay.refuse()
  isRefused = true
  const texts = Array.from({ length: CONCURRENT }, () => textTo(newPhoneNumber()))
  for (const status of await Promise.all(texts.map(send))) expect(status).toBe(503)
  await world.untilWarned(before + 1)
  for (const status of await Promise.all(texts.map(send))) expect([503, 409]).toContain(status)
  await accept()
  await world.untilWarned(before + 2)
  const isSent = async (text: Text) => (await send(text)) === 200
  for (const text of texts) await expect.poll(() => isSent(text)).toBe(true)
  await world.operate("wait")
  expect(warned()).toEqual(TWO_LINES)
})
