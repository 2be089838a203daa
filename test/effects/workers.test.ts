/** Which rows the workers of a process take, and how they keep and lose them. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { z } from "zod"
import type { TakenWork } from "../../adapters/work/port.ts"
import { parseCompanyId, parsed } from "../../domain/kernel/ids.ts"
import type { ReactionSpec } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import { PretendedQueue, startedWorkers } from "./pretended-queue.ts"

const MINUTE = 60_000
const NEVER = new AbortController().signal

/** What is begun, in its order, and what ends it all. */
let queue: PretendedQueue
let begun: string[]
let over: PromiseWithResolvers<void>
const stops: (() => Promise<void>)[] = []
beforeEach(() => {
  vi.useFakeTimers()
  queue = new PretendedQueue()
  begun = []
  over = Promise.withResolvers()
})
afterEach(async () => {
  over.resolve()
  await Promise.all(stops.splice(0).map((stop) => stop()))
  vi.useRealTimers()
})

type Bounded = Pick<ReactionSpec<object>, "isLong" | "atOnce">

/** Work that goes on until the test is over, or it is let go. */
const working = (own: string, kind: string, bounded: Bounded = {}) =>
  reaction<object>({
    kind,
    payload: z.object({}),
    giveUp: "nothing is lost",
    ...bounded,
    perform: async (_ports, { signal, name }) => {
      begun.push(`${own}: ${kind} ${name}`)
      const letGo = new Promise((resolve) => signal.addEventListener("abort", resolve))
      await Promise.race([over.promise, letGo])
      signal.throwIfAborted()
      return { result: "done" }
    },
  })

const start = (own: string, ...args: [Parameters<typeof startedWorkers>[2], object?]) => {
  const started = startedWorkers(queue, own, ...args)
  stops.push(started.workers.stop)
  return started
}
/** Lets time pass in which all look for work. */
const pass = (ms = 1_000) => vi.advanceTimersByTimeAsync(ms)
const held = (own: string) => [...queue.rows.values()].filter(({ holder }) => holder === own)

describe("a row that a call inserts", () => {
  const companyId = parsed(parseCompanyId, "co_aaaaaa")
  const work = { kind: "x", name: "new", subject: "new", companyId, payload: {}, dueAt: 0 }

  it("stays this process's while what was lost is let go of", async () => {
    const answers = Promise.withResolvers<void>()
    const real = queue.of("a")
    let isLost = true
    const own = {
      take: async (...asked: Parameters<typeof real.take>) => {
        const rows = await real.take(...asked)
        if (isLost) throw new Error("the connection broke")
        return rows
      },
      // The row is in the table before its process hears of it.
      insertTaken: async () => {
        const row = await real.insertTaken(work)
        await answers.promise
        return row
      },
    }
    const lost = queue.add("x")
    const { workers, warn } = start("a", [working("a", "x")], { work: own })
    await pass()
    expect(warn).toHaveBeenCalledWith("work could not be taken", expect.any(Error))
    expect(queue.holderOf(lost)).toBe("a")
    isLost = false
    const inserted = workers.now(work, NEVER)
    await pass()
    start("b", [working("b", "x")])
    await pass()
    expect(queue.holderOf(2)).toBe("a")
    answers.resolve()
    await pass()
    expect(begun).toEqual(["a: x new", "a: x row 1"])
    over.resolve()
    expect(await inserted).toBe(true)
  })

  it("waits until what was lost is let go of", async () => {
    const asked = Promise.withResolvers<void>()
    const real = queue.of("a")
    let takes = 0
    const own = {
      take: async (...given: Parameters<typeof real.take>): Promise<readonly TakenWork[]> => {
        takes += 1
        if (takes === 1) throw new Error("the connection broke")
        return real.take(...given)
      },
      // It reaches the table late.
      letGo: async (inHand: readonly number[]) => {
        await asked.promise
        await real.letGo(inHand)
      },
    }
    const { workers } = start("a", [working("a", "x")], { work: own })
    await pass()
    const inserted = workers.now(work, NEVER)
    await pass()
    expect(begun).toEqual([])
    asked.resolve()
    await pass()
    expect(begun).toEqual(["a: x new"])
    expect(queue.holderOf(1)).toBe("a")
    over.resolve()
    expect(await inserted).toBe(true)
  })

  it("stays this process's where others are let go of, for a stop came before they were heard", async () => {
    const answers = Promise.withResolvers<void>()
    const real = queue.of("a")
    const own = {
      insertTaken: async () => {
        const row = await real.insertTaken(work)
        await answers.promise
        return row
      },
    }
    const taken = queue.add("x")
    const { workers } = start("a", [working("a", "x")], { work: own, hasRead: async () => false })
    await pass()
    expect(queue.holderOf(taken)).toBe("a")
    const inserted = workers.now(work, NEVER)
    await pass()
    let isStopped = false
    const stopped = workers.stop().then(() => (isStopped = true))
    await pass()
    expect(isStopped).toBe(false)
    expect([queue.holderOf(taken), queue.rows.get(taken)?.tries]).toEqual([null, 0])
    expect(queue.holderOf(2)).toBe("a")
    answers.resolve()
    await pass()
    expect(begun).toEqual(["a: x new"])
    over.resolve()
    await stopped
    expect(await inserted).toBe(true)
    expect(queue.holderOf(2)).toBeUndefined()
  })
})

