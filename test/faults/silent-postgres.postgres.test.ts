/**
 * PostgreSQL says nothing any more, and nobody says that it is gone: frozen, or failed over to another
 * machine without a reset. Whoever calls hears so in time, and afterwards all goes on by itself.
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

/** What this machine needs at most for an answer now decides how long nobody doubts of one. */
const WAITS: DatabaseTimeouts = {
  statementTimeoutMs: scaledMs(1_500),
  writeBehindTimeoutMs: scaledMs(2_000),
  probeIntervalMs: scaledMs(1_000),
  outageTimeoutMs: scaledMs(800),
  recoveryTimeoutMs: scaledMs(400),
}
const TEXTS = 80
const DEADLINE_MS = scaledMs(3_000)
/** Who is turned away waits no longer than the deadline, and what it takes this machine to say so. */
const ANSWERED_WITHIN_MS = DEADLINE_MS + 10_000

/** What a caller is told of a call that could not be served. */
const HONEST =
  /nothing was charged|It is not known yet whether this was charged|it is not known yet whether|still running/

/** What a caller is told whose call may have been served. */
const DOUBT = /It is not known yet whether this was charged|it is not known yet whether/

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly databaseUrl: string
  readonly way: CuttableConnection
  readonly world: World
  readonly sender: Company
  readonly send: TextSender
  /** What was answered, and how long it took. */
  readonly answers: { readonly answer: ApiAnswer; readonly tookMs: number }[]
}

