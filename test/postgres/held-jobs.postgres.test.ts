import { describe, expect, it } from "vitest"
import { homeWorkerSql, homeWorkerOf } from "../../adapters/postgres/home-worker.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { companyIdFromTag } from "../../domain/kernel/ids.ts"
import { NOW, jobQueueUnderTest } from "./database-under-test.ts"

const { add, others, pool, queue, runOut, take } = await jobQueueUnderTest()

describe("a claimed job", () => {
  const again = { kind: "send-text", name: "a1", subject: "a", companyId: "co_aaaaaa" } as const

  it("has its lease renewed, but not by a process that has lost it", async () => {
    await add("a", "a1")
    await add("b", "b1")
    await take()
    await pool.query("update ledger.jobs set leased_until = now() + interval '1 second'")
    expect(await queue.renewLeases([1, 2, 99])).toEqual([1, 2])
    const { rows } = await pool.query<{ name: string }>(
      "select name from ledger.jobs where leased_until > now() + interval '50 seconds'",
    )
    expect(rows).toHaveLength(2)
    await runOut("leased_until")
    await others.claim(NOW, 1)
    expect(await queue.renewLeases([1, 2])).toEqual([2])
  })

  it("stays dispatched until its provider says that it did nothing", async () => {
    await add("a", "a1")
    await take()
    await queue.dispatch(1)
    await queue.settle(1, { result: "retry", afterMs: 0, reason: "a fault" })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: true }])
    await queue.settle(1, { result: "retry", afterMs: 0, reason: "away", isDispatchCleared: true })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: false }])
  })

  it("is not dispatched by a process that has lost it, even among several dispatches", async () => {
    await add("a", "a1")
    await add("b", "b1")
    await take()
    await runOut("leased_until")
    expect(await others.claim(NOW, 1)).toMatchObject([{ jobId: 1, isDispatched: false }])
    expect(await Promise.all([1, 2, 99].map((id) => queue.dispatch(id)))).toEqual([
      false,
      true,
      false,
    ])
    const held = await pool.query("select dispatched_at, job_id from ledger.jobs order by job_id")
    expect(held.rows).toEqual([
      { job_id: 1, dispatched_at: null },
      { job_id: 2, dispatched_at: expect.any(Date) },
    ])
    expect(await others.dispatch(1)).toBe(true)
  })

  it("has its lease extended by a minute when it is dispatched", async () => {
    await add("a", "a1")
    await take()
    await pool.query("update ledger.jobs set leased_until = now() + interval '1 second'")
    expect(await queue.dispatch(1)).toBe(true)
    const { rows } = await pool.query(
      "select name from ledger.jobs where leased_until > now() + interval '50 seconds'",
    )
    expect(rows).toHaveLength(1)
  })

  it("is not dispatched any more if it is released before the call of its provider", async () => {
    await add("a", "a1")
    await take()
    await queue.dispatch(1)
    await queue.settle(1, { result: "released", isDispatchCleared: true })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: false, attempts: 1 }])
    await queue.dispatch(1)
    await queue.settle(1, { result: "released" })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: true, attempts: 1 }])
  })

  it("can be claimed by another process immediately after its release, without a counted attempt", async () => {
    await add("a", "a1")
    await take()
    await queue.settle(1, { result: "released" })
    expect(await others.claim(NOW, 1)).toMatchObject([{ name: "a1", attempts: 1 }])
  })

  it("can be enqueued by the process that runs it, and the projection does not add it again", async () => {
    const item = { ...again, payload: { b: 1 }, dueAt: NOW }
    expect(await queue.enqueueClaimed(item)).toMatchObject({
      jobId: 1,
      attempts: 1,
      payload: { b: 1 },
    })
    expect(await others.enqueueClaimed(item)).toBeNull()
    expect(await take(NOW, others)).toEqual([])
  })
})

