import { describe, expect, it } from "vitest"
import type { JobQueue } from "../../adapters/postgres/jobs/port.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { NOW, jobQueueUnderTest } from "./database-under-test.ts"

const { add, others, pool, queue, runOut, take } = await jobQueueUnderTest()

describe("releasing", () => {
  it("frees jobs that this process claimed without an answer, but no others", async () => {
    for (const name of ["lost", "held"]) await add(name, name)
    const [lost, held] = await queue.claim(NOW, 10)
    await add("theirs", "theirs")
    await take(NOW, others)
    await queue.releaseExcept([held?.jobId ?? 0])
    expect(await take()).toEqual([lost?.name])
  })
})

describe("claiming", () => {
  it("returns due jobs as they were stored, up to the requested number", async () => {
    await add("a", "a1")
    await add("b", "b1", NOW + 1)
    await add("c", "c1", NOW - 5)
    expect(await queue.claim(NOW, 1)).toEqual([
      {
        jobId: 3,
        kind: "send-text",
        name: "c1",
        subject: "c",
        companyId: "co_aaaaaa",
        payload: { a: [1] },
        attempts: 1,
        isDispatched: false,
        trace: null,
      },
    ])
    expect(await take()).toEqual(["a1"])
    expect(await take()).toEqual([])
    expect(await take(NOW + 1)).toEqual(["b1"])
  })

  it("keeps the order within a subject, and lets no subject wait for another", async () => {
    for (const name of ["a1", "a2", "a3"]) await add("a", name)
    await add("b", "b1")
    const taken = await queue.claim(NOW, 10)
    expect(taken.map(({ name }) => name)).toEqual(["a1", "b1"])
    expect(await take(NOW, others)).toEqual([])
    await queue.settle(1, { result: "done" })
    expect(await take(NOW, others)).toEqual(["a2"])
  })

  it("blocks a subject while its first job is in a back-off", async () => {
    await add("a", "a1")
    await add("a", "a2")
    await add("b", "b1")
    await take()
    await queue.settle(1, { result: "retry", afterMs: 60_000, reason: "busy" })
    expect(await take()).toEqual([])
    await runOut("retry_at")
    expect(await take()).toEqual(["a1"])
  })

  it("continues with a subject if its first job is postponed or stuck", async () => {
    for (const name of ["a1", "a2", "a3"]) await add("a", name)
    await take()
    await queue.settle(1, { result: "rescheduled", dueAt: NOW + 60_000, subject: "a1" })
    expect(await take()).toEqual(["a2"])
    await queue.settle(2, { result: "stuck", reason: "the outcome is unknown" })
    expect(await take()).toEqual(["a3"])
    expect(await take(NOW + 60_000)).toEqual(["a1"])
  })

  it("returns nothing of a subject while another process has a later job of it", async () => {
    await add("a", "a1", NOW + 5)
    await add("a", "a2")
    expect(await take(NOW, others)).toEqual(["a2"])
    expect(await take(NOW + 5)).toEqual([])
    expect(await queue.countDue(NOW + 5)).toBe(2)
    await others.settle(2, { result: "done" })
    expect(await take(NOW + 5)).toEqual(["a1"])
  })

  it("runs each subject's jobs in order, one at a time, with multiple processes", async () => {
    const queues = Array.from({ length: 4 }, (_, i) =>
      openPostgresJobQueue(pool, { ownId: `prc_${i}`, isAlive: async () => true }),
    )
    const subjects = ["a", "b", "c"]
    for (let i = 0; i < 20; i += 1) for (const name of subjects) await add(name, `${name}${i}`)
    const done = new Map<string, string[]>(subjects.map((name) => [name, []]))
    const running = new Set<string>()
    const runJobs = async (from: JobQueue) => {
      while ((await from.countDue(NOW)) > 0) {
        for (const { jobId, subject, name } of await from.claim(NOW, 2)) {
          expect(running.has(subject)).toBe(false)
          running.add(subject)
          done.get(subject)?.push(name)
          await pool.query("select 1")
          running.delete(subject)
          await from.settle(jobId, { result: "done" })
        }
      }
    }
    await Promise.all(queues.map(runJobs))
    for (const name of subjects) {
      expect(done.get(name)).toEqual(Array.from({ length: 20 }, (_, i) => `${name}${i}`))
    }
  })

  it("returns each job to one of several concurrent callers", async () => {
    for (let i = 0; i < 40; i += 1) await add(`s${i}`, `n${i}`)
    const claims = Array.from({ length: 16 }, (_, i) =>
      (i % 2 === 0 ? queue : others).claim(NOW, 5),
    )
    const names = (await Promise.all(claims)).flat().map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toHaveLength(40)
  })

  it("returns a job with an expired lease to another process, and counts the attempts", async () => {
    await add("a", "a1")
    await take()
    expect(await take(NOW, others)).toEqual([])
    await runOut("leased_until")
    expect(await others.claim(NOW, 1)).toMatchObject([{ name: "a1", attempts: 2 }])
  })
})

