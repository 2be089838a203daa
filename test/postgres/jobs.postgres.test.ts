import { describe, expect, it } from "vitest"
import type { JobQueue } from "../../adapters/postgres/jobs/port.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { NOW, jobQueueUnderTest } from "./database-under-test.ts"

const { add, others, pool, queue, runOut, take } = await jobQueueUnderTest()

describe("letting go", () => {
  it("frees what this process took without hearing of it, and nothing in hand or of others", async () => {
    for (const name of ["lost", "held"]) await add(name, name)
    const [lost, held] = await queue.claim(NOW, 10)
    await add("theirs", "theirs")
    await take(NOW, others)
    await queue.releaseExcept([held?.jobId ?? 0])
    expect(await take()).toEqual([lost?.name])
  })
})

describe("taking work", () => {
  it("gives what is due, as it was written, and no more than asked for", async () => {
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

  it("keeps the order of a subject, and lets no subject wait for another", async () => {
    for (const name of ["a1", "a2", "a3"]) await add("a", name)
    await add("b", "b1")
    const taken = await queue.claim(NOW, 10)
    expect(taken.map(({ name }) => name)).toEqual(["a1", "b1"])
    expect(await take(NOW, others)).toEqual([])
    await queue.settle(1, { result: "done" })
    expect(await take(NOW, others)).toEqual(["a2"])
  })

  it("holds a subject up while its first work waits out a back-off", async () => {
    await add("a", "a1")
    await add("a", "a2")
    await add("b", "b1")
    await take()
    await queue.settle(1, { result: "retry", afterMs: 60_000, reason: "busy" })
    expect(await take()).toEqual([])
    await runOut("retry_at")
    expect(await take()).toEqual(["a1"])
  })

  it("goes on with a subject when its first work is put off, or parked", async () => {
    for (const name of ["a1", "a2", "a3"]) await add("a", name)
    await take()
    await queue.settle(1, { result: "rescheduled", dueAt: NOW + 60_000, subject: "a1" })
    expect(await take()).toEqual(["a2"])
    await queue.settle(2, { result: "stuck", reason: "nobody knows" })
    expect(await take()).toEqual(["a3"])
    expect(await take(NOW + 60_000)).toEqual(["a1"])
  })

  it("gives nothing of a subject while something later of it is in another's hands", async () => {
    await add("a", "a1", NOW + 5)
    await add("a", "a2")
    expect(await take(NOW, others)).toEqual(["a2"])
    expect(await take(NOW + 5)).toEqual([])
    expect(await queue.countDue(NOW + 5)).toBe(2)
    await others.settle(2, { result: "done" })
    expect(await take(NOW + 5)).toEqual(["a1"])
  })

  it("goes through each subject in its order, one at a time, however many take", async () => {
    const queues = Array.from({ length: 4 }, (_, i) =>
      openPostgresJobQueue(pool, { ownId: `prc_${i}`, isAlive: async () => true }),
    )
    const subjects = ["a", "b", "c"]
    for (let i = 0; i < 20; i += 1) for (const name of subjects) await add(name, `${name}${i}`)
    const done = new Map<string, string[]>(subjects.map((name) => [name, []]))
    const inHand = new Set<string>()
    const work = async (from: JobQueue) => {
      while ((await from.countDue(NOW)) > 0) {
        for (const { jobId, subject, name } of await from.claim(NOW, 2)) {
          expect(inHand.has(subject)).toBe(false)
          inHand.add(subject)
          done.get(subject)?.push(name)
          await pool.query("select 1")
          inHand.delete(subject)
          await from.settle(jobId, { result: "done" })
        }
      }
    }
    await Promise.all(queues.map(work))
    for (const name of subjects) {
      expect(done.get(name)).toEqual(Array.from({ length: 20 }, (_, i) => `${name}${i}`))
    }
  })

  it("gives each row to one of many who ask at once", async () => {
    for (let i = 0; i < 40; i += 1) await add(`s${i}`, `n${i}`)
    const asked = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? queue : others).claim(NOW, 5))
    const names = (await Promise.all(asked)).flat().map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toHaveLength(40)
  })

  it("gives what a process held too long to another, counting the tries", async () => {
    await add("a", "a1")
    await take()
    expect(await take(NOW, others)).toEqual([])
    await runOut("leased_until")
    expect(await others.claim(NOW, 1)).toMatchObject([{ name: "a1", attempts: 2 }])
  })
})

