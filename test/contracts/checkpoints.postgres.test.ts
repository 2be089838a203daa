/** The contract of every checkpoint store. */
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
  it("has none for a stream without a saved one", async () => {
    expect(await (await open()).load("ledger-a")).toBeNull()
  })

  it("loads the saved checkpoint of each stream", async () => {
    const checkpoints = await open()
    const state = { text: "é\n\\u0000", list: [[], [null, true]], amount: 9_007_199_254_740_991 }
    await checkpoints.save("ledger-a", aCheckpoint({ state }))
    await checkpoints.save("ledger-b", aCheckpoint({ revision: 7 }))
    expect(await checkpoints.load("ledger-a")).toEqual(aCheckpoint({ state }))
    expect(await checkpoints.load("ledger-b")).toEqual(aCheckpoint({ revision: 7 }))
  })

  it("is independent of later changes to the saved state", async () => {
    const checkpoints = await open()
    const state = { sums: [1] }
    await checkpoints.save("ledger-a", aCheckpoint({ state }))
    state.sums.push(2)
    expect((await checkpoints.load("ledger-a"))?.state).toEqual({ sums: [1] })
  })

  it("keeps the later of two, in whatever order they are saved", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 400 }))
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 200 }))
    expect((await checkpoints.load("ledger-a"))?.revision).toBe(400)
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 600 }))
    expect((await checkpoints.load("ledger-a"))?.revision).toBe(600)
  })

  it("replaces one of the same revision, because the first may be of another history", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint())
    await checkpoints.save("ledger-a", aCheckpoint({ hash: "b".repeat(64) }))
    expect((await checkpoints.load("ledger-a"))?.hash).toBe("b".repeat(64))
  })

  it("replaces one of another format, even by an earlier revision", async () => {
    const checkpoints = await open()
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 400 }))
    await checkpoints.save("ledger-a", aCheckpoint({ revision: 200, format: 2 }))
    expect(await checkpoints.load("ledger-a")).toEqual(aCheckpoint({ revision: 200, format: 2 }))
  })
})

it("an invalid checkpoint is ignored, but an audit can read its text", async () => {
  const pool = database.pool()
  const checkpoints = openPostgresCheckpoints(pool)
  await checkpoints.save("ledger-broken", { revision: 1, hash: "h", format: 1, state: null })
  await pool.query("update ledger.checkpoints set state = '{' where stream = 'ledger-broken'")
  expect(await checkpoints.load("ledger-broken")).toBeNull()
  const stored = { revision: 1, hash: "h", format: 1, text: "{" }
  expect(await checkpoints.loadStored("ledger-broken")).toMatchObject(stored)
})

it("a checkpoint that cannot be loaded is ignored, and the facts are folded instead", async () => {
  const unreachable = openPool("postgres://unknown@127.0.0.1:1/nowhere", 1, () => undefined)
  const checkpoints = openPostgresCheckpoints(unreachable)
  expect(await checkpoints.load("ledger-a")).toBeNull()
  const checkpoint = { revision: 1, hash: "", format: 1, state: null }
  await expect(checkpoints.save("ledger-a", checkpoint)).rejects.toThrow("ECONNREFUSED")
  await unreachable.end()
})
