/**
 * PostgreSQL hangs without closing connections: it is frozen, or failed over to another machine without
 * a reset. Callers get an error in time, and service resumes by itself.
 */
import { setImmediate as soon } from "node:timers/promises"
import pg from "pg"
import { afterEach, describe, expect, it, onTestFinished } from "vitest"
import type { DatabaseTimeouts } from "../../adapters/postgres/watch.ts"
import { openInProcess } from "../../src/frame/http/operator-app.ts"
import { callOperation } from "../../src/frame/operator/cli/client.ts"
import { unlessUnresponsive } from "../../src/frame/operator/run-operation.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { CuttableConnection } from "../support/cuttable-connection.ts"
import { openCuttableConnection } from "../support/cuttable-connection.ts"
import { scaledMs } from "../support/scaled-time.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { ApiAnswer, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import type { TextLoad, TextSender } from "./text-load.ts"
import { RECOVERY_LIMIT_MS, newTextKeys, senderThroughCaller, startTextLoad } from "./text-load.ts"
import type { Company } from "../support/company.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"

/** Timeouts scaled to this machine's speed, so that slow answers do not count as an outage. */
const TIMEOUTS: DatabaseTimeouts = {
  statementTimeoutMs: scaledMs(1_500),
  writeBehindTimeoutMs: scaledMs(2_000),
  probeIntervalMs: scaledMs(1_000),
  outageTimeoutMs: scaledMs(800),
  recoveryTimeoutMs: scaledMs(400),
}
const TEXTS = 80
const DEADLINE_MS = scaledMs(3_000)
/** Rejected callers wait no longer than the deadline and this machine's time to answer. */
const ANSWERED_WITHIN_MS = DEADLINE_MS + 10_000

/** Messages for calls that could not be served. */
const UNAVAILABLE_MESSAGE =
  /nothing was charged|It is not known yet whether this was charged|may have been charged|still running/

/** Messages for calls with an unknown outcome. */
const UNKNOWN_OUTCOME_MESSAGE = /It is not known yet whether this was charged|may have been charged/

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly databaseUrl: string
  readonly connection: CuttableConnection
  readonly world: World
  readonly sender: Company
  readonly send: TextSender
  /** Answers with their latency. */
  readonly answers: { readonly answer: ApiAnswer; readonly tookMs: number }[]
}

/** An installation whose connection to its database can hang. */
async function openScene(): Promise<Scene> {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const connection = await openCuttableConnection(database.url)
  closing.push(() => connection.close())
  const world = await openWorld("store", {
    url: connection.url,
    clock: "system",
    timeouts: TIMEOUTS,
    rateLimits: "off",
    deadlineMs: DEADLINE_MS,
  })
  closing.push(() => world.close())
  const sender = await makeSender(world)
  const answers: Scene["answers"] = []
  const send: TextSender = async (name, to) => {
    const begunAt = performance.now()
    const answer = await senderThroughCaller(world.call, sender.key)(name, to)
    if (answer !== null) answers.push({ answer, tookMs: performance.now() - begunAt })
    return answer
  }
  return { databaseUrl: database.url, connection, world, sender, send, answers }
}

/** Expects proper answers to all calls during the outage, two log lines and a sound ledger. */
async function expectRecovered({ world, sender, answers }: Scene, load: TextLoad): Promise<void> {
  for (const { answer, tookMs } of answers.filter((one) => one.answer.status !== 200)) {
    expect(answer.body.message).toMatch(UNAVAILABLE_MESSAGE)
    expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS)
  }
  // Each call whose append was in progress is answered with an unknown outcome, and logged.
  const isUnknownOutcome = (warning: string) =>
    /^the outcome of request req_\w+ is unknown/.test(warning)
  const unknownOutcomes = answers.filter(({ answer }) =>
    UNKNOWN_OUTCOME_MESSAGE.test(answer.body.message ?? ""),
  )
  expect(world.warnings.filter(isUnknownOutcome).length).toBeLessThanOrEqual(unknownOutcomes.length)
  expect(world.warnings.filter((warning) => !isUnknownOutcome(warning))).toEqual([
    expect.stringMatching(/^PostgreSQL has not answered since 20\S+Z: /),
    expect.stringMatching(/^PostgreSQL answers again after \d+ s; failures meanwhile: \d+ /),
  ])
  await world.operate("wait")
  await expectSoundLedger(world, { ...sender, acknowledged: load.acknowledged })
}

