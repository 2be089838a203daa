/** How the workers of a process claim, keep and lose jobs. */
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
  readonly jobId: number
  readonly work: Omit<NewJob, "companyId"> & { readonly companyId: string }
  holder: string | null
  leasedUntil: number
  tries: number
}

class MemoryJobQueue {
  readonly rows = new Map<number, Row>()
  #added = 0

  /** Adds a due job. */
  add(kind: string, companyId = "co_aaaaaa"): number {
    this.#added += 1
    const jobId = this.#added
    const name = `row ${jobId}`
    const work = { kind, name, subject: name, companyId, payload: {}, dueAt: 0 }
    this.rows.set(jobId, { jobId, work, holder: null, leasedUntil: 0, tries: 0 })
    return jobId
  }

  /** The process with the lease of a job; null if none has it, undefined if there is no such job. */
  holderOf(jobId: number): string | null | undefined {
    const row = this.rows.get(jobId)
    if (row === undefined) return undefined
    return row.leasedUntil > Date.now() ? row.holder : null
  }

  of(own: string): JobQueue {
    const isOwn = (jobId: number) => this.rows.get(jobId)?.holder === own
    const hold = (row: Row): ClaimedJob => {
      row.holder = own
      row.leasedUntil = Date.now() + LEASE_MS
      row.tries += 1
      const { jobId, work, tries: attempts } = row
      const companyId = parseCompanyId(work.companyId)
      return { ...work, jobId, companyId, attempts, isDispatched: false }
    }
    return {
      claim: async (_now, limit, bounds = []) =>
        [...this.rows.values()]
          .filter(({ jobId }) => this.holderOf(jobId) === null)
          .filter(within(bounds, [...this.rows.values()], (id) => this.holderOf(id) !== null))
          .slice(0, limit)
          .map(hold),
      enqueueClaimed: async (work) => {
        if ([...this.rows.values()].some((row) => row.work.name === work.name)) return null
        const jobId = this.add(work.kind)
        const row = { ...(this.rows.get(jobId) as Row), work }
        this.rows.set(jobId, row)
        return hold(row)
      },
      renewLeases: async (jobIds) => {
        const ours = jobIds.filter(isOwn)
        for (const id of ours) (this.rows.get(id) as Row).leasedUntil = Date.now() + LEASE_MS
        return ours
      },
      dispatch: async (jobId) => isOwn(jobId),
      releaseExcept: async (inHand) => {
        for (const row of this.rows.values()) {
          if (row.holder === own && !inHand.includes(row.jobId)) row.holder = null
        }
      },
      settle: async (jobId, { result }) => {
        const row = this.rows.get(jobId)
        if (result === "done") this.rows.delete(jobId)
        else if (row?.holder === own) {
          row.holder = null
          if (result === "released") row.tries -= 1
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

/** A filter that accepts jobs, in order, as long as the limits of their kinds allow. */
function within(
  bounds: readonly JobKindLimit[],
  rows: readonly Row[],
  isHeld: (id: number) => boolean,
) {
  const taken = new Map<string, number>()
  const add = (key: string) => taken.set(key, (taken.get(key) ?? 0) + 1)
  for (const { jobId, work } of rows) {
    if (isHeld(jobId)) add(`${work.kind} ${work.companyId}`)
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

/** Parts of a process that a test replaces. */
interface ProcessOverrides {
  readonly work?: Partial<JobQueue>
  readonly hasRead?: () => Promise<boolean>
}

function startedWorkers(
  queue: MemoryJobQueue,
  own: string,
  reactions: readonly Reaction[],
  { work = {}, hasRead: waitUntilRead = async () => true }: ProcessOverrides = {},
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

/** The queue, the jobs that began in order, and a promise that ends them all. */
let queue: MemoryJobQueue
let begun: string[]
let over: PromiseWithResolvers<void>
const stops: (() => Promise<void>)[] = []
beforeEach(() => {
  vi.useFakeTimers()
  queue = new MemoryJobQueue()
  begun = []
  over = Promise.withResolvers()
})
afterEach(async () => {
  over.resolve()
  await Promise.all(stops.splice(0).map((stop) => stop()))
  vi.useRealTimers()
})

type Bounded = Pick<ReactionSpec<object>, "isLong" | "concurrency">

/** A reaction whose jobs run until the test ends or the job is released. */
const working = (own: string, kind: string, bounded: Bounded = {}) =>
  reaction<object>({
    kind,
    payload: z.object({}),
    discard: "allowed",
    ...bounded,
    perform: async (_ports, { signal, name }) => {
      begun.push(`${own}: ${kind} ${name}`)
      const released = new Promise((resolve) => signal.addEventListener("abort", resolve))
      await Promise.race([over.promise, released])
      signal.throwIfAborted()
      return { result: "done" }
    },
  })

const start = (own: string, ...args: [Parameters<typeof startedWorkers>[2], object?]) => {
  const started = startedWorkers(queue, own, ...args)
  stops.push(started.workers.stop)
  return started
}
/** Lets time pass in which all processes look for jobs. */
const pass = (ms = 1_000) => vi.advanceTimersByTimeAsync(ms)
const held = (own: string) => [...queue.rows.values()].filter(({ holder }) => holder === own)

describe("a job that a call inserts", () => {
  const companyId = parseStored(parseCompanyId, "co_aaaaaa")
  const work = { kind: "x", name: "new", subject: "new", companyId, payload: {}, dueAt: 0 }

  it("stays with this process while lost claims are released", async () => {
    const answers = Promise.withResolvers<void>()
    const real = queue.of("a")
    let isLost = true
    const own = {
      claim: async (...args: Parameters<typeof real.claim>) => {
        const rows = await real.claim(...args)
        if (isLost) throw new Error("the connection broke")
        return rows
      },
      // The row is in the table before its process gets the answer.
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

  it("waits until lost claims are released", async () => {
    const release = Promise.withResolvers<void>()
    const real = queue.of("a")
    let takes = 0
    const own = {
      claim: async (...args: Parameters<typeof real.claim>): Promise<readonly ClaimedJob[]> => {
        takes += 1
        if (takes === 1) throw new Error("the connection broke")
        return real.claim(...args)
      },
      // The release reaches the table late.
      releaseExcept: async (inHand: readonly number[]) => {
        await release.promise
        await real.releaseExcept(inHand)
      },
    }
    const { workers } = start("a", [working("a", "x")], { work: own })
    await pass()
    const inserted = workers.runJobNow(work, NEVER)
    await pass()
    expect(begun).toEqual([])
    release.resolve()
    await pass()
    expect(begun).toEqual(["a: x new"])
    expect(queue.holderOf(1)).toBe("a")
    over.resolve()
    expect(await inserted).toBe(true)
  })

  it("stays with this process when a stop releases the others", async () => {
    const answers = Promise.withResolvers<void>()
    const real = queue.of("a")
    const own = {
      enqueueClaimed: async () => {
        const row = await real.enqueueClaimed(work)
        await answers.promise
        return row
      },
    }
    const claimed = queue.add("x")
    const { workers } = start("a", [working("a", "x")], { work: own, hasRead: async () => false })
    await pass()
    expect(queue.holderOf(claimed)).toBe("a")
    const inserted = workers.runJobNow(work, NEVER)
    await pass()
    let isStopped = false
    const stopped = workers.stop().then(() => (isStopped = true))
    await pass()
    expect(isStopped).toBe(false)
    expect([queue.holderOf(claimed), queue.rows.get(claimed)?.tries]).toEqual([null, 0])
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

describe("a running job", () => {
  it("stays with its process for an hour, although another process tries to claim it", async () => {
    const jobId = queue.add("long")
    start("a", [working("a", "long", { isLong: true })])
    await pass()
    start("b", [working("b", "long", { isLong: true })])
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await pass(MINUTE)
      expect(queue.holderOf(jobId)).toBe("a")
    }
    expect(begun).toEqual(["a: long row 1"])
    expect(queue.rows.get(jobId)?.tries).toBe(1)
  })

  it("is released if another process has claimed it", async () => {
    const jobId = queue.add("x")
    start("a", [working("a", "x")])
    await pass()
    Object.assign(queue.rows.get(jobId) ?? {}, { holder: "b" })
    await pass(MINUTE)
    expect(queue.holderOf(jobId)).not.toBe("b")
    expect(begun).toEqual(["a: x row 1", "a: x row 1"])
  })
})

describe("a process's capacity", () => {
  it("is reserved for short jobs: long jobs take at most half of it", async () => {
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

  it("is limited for a kind per process and per company", async () => {
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