describe("what became of work", () => {
  it("is nobody's business but the holder's, unless it is done", async () => {
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

  it("counts the tries of failures only: what is put off begins anew", async () => {
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

  it("shows when a row is tried again that waits out a back-off, by the machine's clock", async () => {
    await add("a", "a1")
    const afterMs = 3_600_000
    const before = Date.now()
    await queue.claim(NOW, 1)
    expect(await queue.list(1)).toMatchObject([{ attempts: 1, retryAt: null, running: true }])
    await queue.settle(1, { result: "retry", afterMs, reason: "busy" })
    const [row] = await queue.list(1)
    expect(row).toMatchObject({ attempts: 1, running: false, dueAt: new Date(NOW).toISOString() })
    // Its database's clock and ours are the same machine's or nearly so.
    expect(Date.parse(row?.retryAt ?? "") - before - afterMs).toBeLessThan(60_000)
    expect(Date.parse(row?.retryAt ?? "") - before - afterMs).toBeGreaterThan(-60_000)
    expect(await queue.retry(1, NOW, false)).toBe(true)
    expect(await queue.list(1)).toMatchObject([{ attempts: 0, retryAt: null }])
  })

  it("shows what is parked, first and with its reason, until somebody wants it tried again", async () => {
    await add("a", "a1")
    await add("b", "b1", NOW - 1)
    await queue.claim(NOW, 2)
    await queue.settle(1, { result: "stuck", reason: "nobody knows" })
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
        stuck: "nobody knows",
      },
      expect.objectContaining({ jobId: 2, running: true, stuck: null }),
    ])
    expect(await queue.list(1)).toHaveLength(1)
    expect(await take(NOW + 86_400_000)).toEqual([])
    expect(await queue.retry(1, NOW, false)).toBe(true)
    expect(await queue.claim(NOW, 1)).toMatchObject([{ jobId: 1, attempts: 1 }])
    expect(await queue.retry(99, NOW, true)).toBe(false)
  })

  it("that waits for a later time is due at once only where it may be early", async () => {
    await add("a", "a1", NOW + 1_000_000)
    expect(await queue.retry(1, NOW, false)).toBe(false)
    expect(await take()).toEqual([])
    expect(await queue.retry(1, NOW, true)).toBe(true)
    expect(await take()).toEqual(["a1"])
  })
})

describe("looking at the queue", () => {
  it("counts what is due, but not what waits out a back-off or behind one", async () => {
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
    await queue.settle(4, { result: "stuck", reason: "nobody knows" })
    expect(await queue.countDue(NOW)).toBe(0)
    expect(await queue.countDue(NOW + 1)).toBe(1)
    await runOut("retry_at")
    expect(await queue.countDue(NOW)).toBe(3)
  })

  it("tells how much there is, and since when: what waits out a back-off is due as well", async () => {
    const none = { due: 0, dueSince: null, stuck: 0, stuckSince: null }
    expect(await queue.backlog(NOW)).toEqual(none)
    await add("a", "a1", NOW - 5_000)
    await add("b", "b1", NOW - 9_001)
    await add("c", "c1", NOW)
    await add("d", "d1", NOW + 1)
    expect(await take()).toHaveLength(3)
    await queue.settle(1, { result: "retry", afterMs: 60_000, reason: "busy" })
    await queue.settle(2, { result: "stuck", reason: "nobody knows" })
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