describe("a job kind with a maximum of claims", () => {
  const none = { sharedPerProcess: null, perMachine: null, perCompany: null }
  const limited = (most: number, perCompany: number | null = null) => [
    { ...none, kind: "send-text", perProcess: most, perCompany },
  ]

  it("shares the places of long jobs with other kinds", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await add(name, name)
    await pool.query("update ledger.jobs set kind = 'other' where name in ('b', 'c')")
    await pool.query("update ledger.jobs set kind = 'separate' where name = 'e'")
    const shared = { ...none, perProcess: 10, sharedPerProcess: 3 }
    const bounds = [
      ...["send-text", "other"].map((kind) => ({ kind, ...shared })),
      { ...shared, kind: "separate", sharedPerProcess: null },
    ]
    const names = (await queue.claim(NOW, 10, bounds)).map(({ name }) => name)
    expect(names).toEqual(["a", "d", "b", "e"])
  })

  it("is claimed up to its maximum, and other kinds are claimed too", async () => {
    for (const name of ["a", "b", "c"]) await add(name, name)
    await pool.query("update ledger.jobs set kind = 'other' where name = 'b'")
    expect((await queue.claim(NOW, 10, limited(1))).map(({ name }) => name)).toEqual(["b", "a"])
    expect(await queue.claim(NOW, 10, limited(0))).toEqual([])
    expect((await queue.claim(NOW, 10, limited(5))).map(({ name }) => name)).toEqual(["c"])
  })

  it("takes no lock while none of its jobs is due or all are claimed", async () => {
    await add("a", "a")
    await add("later", "later", NOW + 1)
    expect(await queue.claim(NOW, 10, limited(5))).toMatchObject([{ name: "a" }])
    const client = await pool.connect()
    try {
      // A claim of this kind waits for this lock.
      await client.query("select pg_advisory_lock(hashtext('work send-text'))")
      expect(await queue.claim(NOW, 10, limited(5))).toEqual([])
      expect(await others.claim(NOW, 10, limited(5))).toEqual([])
    } finally {
      client.release(true)
    }
    expect(await others.claim(NOW + 1, 10, limited(5))).toMatchObject([{ name: "later" }])
  })

  it("is claimed up to its maximum per company, over all processes", async () => {
    for (let i = 0; i < 6; i += 1) await add(`s${i}`, `n${i}`)
    await pool.query("update ledger.jobs set company_id = 'co_bbbbbb' where name = 'n5'")
    const claims = [queue, others, queue, others].map((one) => one.claim(NOW, 10, limited(10, 2)))
    const names = (await Promise.all(claims)).flat().map(({ name }) => name)
    expect(names.toSorted()).toEqual(["n0", "n1", "n5"])
  })

  it("is claimed up to its maximum per machine, over all its processes", async () => {
    await pool.query(`insert into ledger.processes (process_id, lock_key, machine) values
      ('prc_own', 1, 'left'), ('prc_other', 2, 'left'), ('prc_far', 3, 'right')`)
    const far = openPostgresJobQueue(pool, { ownId: "prc_far", isAlive: async () => true })
    for (let i = 0; i < 6; i += 1) await add(`s${i}`, `n${i}`)
    const bounds = [{ ...none, kind: "send-text", perProcess: 10, perMachine: 2 }]
    const claims = [queue, others, queue, others].map((one) => one.claim(NOW, 10, bounds))
    const names = (await Promise.all(claims)).flat().map(({ name }) => name)
    expect(names.toSorted()).toEqual(["n0", "n1"])
    expect((await far.claim(NOW, 10, bounds)).map(({ name }) => name)).toEqual(["n2", "n3"])
    await queue.settle(1, { result: "done" })
    expect((await others.claim(NOW, 10, bounds)).map(({ name }) => name)).toEqual(["n4"])
  })
})

const TAGS = Array.from({ length: 300 }, (_, i) => `Tag${String(i).padStart(3, "0")}`)

const queueOfWorker = (number: number, of: number) =>
  openPostgresJobQueue(
    pool,
    { ownId: `prc_${number}`, isAlive: async () => true },
    { number, total: of },
  )

it("PostgreSQL computes the same home worker as the supervisor", async () => {
  const ids = TAGS.map(companyIdFromTag)
  for (const count of [1, 2, 3, 7]) {
    const { rows } = await pool.query<{ home: number }>(
      `select (${homeWorkerSql("id", "$2::int")})::int as home from unnest($1::text[]) as given (id)`,
      [ids, count],
    )
    expect(rows.map(({ home }) => home)).toEqual(TAGS.map((tag) => homeWorkerOf(tag, count)))
  }
})

async function addJob(name: string, tag: string | null, dueAt: number): Promise<void> {
  await pool.query(
    `insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
     values ('any', $1, $1, $2, '{}', to_timestamp($3::float8 / 1000))`,
    [name, tag === null ? null : companyIdFromTag(tag), dueAt],
  )
}

it("jobs are claimed by their company's home worker; overdue jobs and jobs without a company by any worker", async () => {
  const [atOne, atTwo] = [1, 2].map((home) =>
    TAGS.find((tag) => homeWorkerOf(tag, 2) === home),
  ) as [string, string]
  await addJob("one", atOne, NOW)
  await addJob("two", atTwo, NOW)
  await addJob("two late", atTwo, NOW - 2_001)
  await addJob("no company", null, NOW)
  const names = (rows: readonly { readonly name: string }[]) =>
    rows.map(({ name }) => name).toSorted()
  expect(names(await queueOfWorker(1, 2).claim(NOW, 10))).toEqual(["no company", "one", "two late"])
  expect(names(await queueOfWorker(2, 2).claim(NOW, 10))).toEqual(["two"])
  await addJob("alone", atTwo, NOW)
  expect(names(await queueOfWorker(1, 1).claim(NOW, 10))).toEqual(["alone"])
})
