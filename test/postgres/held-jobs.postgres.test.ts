import { describe, expect, it } from "vitest"
import { homeWorkerSql, homeWorkerOf } from "../../adapters/postgres/home-worker.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { companyIdFromTag } from "../../domain/kernel/ids.ts"
import { NOW, jobQueueUnderTest } from "./database-under-test.ts"

const { add, others, pool, queue, runOut, take } = await jobQueueUnderTest()

describe("work in hand", () => {
  const again = { kind: "send-text", name: "a1", subject: "a", companyId: "co_aaaaaa" } as const

  it("is held for longer while its process says so, and by nobody who has lost it", async () => {
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

  it("says that it may have been done, until its provider said that it did nothing", async () => {
    await add("a", "a1")
    await take()
    await queue.dispatch(1)
    await queue.settle(1, { result: "retry", afterMs: 0, reason: "a fault" })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: true }])
    await queue.settle(1, { result: "retry", afterMs: 0, reason: "away", isDispatchCleared: true })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: false }])
  })

  it("is handed over by nobody who has lost it, each of many being told its own", async () => {
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

  it("is held for another minute once it is handed over", async () => {
    await add("a", "a1")
    await take()
    await pool.query("update ledger.jobs set leased_until = now() + interval '1 second'")
    expect(await queue.dispatch(1)).toBe(true)
    const { rows } = await pool.query(
      "select name from ledger.jobs where leased_until > now() + interval '50 seconds'",
    )
    expect(rows).toHaveLength(1)
  })

  it("that was let go before its provider was called is as if it had not been handed over", async () => {
    await add("a", "a1")
    await take()
    await queue.dispatch(1)
    await queue.settle(1, { result: "released", isDispatchCleared: true })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: false, attempts: 1 }])
    await queue.dispatch(1)
    await queue.settle(1, { result: "released" })
    expect(await queue.claim(NOW, 1)).toMatchObject([{ isDispatched: true, attempts: 1 }])
  })

  it("that is let go is another's at once, and was not tried", async () => {
    await add("a", "a1")
    await take()
    await queue.settle(1, { result: "released" })
    expect(await others.claim(NOW, 1)).toMatchObject([{ name: "a1", attempts: 1 }])
  })

  it("can be added by who does it, once, and the projection adds nothing beside it", async () => {
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

describe("a kind of which only so many may be in hand", () => {
  const none = { sharedPerProcess: null, perMachine: null, perCompany: null }
  const bound = (most: number, perCompany: number | null = null) => [
    { ...none, kind: "send-text", perProcess: most, perCompany },
  ]

  it("shares its places with others where it is long", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await add(name, name)
    await pool.query("update ledger.jobs set kind = 'other' where name in ('b', 'c')")
    await pool.query("update ledger.jobs set kind = 'apart' where name = 'e'")
    const shared = { ...none, perProcess: 10, sharedPerProcess: 3 }
    const bounds = [
      ...["send-text", "other"].map((kind) => ({ kind, ...shared })),
      { ...shared, kind: "apart", sharedPerProcess: null },
    ]
    const names = (await queue.claim(NOW, 10, bounds)).map(({ name }) => name)
    expect(names).toEqual(["a", "d", "b", "e"])
  })

  it("is taken no more often than that, beside all others", async () => {
    for (const name of ["a", "b", "c"]) await add(name, name)
    await pool.query("update ledger.jobs set kind = 'other' where name = 'b'")
    expect((await queue.claim(NOW, 10, bound(1))).map(({ name }) => name)).toEqual(["b", "a"])
    expect(await queue.claim(NOW, 10, bound(0))).toEqual([])
    expect((await queue.claim(NOW, 10, bound(5))).map(({ name }) => name)).toEqual(["c"])
  })

  it("has nobody wait for a turn while none of it is due, or all of it is in hand", async () => {
    await add("a", "a")
    await add("later", "later", NOW + 1)
    expect(await queue.claim(NOW, 10, bound(5))).toMatchObject([{ name: "a" }])
    const line = await pool.connect()
    try {
      // Whoever takes one waits for this.
      await line.query("select pg_advisory_lock(hashtext('work send-text'))")
      expect(await queue.claim(NOW, 10, bound(5))).toEqual([])
      expect(await others.claim(NOW, 10, bound(5))).toEqual([])
    } finally {
      line.release(true)
    }
    expect(await others.claim(NOW + 1, 10, bound(5))).toMatchObject([{ name: "later" }])
  })

  it("is not taken beyond its number for a company, whichever process asks", async () => {
    for (let i = 0; i < 6; i += 1) await add(`s${i}`, `n${i}`)
    await pool.query("update ledger.jobs set company_id = 'co_bbbbbb' where name = 'n5'")
    const asked = [queue, others, queue, others].map((one) => one.claim(NOW, 10, bound(10, 2)))
    const names = (await Promise.all(asked)).flat().map(({ name }) => name)
    expect(names.toSorted()).toEqual(["n0", "n1", "n5"])
  })

  it("is not taken beyond its number on a machine, whichever of its processes asks", async () => {
    await pool.query(`insert into ledger.processes (process_id, lock_key, machine) values
      ('prc_own', 1, 'left'), ('prc_other', 2, 'left'), ('prc_far', 3, 'right')`)
    const far = openPostgresJobQueue(pool, { ownId: "prc_far", isAlive: async () => true })
    for (let i = 0; i < 6; i += 1) await add(`s${i}`, `n${i}`)
    const bounds = [{ ...none, kind: "send-text", perProcess: 10, perMachine: 2 }]
    const asked = [queue, others, queue, others].map((one) => one.claim(NOW, 10, bounds))
    const names = (await Promise.all(asked)).flat().map(({ name }) => name)
    expect(names.toSorted()).toEqual(["n0", "n1"])
    expect((await far.claim(NOW, 10, bounds)).map(({ name }) => name)).toEqual(["n2", "n3"])
    await queue.settle(1, { result: "done" })
    expect((await others.claim(NOW, 10, bounds)).map(({ name }) => name)).toEqual(["n4"])
  })
})

const TAGS = Array.from({ length: 300 }, (_, i) => `Tag${String(i).padStart(3, "0")}`)

const seated = (number: number, of: number) =>
  openPostgresJobQueue(
    pool,
    { ownId: `prc_${number}`, isAlive: async () => true },
    { number, total: of },
  )

it("a home is reckoned by PostgreSQL as by whoever hands over connections", async () => {
  const ids = TAGS.map(companyIdFromTag)
  for (const count of [1, 2, 3, 7]) {
    const { rows } = await pool.query<{ home: number }>(
      `select (${homeWorkerSql("id", "$2::int")})::int as home from unnest($1::text[]) as given (id)`,
      [ids, count],
    )
    expect(rows.map(({ home }) => home)).toEqual(TAGS.map((tag) => homeWorkerOf(tag, count)))
  }
})

async function addWork(name: string, tag: string | null, dueAt: number): Promise<void> {
  await pool.query(
    `insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
     values ('any', $1, $1, $2, '{}', to_timestamp($3::float8 / 1000))`,
    [name, tag === null ? null : companyIdFromTag(tag), dueAt],
  )
}

it("work of companies is taken at home; what is left there for long, and what is of no company, by anybody", async () => {
  const [atOne, atTwo] = [1, 2].map((home) =>
    TAGS.find((tag) => homeWorkerOf(tag, 2) === home),
  ) as [string, string]
  await addWork("one", atOne, NOW)
  await addWork("two", atTwo, NOW)
  await addWork("two late", atTwo, NOW - 2_001)
  await addWork("nobody", null, NOW)
  const names = (rows: readonly { readonly name: string }[]) =>
    rows.map(({ name }) => name).toSorted()
  expect(names(await seated(1, 2).claim(NOW, 10))).toEqual(["nobody", "one", "two late"])
  expect(names(await seated(2, 2).claim(NOW, 10))).toEqual(["two"])
  await addWork("alone", atTwo, NOW)
  expect(names(await seated(1, 1).claim(NOW, 10))).toEqual(["alone"])
})