describe("work in hand", () => {
  it("stays its process's for an hour, though another one tries to take it", async () => {
    const workId = queue.add("long")
    start("a", [working("a", "long", { isLong: true })])
    await pass()
    start("b", [working("b", "long", { isLong: true })])
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await pass(MINUTE)
      expect(queue.holderOf(workId)).toBe("a")
    }
    expect(begun).toEqual(["a: long row 1"])
    expect(queue.rows.get(workId)?.tries).toBe(1)
  })

  it("is let go where another process has it by now", async () => {
    const workId = queue.add("x")
    start("a", [working("a", "x")])
    await pass()
    Object.assign(queue.rows.get(workId) ?? {}, { holder: "b" })
    await pass(MINUTE)
    expect(queue.holderOf(workId)).not.toBe("b")
    expect(begun).toEqual(["a: x row 1", "a: x row 1"])
  })
})

describe("places", () => {
  it("are kept for short work: long work takes half of them and no more", async () => {
    for (let i = 0; i < 100; i += 1) queue.add(i % 2 === 0 ? "long" : "longer")
    const kinds = ["long", "longer"].map((kind) => working("a", kind, { isLong: true }))
    start("a", [...kinds, working("a", "short")])
    await pass(10_000)
    expect(held("a")).toHaveLength(32)
    for (let i = 0; i < 40; i += 1) queue.add("short")
    await pass(10_000)
    expect(held("a").filter(({ work }) => work.kind === "short")).toHaveLength(32)
    expect(held("a")).toHaveLength(64)
  })

  it("are given to a bounded kind by process and by company", async () => {
    const companies = ["co_aaaaaa", "co_bbbbbb", "co_cccccc", "co_dddddd", "co_eeeeee"]
    for (const company of companies) for (let i = 0; i < 3; i += 1) queue.add("few", company)
    const few = (own: string) => working(own, "few", { atOnce: { process: 4, company: 2 } })
    start("a", [few("a")])
    await pass(10_000)
    expect(held("a").map(({ work }) => work.companyId)).toEqual([
      "co_aaaaaa",
      "co_aaaaaa",
      "co_bbbbbb",
      "co_bbbbbb",
    ])
    start("b", [few("b")])
    await pass(10_000)
    expect(held("a")).toHaveLength(4)
    expect(held("b").map(({ work }) => work.companyId)).toEqual([
      "co_cccccc",
      "co_cccccc",
      "co_dddddd",
      "co_dddddd",
    ])
  })
})