describe("a PostgreSQL that hangs", () => {
  it("and was frozen serves all waiting callers afterwards, and nothing is charged twice", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    scene.connection.silence()
    await scene.world.untilWarned(1)
    const thawedAt = performance.now()
    scene.connection.thaw()
    await load.done
    expect(load.recoveredAfterMs(thawedAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    await expectRecovered(scene, load)
  })

  it("and fails over keeps no caller waiting for the former server", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    scene.connection.silence()
    await expect.poll(() => load.otherStatuses.get(503) ?? 0).toBeGreaterThan(5)
    await scene.world.untilWarned(1)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.connection.failOver()
    await load.done
    expect(load.recoveredAfterMs(overAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await expectRecovered(scene, load)
  })

  it("and fails over before the outage is noticed keeps no caller waiting either", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.connection.silence()
    scene.connection.failOver()
    await load.done
    expect(load.recoveredAfterMs(overAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await scene.world.operate("wait")
    await expectSoundLedger(scene.world, { ...scene.sender, acknowledged: load.acknowledged })
  })

  it("before it answers an append causes an unknown outcome, and a retry finds the one charge", async () => {
    const { databaseUrl, connection, world, sender, send, answers } = await openScene()
    const client = new pg.Client({ connectionString: databaseUrl })
    closing.push(() => client.end())
    await client.connect()
    const waitingForLock = async () => {
      const waiting = "select from pg_locks where locktype = 'advisory' and not granted"
      return (await client.query(waiting)).rowCount
    }
    const charged = async () => {
      const charges = "select from eventstore.events where stream = $1 and type = 'Charged'"
      return (await client.query(charges, [`ledger-${sender.companyId}`])).rowCount
    }
    await client.query("select pg_advisory_lock(hashtextextended('eventstore.append_many', 0))")
    const answering = send("missed", "+14155550101")
    await expect.poll(waitingForLock).toBeGreaterThan(0)
    connection.silence()
    await client.query("select pg_advisory_unlock_all()")
    await expect.poll(charged).toBe(1)
    const message = expect.stringMatching(/^It is not known yet whether this was charged/)
    const unknownOutcome = {
      error: "unavailable",
      message,
      chargeId: expect.stringMatching(/^chg_/),
    }
    expect(await answering).toMatchObject({ status: 503, body: unknownOutcome })
    connection.failOver()
    const again = () => send("missed", "+14155550101")
    await expect.poll(async () => (await again())?.status).toBe(200)
    const known = answers.at(-1)?.answer.body
    expect((await again())?.body).toEqual(known)
    expect(await charged()).toBe(1)
    await world.operate("wait")
    const acknowledged = new Map([["missed", known.id as string]])
    await expectSoundLedger(world, { ...sender, acknowledged })
  })
})

/** Runs an operator's command as the admin socket does. */
async function runOperation(world: World, operation: string, input: object = {}) {
  const begunAt = performance.now()
  const request = { operation, input, actor: "test", reason: null }
  const { signal } = new AbortController()
  const { send, close } = await openInProcess(PROGRAM.operations, world.ports, signal)
  const answer = await callOperation(send, request, { signal })
  await close()
  return { answer, tookMs: performance.now() - begunAt }
}

it("tells an operator within ten seconds since when PostgreSQL has not answered", async () => {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const connection = await openCuttableConnection(database.url)
  closing.push(() => connection.close())
  const world = await openWorld("start", { url: connection.url })
  closing.push(() => world.close())
  const { companyId } = await makeCompany(world)
  await world.operate("wait")
  connection.silence()
  const named = { company: companyId }
  const results = await Promise.all([
    runOperation(world, "job list"),
    runOperation(world, "job retry", { jobId: 1 }),
    runOperation(world, "company show", named),
    runOperation(world, "wait"),
  ])
  expect(world.ports.unresponsiveSince()).not.toBeNull()
  const since = /PostgreSQL has not answered since 20\S+Z/
  const [list] = results
  const show = await runOperation(world, "company show", named)
  for (const one of [list, show]) {
    expect(one?.answer).toMatchObject({ error: { message: expect.stringMatching(since) } })
  }
  results.push(show)
  for (const { answer, tookMs } of results) {
    expect(answer).toMatchObject({ error: { error: "unavailable" } })
    expect(tookMs).toBeLessThan(scaledMs(11_000))
  }
  connection.thaw()
  await expect.poll(world.ports.unresponsiveSince).toBeNull()
  expect((await runOperation(world, "job list")).answer).toHaveProperty("result")
})

/** A database that does not answer between two times, on a virtual clock. */
function openOutage(silentFromMs: number, silentToMs: number) {
  let nowMs = 0
  const pacer = {
    elapsedMs: () => nowMs,
    pause: async (ms: number) => {
      await soon()
      nowMs += ms
    },
  }
  const isSilent = () => nowMs >= silentFromMs && nowMs < silentToMs
  const unresponsiveSince = () => (isSilent() ? silentFromMs : null)
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  // An abandoned command continues until it is done or the test ends, because the clock may not advance any more.
  const commandLasting = async (ms: number) => {
    while (nowMs < ms && !isOver) await soon()
    return "done"
  }
  return { ports: { pacer, unresponsiveSince }, commandLasting, now: () => nowMs }
}

it("waits for a command while the database answers, and through a short outage", async () => {
  const { ports, commandLasting } = openOutage(10_000, 16_000)
  expect(await unlessUnresponsive(ports, false, commandLasting(3_600_000))).toBe("done")
})

it("lets a patient command continue through an outage, but not start during one", async () => {
  const later = openOutage(10_000, 100_000)
  expect(await unlessUnresponsive(later.ports, true, later.commandLasting(110_000))).toBe("done")
  const before = openOutage(0, 100_000)
  const tried = unlessUnresponsive(before.ports, true, before.commandLasting(110_000))
  await expect(tried).rejects.toThrow("has not answered since 1970-01-01T00:00:00.000Z")
  expect(before.now()).toBeLessThan(8_000)
})
