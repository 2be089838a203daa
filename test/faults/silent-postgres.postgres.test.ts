/**
 * PostgreSQL says nothing any more, and nobody says that it is gone: frozen, or failed over to another
 * machine without a reset. Whoever calls hears so in time, and afterwards all goes on by itself.
 */
import pg from "pg"
import { afterEach, describe, expect, it } from "vitest"
import type { DatabaseWaits } from "../../adapters/postgres/watch.ts"
import type { CuttableWay } from "../support/cuttable.ts"
import { openWay } from "../support/cuttable.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import type { Answer, Load, Send } from "./callers.ts"
import { newNames, startLoad, textTo } from "./callers.ts"
import type { Sender } from "./company.ts"
import { makeSender } from "./company.ts"
import { reckon } from "./reckoning.ts"
import { within } from "../support/within.ts"

/** What this machine needs at most for an answer now decides how long nobody doubts of one. */
const WAITS: DatabaseWaits = {
  answerMs: within(1_500),
  behindMs: within(2_000),
  askMs: within(1_000),
  silentMs: within(800),
  doubtMs: within(400),
}
const TEXTS = 80
const DEADLINE_MS = within(3_000)
/** Who is turned away waits no longer than the deadline, and what it takes this machine to say so. */
const ANSWERED_WITHIN_MS = DEADLINE_MS + 1_500
const BACK_WITHIN_MS = 3_000

/** What a caller is told of a call that could not be served. */
const HONEST =
  /nothing was charged|Nobody knows yet whether this was charged|it is not known yet whether|still running/

/** What a caller is told whose call may have been served. */
const DOUBT = /Nobody knows yet whether this was charged|it is not known yet whether/

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly databaseUrl: string
  readonly way: CuttableWay
  readonly world: World
  readonly sender: Sender
  readonly send: Send
  /** What was answered, and how long it took. */
  readonly answers: { readonly answer: Answer; readonly tookMs: number }[]
}

/** An installation whose way to its database may fall silent. */
async function openScene(): Promise<Scene> {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const way = await openWay(database.url)
  closing.push(() => way.close())
  const world = await openWorld("store", {
    url: way.url,
    clock: "system",
    waits: WAITS,
    rateLimits: "off",
    deadlineMs: DEADLINE_MS,
  })
  closing.push(() => world.close())
  const sender = await makeSender(world.operate, "silent")
  const answers: Scene["answers"] = []
  const send: Send = async (name, to) => {
    const begunAt = performance.now()
    const given = await world.app.inject({
      method: "POST",
      url: "/api/v1/phone/messages",
      headers: { authorization: `Bearer ${sender.key}`, "idempotency-key": name },
      payload: textTo(to),
    })
    const answer = { status: given.statusCode, body: given.json() }
    answers.push({ answer, tookMs: performance.now() - begunAt })
    return answer
  }
  return { databaseUrl: database.url, way, world, sender, send, answers }
}

/** What must hold for everybody who called meanwhile, and of what is stored. */
async function expectWell({ world, sender, answers }: Scene, load: Load): Promise<void> {
  for (const { answer, tookMs } of answers.filter((one) => one.answer.status !== 200)) {
    expect(answer.body.message).toMatch(HONEST)
    expect(tookMs).toBeLessThan(within(ANSWERED_WITHIN_MS))
  }
  // Each call whose append was on its way is told of its doubt, and the operator too.
  const isDoubt = (said: string) => /^the outcome of request req_\w+ is unknown/.test(said)
  const inDoubt = answers.filter(({ answer }) => DOUBT.test(answer.body.message ?? ""))
  expect(world.warnings.filter(isDoubt).length).toBeLessThanOrEqual(inDoubt.length)
  expect(world.warnings.filter((said) => !isDoubt(said))).toEqual([
    expect.stringMatching(/^PostgreSQL does not answer since 20\S+Z: /),
    expect.stringMatching(/^PostgreSQL answers again, after \d+ s; what failed meanwhile: \d+ /),
  ])
  await world.operate("wait")
  await reckon(world.operate, { ...sender, acknowledged: load.acknowledged })
}

describe("a PostgreSQL that falls silent", () => {
  it("and was frozen serves all who waited, and nothing is charged twice", async () => {
    const scene = await openScene()
    const load = startLoad(newNames(TEXTS), scene.send)
    await load.reached(20)
    scene.way.silence()
    await expect.poll(() => scene.world.warnings.length).toBe(1)
    const thawedAt = performance.now()
    scene.way.thaw()
    await load.done
    expect(load.backAfterMs(thawedAt)).toBeLessThan(within(BACK_WITHIN_MS))
    await expectWell(scene, load)
  })

  it("and is another one afterwards keeps nobody waiting for the first", async () => {
    const scene = await openScene()
    const load = startLoad(newNames(TEXTS), scene.send)
    await load.reached(20)
    scene.way.silence()
    await expect.poll(() => load.others.get(503) ?? 0).toBeGreaterThan(5)
    await expect.poll(() => scene.world.warnings.length).toBe(1)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.way.failOver()
    await load.done
    expect(load.backAfterMs(overAt)).toBeLessThan(within(BACK_WITHIN_MS))
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await expectWell(scene, load)
  })

  it("and is another one at once keeps nobody waiting either, though nobody found it silent", async () => {
    const scene = await openScene()
    const load = startLoad(newNames(TEXTS), scene.send)
    await load.reached(20)
    const before = new Map(load.acknowledged)
    const overAt = performance.now()
    scene.way.silence()
    scene.way.failOver()
    await load.done
    expect(load.backAfterMs(overAt)).toBeLessThan(within(WAITS.askMs + BACK_WITHIN_MS))
    for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
    await scene.world.operate("wait")
    await reckon(scene.world.operate, { ...scene.sender, acknowledged: load.acknowledged })
  })

  it("with an answer on its way says that nobody knows, and has the charge found, once", async () => {
    const { databaseUrl, way, world, sender, send } = await openScene()
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
    const message = expect.stringMatching(/^Nobody knows yet whether this was charged/)
    const unsure = { error: "unavailable", message, chargeId: expect.stringMatching(/^chg_/) }
    expect(await answering).toMatchObject({ status: 503, body: unsure })
    way.failOver()
    let first: Answer | null = null
    const isServed = async () => {
      first = await send("missed", "+14155550101")
      return first?.status
    }
    await expect.poll(isServed).toBe(200)
    expect(await send("missed", "+14155550101")).toEqual(first)
    expect(await charged()).toBe(1)
    await world.operate("wait")
    const acknowledged = new Map([["missed", (first as Answer | null)?.body.id as string]])
    await reckon(world.operate, { ...sender, acknowledged })
  })
})