describe("the result of a job", () => {
  it("is accepted only from the process with the lease, unless the job is done", async () => {
    await add("a", "a1")
    await take()
    await runOut("leased_until")
    await others.claim(NOW, 1)
    await queue.settle(1, { result: "retry", afterMs: 0, reason: "late" })
    await queue.settle(1, { result: "rescheduled", dueAt: NOW })
    await queue.settle(1, { result: "stuck", reason: "late" })
    expect(await take()).toEqual([])
    expect(await queue.list(10)).toMatchObject([{ running: true, stuck: null }])
    await queue.settle(1, { result: "done" })
    expect(await queue.list(10)).toEqual([])
  })

  it("counts attempts of failures only; a postponed job starts from one", async () => {
    await add("a", "a1")
    for (const tries of [1, 2, 3]) {
      expect(await queue.claim(NOW, 1)).toMatchObject([{ attempts: tries }])
      await queue.settle(1, { result: "retry", afterMs: 0, reason: "busy" })
    }
    expect(await queue.claim(NOW, 1)).toMatchObject([{ attempts: 4 }])
    await queue.settle(1, { result: "rescheduled", dueAt: NOW + 1, kind: "ask-text" })
    expect(await queue.claim(NOW + 1, 1)).toMatchObject([
      { attempts: 1, kind: "ask-text", name: "a1" },
    ])
  })

  it("has the time of the next attempt, by the machine's clock", async () => {
    await add("a", "a1")
    const afterMs = 3_600_000
    const before = Date.now()
    await queue.claim(NOW, 1)
    expect(await queue.list(1)).toMatchObject([{ attempts: 1, retryAt: null, running: true }])
    await queue.settle(1, { result: "retry", afterMs, reason: "busy" })
    const [row] = await queue.list(1)
    expect(row).toMatchObject({ attempts: 1, running: false, dueAt: new Date(NOW).toISOString() })
    // The database's clock and this machine's are nearly equal.
    expect(Date.parse(row?.retryAt ?? "") - before - afterMs).toBeLessThan(60_000)
    expect(Date.parse(row?.retryAt ?? "") - before - afterMs).toBeGreaterThan(-60_000)
    expect(await queue.retry(1, NOW, false)).toBe(true)
    expect(await queue.list(1)).toMatchObject([{ attempts: 0, retryAt: null }])
  })

  it("lists a stuck job first, with its reason, until an operator retries it", async () => {
    await add("a", "a1")
    await add("b", "b1", NOW - 1)
    await queue.claim(NOW, 2)
    await queue.settle(1, { result: "stuck", reason: "the outcome is unknown" })
    expect(await queue.list(10)).toEqual([
      {
        jobId: 1,
        kind: "send-text",
        name: "a1",
        companyId: "co_aaaaaa",
        dueAt: new Date(NOW).toISOString(),
        attempts: 1,
        retryAt: null,
        running: false,
        stuck: "the outcome is unknown",
      },
      expect.objectContaining({ jobId: 2, running: true, stuck: null }),
    ])
    expect(await queue.list(1)).toHaveLength(1)
    expect(await take(NOW + 86_400_000)).toEqual([])
    expect(await queue.retry(1, NOW, false)).toBe(true)
    expect(await queue.claim(NOW, 1)).toMatchObject([{ jobId: 1, attempts: 1 }])
    expect(await queue.retry(99, NOW, true)).toBe(false)
  })

  it("makes a job with a later due time due only if it may run early", async () => {
    await add("a", "a1", NOW + 1_000_000)
    expect(await queue.retry(1, NOW, false)).toBe(false)
    expect(await take()).toEqual([])
    expect(await queue.retry(1, NOW, true)).toBe(true)
    expect(await take()).toEqual(["a1"])
  })
})

describe("the queue", () => {
  it("counts due jobs, but not those in or behind a back-off", async () => {
    await add("a", "a1")
    await add("a", "a2")
    await add("a", "a3")
    await add("b", "b1")
    await add("c", "c1", NOW + 1)
    expect(await queue.countDue(NOW)).toBe(4)
    await take()
    expect(await queue.countDue(NOW)).toBe(4)
    await queue.settle(1, { result: "retry", afterMs: 60_000, reason: "busy" })
    expect(await queue.countDue(NOW)).toBe(1)
    await queue.settle(4, { result: "stuck", reason: "the outcome is unknown" })
    expect(await queue.countDue(NOW)).toBe(0)
    expect(await queue.countDue(NOW + 1)).toBe(1)
    await runOut("retry_at")
    expect(await queue.countDue(NOW)).toBe(3)
  })

  it("has a backlog with the oldest due time, including jobs in a back-off", async () => {
    const none = { due: 0, dueSince: null, stuck: 0, stuckSince: null }
    expect(await queue.backlog(NOW)).toEqual(none)
    await add("a", "a1", NOW - 5_000)
    await add("b", "b1", NOW - 9_001)
    await add("c", "c1", NOW)
    await add("d", "d1", NOW + 1)
    expect(await take()).toHaveLength(3)
    await queue.settle(1, { result: "retry", afterMs: 60_000, reason: "busy" })
    await queue.settle(2, { result: "stuck", reason: "the outcome is unknown" })
    const wanted = { due: 2, dueSince: NOW - 5_000, stuck: 1, stuckSince: NOW - 9_001 }
    expect(await queue.backlog(NOW)).toEqual(wanted)
  })

  it("finds the next due time after now and up to an end, to the millisecond", async () => {
    await add("a", "a1")
    await add("b", "b1", NOW + 1)
    await add("c", "c1", NOW + 5)
    expect(await queue.findNextDue(NOW, NOW + 10)).toBe(NOW + 1)
    expect(await queue.findNextDue(NOW + 1, NOW + 10)).toBe(NOW + 5)
    expect(await queue.findNextDue(NOW + 1, NOW + 4)).toBeNull()
    expect(await queue.findNextDue(NOW + 5, NOW + 10)).toBeNull()
    expect(await queue.listNames("send-text")).toEqual(["a1", "b1", "c1"])
    expect(await queue.listNames("ask-text")).toEqual([])
  })
})
