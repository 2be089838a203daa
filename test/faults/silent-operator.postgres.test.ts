/** What an operator hears beside a server whose PostgreSQL says nothing, and when. */
import { setImmediate as soon } from "node:timers/promises"
import { afterEach, expect, it, onTestFinished } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { runOperation } from "../../src/frame/operator/run-operation.ts"
import { unlessSilent } from "../../src/frame/operator/silence.ts"
import { openWay } from "../support/cuttable.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { within } from "../support/within.ts"

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** An operator's command as the admin socket has it run. */
async function give(world: World, operation: string, input: object = {}) {
  const begunAt = performance.now()
  const request = { operation, input, actor: "test", reason: null }
  const talk = {
    progress: () => undefined,
    send: async () => undefined,
    signal: new AbortController().signal,
  }
  const answer = await runOperation(PROGRAM.operations, world.ports, request, talk)
  return { answer, tookMs: performance.now() - begunAt }
}

it("hears since when PostgreSQL does not answer, within ten seconds", async () => {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const way = await openWay(database.url)
  closing.push(() => way.close())
  const world = await openWorld("start", { url: way.url })
  closing.push(() => world.close())
  const { companyId } = await makeCompany(world)
  await world.operate("wait")
  way.silence()
  const named = { company: companyId }
  const given = await Promise.all([
    give(world, "work list"),
    give(world, "work retry", { workId: 1 }),
    give(world, "company show", named),
    give(world, "wait"),
  ])
  expect(world.ports.silentSince()).not.toBeNull()
  const since = /PostgreSQL does not answer since 20\S+Z/
  const [list] = given
  const show = await give(world, "company show", named)
  for (const one of [list, show]) {
    expect(one?.answer).toMatchObject({ error: { message: expect.stringMatching(since) } })
  }
  given.push(show)
  for (const { answer, tookMs } of given) {
    expect(answer).toMatchObject({ error: { error: "unavailable" } })
    expect(tookMs).toBeLessThan(within(11_000))
  }
  way.thaw()
  await expect.poll(world.ports.silentSince).toBeNull()
  expect((await give(world, "work list")).answer).toHaveProperty("result")
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
  const silentSince = () => (isSilent() ? silentFromMs : null)
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  // What is given up goes on until it is done, or the test is: the clock may stand still by then.
  const lasting = async (ms: number) => {
    while (nowMs < ms && !isOver) await soon()
    return "done"
  }
  return { ports: { pacer, silentSince }, lasting, now: () => nowMs }
}

it("waits as long as it takes while the database answers, and through a short silence", async () => {
  const { ports, lasting } = openFlight(10_000, 16_000)
  expect(await unlessSilent(ports, false, lasting(3_600_000))).toBe("done")
})

it("is kept from an hour's work by no silence on the way, but by one at the beginning", async () => {
  const later = openFlight(10_000, 100_000)
  expect(await unlessSilent(later.ports, true, later.lasting(110_000))).toBe("done")
  const before = openFlight(0, 100_000)
  const tried = unlessSilent(before.ports, true, before.lasting(110_000))
  await expect(tried).rejects.toThrow("does not answer since 1970-01-01T00:00:00.000Z")
  expect(before.now()).toBeLessThan(8_000)
})
