/** What every implementation of checkpoints must do. */
import { describe, expect, it } from "vitest"
import {
  openMemoryCheckpoints,
  openPostgresCheckpoints,
} from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoint } from "../../adapters/postgres/checkpoints/port.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const database = await databaseUnderTest()

function aCheckpoint(parts: Partial<Checkpoint> = {}): Checkpoint {
  return { revision: 199, hash: "a".repeat(64), format: 1, state: { sums: [1, 2] }, ...parts }
}

async function openEmpty() {
  const pool = database.pool()
  await pool.query("delete from ledger.checkpoints")
  return openPostgresCheckpoints(pool)
}

describe.for([
  ["memory", async () => openMemoryCheckpoints()],
  ["PostgreSQL", openEmpty],
] as const)("checkpoints in %s", ([, open]) => {
  it("has none of a stream that never had one", async () => {
    expect(await (await open()).load("ledger-a")).toBeNull()
  })

  it("gives back what was saved, each stream its own", async () => {
    const checkpoints = await open()
    const state = { text: "é\n\\u0000", list: [[], [null, true]], amount: 9_007_199_254_740_991 }
    await checkpoints.save("ledger-a", aCheckpoint({ state }))
    await checkpoints.save("ledger-b", aCheckpoint({ revision: 7 }))
    expect(await checkpoints.load("ledger-a")).toEqual(aCheckpoint({ state }))
    expect(await checkpoints.load("ledger-b")).toEqual(aCheckpoint({ revision: 7 }))
  })

  it("shares nothing with a state that goes on changing", async () => {
    const checkpoints = await open()
    const state = { sums: [1] }
    await checkpoints.save("ledger-a", aCheckpoint({ state }))
    state.sums.push(2)
    expect((await checkpoints.load("ledger-a"))?.state).toEqual({ sums: [1] })
  })

  it("keeps the later of two, whichever comes first", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 400 }))
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 200 }))
    expect((await checkpoints.load("ledger-a"))?.revision).toBe(400)
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 600 }))
    expect((await checkpoints.load("ledger-a"))?.revision).toBe(600)
  })

  it("replaces one of the same revision: the first may be of another history", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint())
    await checkpoints.save("ledger-a", aCheckpoint({ hash: "b".repeat(64) }))
    expect((await checkpoints.load("ledger-a"))?.hash).toBe("b".repeat(64))
  })

  it("replaces one of another shape, also by an earlier one", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 400 }))
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 200, format: 2 }))
    expect(await checkpoints.load("ledger-a")).toEqual(aCheckpoint({ revision: 200, format: 2 }))
  })
})

it("a checkpoint that is no JSON any more is none, and an audit still sees what is kept", async () => {
  const pool = database.pool()
  const checkpoints = openPostgresCheckpoints(pool)
  await checkpoints.save("ledger-broken", { revision: 1, hash: "h", format: 1, state: null })
  await pool.query("update ledger.checkpoints set state = '{' where stream = 'ledger-broken'")
  expect(await checkpoints.load("ledger-broken")).toBeNull()
  const kept = { revision: 1, hash: "h", format: 1, text: "{" }
  expect(await checkpoints.loadStored("ledger-broken")).toMatchObject(kept)
})

it("a checkpoint that cannot be asked for is none: the facts are folded instead", async () => {
  const away = openPool("postgres://nobody@127.0.0.1:1/nowhere", 1, () => undefined)
  const checkpoints = openPostgresCheckpoints(away)
  expect(await checkpoints.load("ledger-a")).toBeNull()
  const checkpoint = { revision: 1, hash: "", format: 1, state: null }
  await expect(checkpoints.save("ledger-a", checkpoint)).rejects.toThrow("ECONNREFUSED")
  await away.end()
})
