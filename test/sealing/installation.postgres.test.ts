import { randomBytes } from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import { WrongMasterKey, loadInstallation } from "../../adapters/sealing/installation.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const database = await databaseUnderTest()

beforeEach(async () => {
  await database.pool().query("delete from ledger.installation")
})

describe("an installation without a master key of its own", () => {
  it("makes one at first use and keeps it", async () => {
    const pool = database.pool()
    const first = await loadInstallation(pool, null)
    expect(first.installationId).toMatch(/^ins_[0-9a-f]{28}$/)
    expect(first.masterKey).toHaveLength(32)
    expect(await loadInstallation(pool, null)).toEqual(first)
  })

  it("is one where ten processes begin at once", async () => {
    const pool = database.pool()
    const loaded = await Promise.all(Array.from({ length: 10 }, () => loadInstallation(pool, null)))
    expect(new Set(loaded.map(({ installationId }) => installationId)).size).toBe(1)
    expect(new Set(loaded.map(({ masterKey }) => masterKey.toString("hex"))).size).toBe(1)
  })

  it("refuses a master key that is not its own", async () => {
    const pool = database.pool()
    const { masterKey } = await loadInstallation(pool, null)
    const refused = loadInstallation(pool, randomBytes(32))
    await expect(refused).rejects.toThrow(WrongMasterKey)
    await expect(refused).rejects.toThrow("it keeps that one itself, so leave the setting out")
    expect((await loadInstallation(pool, masterKey)).masterKey).toEqual(masterKey)
  })
})

describe("an installation whose master key is kept outside", () => {
  it("does not store it", async () => {
    const pool = database.pool()
    const given = randomBytes(32)
    const { installationId, masterKey } = await loadInstallation(pool, given)
    expect(masterKey).toEqual(given)
    const { rows } = await pool.query("select t::text as row from ledger.installation t")
    expect(rows).toHaveLength(1)
    expect(rows[0].row).toContain(installationId)
    for (const form of ["hex", "base64", "base64url", "latin1"] as const) {
      expect(rows[0].row).not.toContain(given.toString(form))
    }
  })

  it("refuses another key, and none", async () => {
    const pool = database.pool()
    await loadInstallation(pool, randomBytes(32))
    const refused = loadInstallation(pool, randomBytes(32))
    await expect(refused).rejects.toThrow(WrongMasterKey)
    await expect(refused).rejects.toThrow("give that one, for nothing else opens")
    await expect(loadInstallation(pool, null)).rejects.toThrow(/set LEDGER_MASTER_KEY/)
  })
})
