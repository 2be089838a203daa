/** Which rows the workers of a process take, and how they keep and lose them. */
import { vi, afterEach, beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import type {
  JobKindLimit,
  NewJob,
  ClaimedJob,
  JobQueue,
} from "../../adapters/postgres/jobs/port.ts"
import { parseCompanyId, parseStored } from "../../domain/kernel/ids.ts"
import type { Reaction, ReactionSpec } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import { startJobWorkers } from "../../src/frame/effects/job-workers.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { partialFake } from "../support/partial-fake.ts"

const LEASE_MS = 60_000

interface Row {
  readonly workId: number
  readonly work: Omit<NewJob, "companyId"> & { readonly companyId: string }
  holder: string | null
  leasedUntil: number
  tries: number
}

/** The table, and what a test sees of it. */
class PretendedQueue {
  readonly rows = new Map<number, Row>()
  #made = 0

  /** Adds a row that is due. */
  add(kind: string, companyId = "co_aaaaaa"): number {
    this.#made += 1
    const workId = this.#made
    const name = `row ${workId}`
    const work = { kind, name, subject: name, companyId, payload: {}, dueAt: 0 }
    this.rows.set(workId, { workId, work, holder: null, leasedUntil: 0, tries: 0 })
    return workId
  }

  /** Whose a row is by its lease; null for nobody's, undefined where there is none. */
  holderOf(workId: number): string | null | undefined {
    const row = this.rows.get(workId)
    if (row === undefined) return undefined
    return row.leasedUntil > Date.now() ? row.holder : null
  }

  /** The queue as one process asks it. */
  of(own: string): JobQueue {
    const isOwn = (workId: number) => this.rows.get(workId)?.holder === own
    const hold = (row: Row): ClaimedJob => {
      row.holder = own
      row.leasedUntil = Date.now() + LEASE_MS
      row.tries += 1
      const { workId: jobId, work, tries: attempts } = row
      const companyId = parseCompanyId(work.companyId)
      return { ...work, jobId, companyId, attempts, isDispatched: false }
    }
    return {
      claim: async (_now, limit, bounds = []) =>
        [...this.rows.values()]
          .filter(({ workId }) => this.holderOf(workId) === null)
          .filter(within(bounds, [...this.rows.values()], (id) => this.holderOf(id) !== null))
          .slice(0, limit)
          .map(hold),
      enqueueClaimed: async (work) => {
        if ([...this.rows.values()].some((row) => row.work.name === work.name)) return null
        const workId = this.add(work.kind)
        const row = { ...(this.rows.get(workId) as Row), work }
        this.rows.set(workId, row)
        return hold(row)
      },
      renewLeases: async (workIds) => {
        const ours = workIds.filter(isOwn)
        for (const id of ours) (this.rows.get(id) as Row).leasedUntil = Date.now() + LEASE_MS
        return ours
      },
      dispatch: async (workId) => isOwn(workId),
      releaseExcept: async (inHand) => {
        for (const row of this.rows.values()) {
          if (row.holder === own && !inHand.includes(row.workId)) row.holder = null
        }
      },
      settle: async (workId, { result }) => {
        const row = this.rows.get(workId)
        if (result === "done") this.rows.delete(workId)
        else if (row?.holder === own) {
          row.holder = null
          if (result === "let go") row.tries -= 1
        }
      },
      countDue: async () => this.rows.size,
      backlog: async () => ({ due: 0, dueSince: null, stuck: 0, stuckSince: null }),
      findNextDue: async () => null,
      listNames: async () => [],
      list: async () => [],
      find: async () => null,
      findByName: async () => null,
      discard: async () => false,
      retry: async () => false,
    }
  }
}

/** Whether a row may be taken beside those that come before it: as many of a bounded kind as its bound says. */
function within(
  bounds: readonly JobKindLimit[],
  rows: readonly Row[],
  isHeld: (id: number) => boolean,
) {
  const taken = new Map<string, number>()
  const add = (key: string) => taken.set(key, (taken.get(key) ?? 0) + 1)
  for (const { workId, work } of rows) {
    if (isHeld(workId)) add(`${work.kind} ${work.companyId}`)
  }
  return ({ work: { kind, companyId } }: Row): boolean => {
    const bound = bounds.find((one) => one.kind === kind)
    if (bound === undefined) return true
    const { perProcess, sharedPerProcess, perCompany } = bound
    if ((taken.get(kind) ?? 0) >= perProcess) return false
    if (sharedPerProcess !== null && (taken.get("shared") ?? 0) >= sharedPerProcess) return false
    if ((taken.get(`${kind} ${companyId}`) ?? 0) >= (perCompany ?? Infinity)) return false
    add(kind)
    if (sharedPerProcess !== null) add("shared")
    add(`${kind} ${companyId}`)
    return true
  }
}

/** What a test may change of a process. */
interface Around {
  readonly work?: Partial<JobQueue>
  readonly hasRead?: () => Promise<boolean>
}

/** The workers of a process, as they are started. */
function startedWorkers(
  queue: PretendedQueue,
  own: string,
  reactions: readonly Reaction[],
  { work = {}, hasRead: waitUntilRead = async () => true }: Around = {},
) {
  const warn = vi.fn<Ports["log"]["warn"]>()
  const ports = partialFake<Ports>({
    clock: { now: () => Date.now() },
    pacer: {
      elapsedMs: () => Date.now(),
      pause: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    },
    projector: { waitUntilRead },
    log: { warn },
    tracing: NO_TRACING,
    jobs: { ...queue.of(own), ...work },
  })
  return { workers: startJobWorkers(ports, reactions), warn }
}

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

type Bounded = Pick<ReactionSpec<object>, "isLong" | "concurrency">

/** Work that goes on until the test is over, or it is let go. */
const working = (own: string, kind: string, bounded: Bounded = {}) =>
  reaction<object>({
    kind,
    payload: z.object({}),
    discard: "nothing is lost",
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
  const companyId = parseStored(parseCompanyId, "co_aaaaaa")
  const work = { kind: "x", name: "new", subject: "new", companyId, payload: {}, dueAt: 0 }

  it("stays this process's while what was lost is let go of", async () => {
    const answers = Promise.withResolvers<void>()
    const real = queue.of("a")
    let isLost = true
    const own = {
      claim: async (...asked: Parameters<typeof real.claim>) => {
        const rows = await real.claim(...asked)
        if (isLost) throw new Error("the connection broke")
        return rows
      },
      // The row is in the table before its process hears of it.
      enqueueClaimed: async () => {
        const row = await real.enqueueClaimed(work)
        await answers.promise
        return row
      },
    }
    const lost = queue.add("x")
    const { workers, warn } = start("a", [working("a", "x")], { work: own })
    await pass()
    expect(warn).toHaveBeenCalledWith("jobs could not be claimed", expect.any(Error))
    expect(queue.holderOf(lost)).toBe("a")
    isLost = false
    const inserted = workers.runJobNow(work, NEVER)
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
      claim: async (...given: Parameters<typeof real.claim>): Promise<readonly ClaimedJob[]> => {
        takes += 1
        if (takes === 1) throw new Error("the connection broke")
        return real.claim(...given)
      },
      // It reaches the table late.
      releaseExcept: async (inHand: readonly number[]) => {
        await asked.promise
        await real.releaseExcept(inHand)
      },
    }
    const { workers } = start("a", [working("a", "x")], { work: own })
    await pass()
    const inserted = workers.runJobNow(work, NEVER)
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
      enqueueClaimed: async () => {
        const row = await real.enqueueClaimed(work)
        await answers.promise
        return row
      },
    }
    const taken = queue.add("x")
    const { workers } = start("a", [working("a", "x")], { work: own, hasRead: async () => false })
    await pass()
    expect(queue.holderOf(taken)).toBe("a")
    const inserted = workers.runJobNow(work, NEVER)
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
    const few = (own: string) => working(own, "few", { concurrency: { process: 4, company: 2 } })
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