/** An installation whose way to its database may fall silent. */
async function openScene(): Promise<Scene> {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const way = await openCuttableConnection(database.url)
  closing.push(() => way.close())
  const world = await openWorld("store", {
    url: way.url,
    clock: "system",
    waits: WAITS,
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
  return { databaseUrl: database.url, way, world, sender, send, answers }
}

/** What must hold for everybody who called meanwhile, and of what is stored. */
async function expectWell({ world, sender, answers }: Scene, load: TextLoad): Promise<void> {
  for (const { answer, tookMs } of answers.filter((one) => one.answer.status !== 200)) {
    expect(answer.body.message).toMatch(HONEST)
    expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS)
  }
  // Each call whose append was on its way is told of its doubt, and the operator too.
  const isDoubt = (said: string) => /^the outcome of request req_\w+ is unknown/.test(said)
  const inDoubt = answers.filter(({ answer }) => DOUBT.test(answer.body.message ?? ""))
  expect(world.warnings.filter(isDoubt).length).toBeLessThanOrEqual(inDoubt.length)
  expect(world.warnings.filter((said) => !isDoubt(said))).toEqual([
    expect.stringMatching(/^PostgreSQL has not answered since 20\S+Z: /),
    expect.stringMatching(/^PostgreSQL answers again after \d+ s; failures meanwhile: \d+ /),
  ])
  await world.operate("wait")
  await expectSoundLedger(world, { ...sender, acknowledged: load.acknowledged })
}

describe("a PostgreSQL that falls silent", () => {
  it("and was frozen serves all who waited, and nothing is charged twice", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    scene.way.silence()
    await scene.world.untilWarned(1)
    const thawedAt = performance.now()
    scene.way.thaw()
    await load.done
    expect(load.recoveredAfterMs(thawedAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    await expectWell(scene, load)
  })

  it("and is another one afterwards keeps nobody waiting for the first", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    scene.way.silence()
    await expect.poll(() => load.otherStatuses.get(503) ?? 0).toBeGreaterThan(5)
    await scene.world.untilWarned(1)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.way.failOver()
    await load.done
    expect(load.recoveredAfterMs(overAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await expectWell(scene, load)
  })

  it("and is another one at once keeps nobody waiting either, though nobody found it silent", async () => {
    const scene = await openScene()
    const load = startTextLoad(newTextKeys(TEXTS), scene.send)
    await load.untilAcknowledged(20)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.way.silence()
    scene.way.failOver()
    await load.done
    expect(load.recoveredAfterMs(overAt)).toBeLessThan(RECOVERY_LIMIT_MS)
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await scene.world.operate("wait")
    await expectSoundLedger(scene.world, { ...scene.sender, acknowledged: load.acknowledged })
  })

  it("with an answer on its way says that nobody knows, and has the charge found, once", async () => {
    const { databaseUrl, way, world, sender, send, answers } = await openScene()
    const line = new pg.Client({ connectionString: databaseUrl })
    closing.push(() => line.end())
    await line.connect()
    const isInLine = async () => {
      const waiting = "select from pg_locks where locktype = 'advisory' and not granted"
      return (await line.query(waiting)).rowCount
    }
    const charged = async () => {
      const charges = "select from eventstore.events where stream = $1 and type = 'Charged'"
      return (await line.query(charges, [`ledger-${sender.companyId}`])).rowCount
    }
    await line.query("select pg_advisory_lock(hashtextextended('eventstore.append_many', 0))")
    const answering = send("missed", "+14155550101")
    await expect.poll(isInLine).toBeGreaterThan(0)
    way.silence()
    await line.query("select pg_advisory_unlock_all()")
    await expect.poll(charged).toBe(1)
    const message = expect.stringMatching(/^It is not known yet whether this was charged/)
    const unsure = { error: "unavailable", message, chargeId: expect.stringMatching(/^chg_/) }
    expect(await answering).toMatchObject({ status: 503, body: unsure })
    way.failOver()
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

/** An operator's command as the admin socket has it run. */
async function give(world: World, operation: string, input: object = {}) {
  const begunAt = performance.now()
  const request = { operation, input, actor: "test", reason: null }
  const { signal } = new AbortController()
  const { send, close } = await openInProcess(PROGRAM.operations, world.ports, signal)
  const answer = await callOperation(send, request, { signal })
  await close()
  return { answer, tookMs: performance.now() - begunAt }
}

it("hears since when PostgreSQL does not answer, within ten seconds", async () => {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const way = await openCuttableConnection(database.url)
  closing.push(() => way.close())
  const world = await openWorld("start", { url: way.url })
  closing.push(() => world.close())
  const { companyId } = await makeCompany(world)
  await world.operate("wait")
  way.silence()
  const named = { company: companyId }
  const given = await Promise.all([
    give(world, "job list"),
    give(world, "job retry", { jobId: 1 }),
    give(world, "company show", named),
    give(world, "wait"),
  ])
  expect(world.ports.unresponsiveSince()).not.toBeNull()
  const since = /PostgreSQL has not answered since 20\S+Z/
  const [list] = given
  const show = await give(world, "company show", named)
  for (const one of [list, show]) {
    expect(one?.answer).toMatchObject({ error: { message: expect.stringMatching(since) } })
  }
  given.push(show)
  for (const { answer, tookMs } of given) {
    expect(answer).toMatchObject({ error: { error: "unavailable" } })
    expect(tookMs).toBeLessThan(scaledMs(11_000))
  }
  way.thaw()
  await expect.poll(world.ports.unresponsiveSince).toBeNull()
  expect((await give(world, "job list")).answer).toHaveProperty("result")
})

/** A database that falls silent and answers again at given times, by a clock that flies. */
function openFlight(silentFromMs: number, silentToMs: number) {
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
  // What is given up goes on until it is done, or the test is: the clock may stand still by then.
  const lasting = async (ms: number) => {
    while (nowMs < ms && !isOver) await soon()
    return "done"
  }
  return { ports: { pacer, unresponsiveSince }, lasting, now: () => nowMs }
}

it("waits as long as it takes while the database answers, and through a short silence", async () => {
  const { ports, lasting } = openFlight(10_000, 16_000)
  expect(await unlessUnresponsive(ports, false, lasting(3_600_000))).toBe("done")
})

it("is kept from an hour's work by no silence on the way, but by one at the beginning", async () => {
  const later = openFlight(10_000, 100_000)
  expect(await unlessUnresponsive(later.ports, true, later.lasting(110_000))).toBe("done")
  const before = openFlight(0, 100_000)
  const tried = unlessUnresponsive(before.ports, true, before.lasting(110_000))
  await expect(tried).rejects.toThrow("has not answered since 1970-01-01T00:00:00.000Z")
  expect(before.now()).toBeLessThan(8_000)
})
