import { randomBytes } from "node:crypto"
import fc from "fast-check"
import type pg from "pg"
import { describe, expect, it, beforeEach } from "vitest"
import { WrongMasterKey, loadInstallation } from "../../adapters/sealing/installation.ts"
import { LRU } from "../../adapters/sealing/lru.ts"
import { SealFault } from "../../adapters/sealing/port.ts"
import { openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import type { SealedText } from "../../domain/kernel/ids.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { partialFake } from "../support/partial-fake.ts"

const database = await databaseUnderTest()
const MASTER = randomBytes(32)
const pool = database.pool(20)
const sealing = openPostgresSealing(pool, MASTER)

const COMPANY = "co_aaaaaa"

describe("a sealed text", () => {
  it("opens unchanged, whatever it contains", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
        const sealed = await sealing.seal(COMPANY, "per_1", text)
        expect(await sealing.unseal(COMPANY, sealed)).toBe(text)
      }),
      { numRuns: 50 },
    )
  })

  it("shows its subject and nothing of its content, and differs each time", async () => {
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada Lovelace")
    expect(sealed).toMatch(/^s1\.per_1\.[\w-]+$/)
    expect(Buffer.from(sealed.slice("s1.per_1.".length), "base64url").toString()).not.toMatch(/Ada/)
    expect(await sealing.seal(COMPANY, "per_1", "Ada Lovelace")).not.toBe(sealed)
  })

  it("opens in another process of the installation", async () => {
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada")
    expect(await openPostgresSealing(pool, MASTER).unseal(COMPANY, sealed)).toBe("Ada")
  })

  it("does not open for another company, not even under a subject of the same name", async () => {
    const sealed = await sealing.seal(COMPANY, "company", "Ada")
    expect(await sealing.unseal("co_bbbbbb", sealed)).toBeNull()
    await sealing.seal("co_bbbbbb", "company", "Bob")
    await expect(sealing.unseal("co_bbbbbb", sealed)).rejects.toThrow(SealFault)
  })

  it("does not open under another subject", async () => {
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada")
    await sealing.seal(COMPANY, "per_2", "Bob")
    const moved = sealed.replace("s1.per_1.", "s1.per_2.") as SealedText
    await expect(sealing.unseal(COMPANY, moved)).rejects.toThrow(SealFault)
  })

  it("does not open if a bit is changed, if it is shortened, or without its form", async () => {
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada")
    const bytes = Buffer.from(sealed.slice("s1.per_1.".length), "base64url")
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      const text = `s1.per_1.${changed.toString("base64url")}` as const
      await expect(sealing.unseal(COMPANY, text), `bit ${bit}`).rejects.toThrow(SealFault)
    }
    for (const text of [sealed.slice(0, -4), "s1.per_1.AAAA", "s2.per_1.AAAA", "s1.per_1", "Ada"]) {
      await expect(sealing.unseal(COMPANY, text as SealedText), text).rejects.toThrow(SealFault)
    }
  })
})

describe("a subject's key", () => {
  it("is created once for twenty concurrent callers in two processes", async () => {
    const company = "co_first1"
    const processes = [sealing, openPostgresSealing(pool, MASTER)] as const
    const sealed = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        processes[i % 2 === 0 ? 0 : 1].seal(company, "per_1", `text ${i}`),
      ),
    )
    const third = openPostgresSealing(pool, MASTER)
    const opened = await Promise.all(sealed.map((text) => third.unseal(company, text)))
    expect(opened).toEqual(sealed.map((_, i) => `text ${i}`))
    const { rows } = await pool.query("select from ledger.subject_keys where company_id = $1", [
      company,
    ])
    expect(rows).toHaveLength(1)
  })

  it("is read from the database once for all concurrent callers", async () => {
    const queries: string[] = []
    const counting = partialFake<pg.Pool>({
      query: (text: string, values: unknown[]) => {
        queries.push(text)
        return pool.query(text, values)
      },
    })
    const sealed = await sealing.seal(COMPANY, "per_once", "Ada")
    const fresh = openPostgresSealing(counting, MASTER)
    const opened = await Promise.all(
      Array.from({ length: 20 }, () => fresh.unseal(COMPANY, sealed)),
    )
    expect(new Set(opened)).toEqual(new Set(["Ada"]))
    expect(queries).toHaveLength(2)
  })

  it("is created by a caller that seals while another finds that it does not exist", async () => {
    const fresh = openPostgresSealing(pool, MASTER)
    const unknown = "s1.per_none.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    const [opened, sealed] = await Promise.all([
      fresh.unseal("co_none11", unknown),
      fresh.seal("co_none11", "per_none", "Ada"),
    ])
    expect(opened).toBeNull()
    expect(await fresh.unseal("co_none11", sealed)).toBe("Ada")
  })

  it("is read again after the database was lost", async () => {
    let isLost = true
    const flaky = partialFake<pg.Pool>({
      query: (text: string, values: unknown[]) =>
        isLost ? Promise.reject(new Error("lost")) : pool.query(text, values),
    })
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada")
    const fresh = openPostgresSealing(flaky, MASTER)
    await expect(fresh.unseal(COMPANY, sealed)).rejects.toThrow("lost")
    isLost = false
    expect(await fresh.unseal(COMPANY, sealed)).toBe("Ada")
  })

  it("opens nothing after it is erased, for one subject or the whole company", async () => {
    const company = "co_erased"
    const one = await sealing.seal(company, "per_1", "Ada")
    const two = await sealing.seal(company, "per_2", "Bob")
    await pool.query("delete from ledger.subject_keys where company_id = $1 and subject = $2", [
      company,
      "per_1",
    ])
    sealing.forgetKeys(company)
    expect(await sealing.unseal(company, one)).toBeNull()
    expect(await sealing.unseal(company, two)).toBe("Bob")
    await pool.query("delete from ledger.company_keys where company_id = $1", [company])
    sealing.forgetKeys(company)
    expect(await sealing.unseal(company, two)).toBeNull()
    const { rows } = await pool.query("select from ledger.subject_keys where company_id = $1", [
      company,
    ])
    expect(rows).toEqual([])
  })

  it("is stored wrapped, and does not open with another master key", async () => {
    const sealed = await sealing.seal(COMPANY, "per_1", "Ada")
    await expect(
      openPostgresSealing(pool, randomBytes(32)).unseal(COMPANY, sealed),
    ).rejects.toThrow(SealFault)
  })
})

describe("tags", () => {
  it("are equal for equal texts of a company and for no others", async () => {
    const tag = await sealing.tag(COMPANY, "+14155550123")
    expect(tag).toMatch(/^[0-9a-f]{32}$/)
    expect(await openPostgresSealing(pool, MASTER).tag(COMPANY, "+14155550123")).toBe(tag)
    expect(await sealing.tag(COMPANY, "+14155550124")).not.toBe(tag)
    expect(await sealing.tag("co_bbbbbb", "+14155550123")).not.toBe(tag)
  })

  it("of the installation are equal for all companies, and differ between installations", () => {
    const tag = sealing.installationTag("acme")
    expect(openPostgresSealing(pool, MASTER).installationTag("acme")).toBe(tag)
    expect(sealing.installationTag("acmé")).not.toBe(tag)
    expect(openPostgresSealing(pool, randomBytes(32)).installationTag("acme")).not.toBe(tag)
  })

  it("and app secrets are the same after a restart, one for each key", () => {
    const secret = sealing.appSecret("key_1")
    expect(secret).toMatch(/^cps_[\w-]{43}$/)
    expect(openPostgresSealing(pool, MASTER).appSecret("key_1")).toBe(secret)
    expect(sealing.appSecret("key_2")).not.toBe(secret)
  })
})

describe("the key cache", () => {
  it("evicts the least recently used key", () => {
    const cache = new LRU<string, number>(2)
    cache.set("a", 1)
    cache.set("b", 2)
    expect(cache.get("a")).toBe(1)
    cache.set("c", 3)
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3])
    cache.set("a", 4)
    cache.deleteWhere((key) => key === "c")
    cache.delete("nothing")
    expect([cache.get("a"), cache.get("c")]).toEqual([4, undefined])
  })
})

beforeEach(async () => {
  await database.pool().query("delete from ledger.installation")
})

describe("an installation without a master key of its own", () => {
  it("creates one at first use and keeps it", async () => {
    const first = await loadInstallation(pool, null)
    expect(first.installationId).toMatch(/^ins_[0-9a-f]{28}$/)
    expect(first.masterKey).toHaveLength(32)
    expect(await loadInstallation(pool, null)).toEqual(first)
  })

  it("is the same one for ten processes that start concurrently", async () => {
    const loaded = await Promise.all(Array.from({ length: 10 }, () => loadInstallation(pool, null)))
    expect(new Set(loaded.map(({ installationId }) => installationId)).size).toBe(1)
    expect(new Set(loaded.map(({ masterKey }) => masterKey.toString("hex"))).size).toBe(1)
  })

  it("rejects a master key that is not its own", async () => {
    const { masterKey } = await loadInstallation(pool, null)
    const refused = loadInstallation(pool, randomBytes(32))
    await expect(refused).rejects.toThrow(WrongMasterKey)
    await expect(refused).rejects.toThrow(
      "The key is stored in the database, so remove the setting",
    )
    expect((await loadInstallation(pool, masterKey)).masterKey).toEqual(masterKey)
  })
})

describe("an installation with an external master key", () => {
  it("does not store the key", async () => {
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

  it("rejects another key and a missing key", async () => {
    await loadInstallation(pool, randomBytes(32))
    const refused = loadInstallation(pool, randomBytes(32))
    await expect(refused).rejects.toThrow(WrongMasterKey)
    await expect(refused).rejects.toThrow("Set the original key; no other key can unseal")
    await expect(loadInstallation(pool, null)).rejects.toThrow(/Set LEDGER_MASTER_KEY/)
  })
})

const world = await ownWorld("store")
const other = await ownWorld("start", { url: world.databaseUrl })

it("erases one subject's key for good, and leaves the company's other keys", async () => {
  const { companyId } = await makeCompany(world)
  const { sealing: ownSealing, erasure } = world.ports
  const gone = await ownSealing.seal(companyId, "lead_1", "Ada")
  const stays = await ownSealing.seal(companyId, "lead_2", "Bea")
  expect(await other.ports.sealing.unseal(companyId, gone)).toBe("Ada")
  await erasure.destroySubjectKey(companyId, "lead_1")
  expect(await ownSealing.unseal(companyId, gone)).toBeNull()
  await expect.poll(() => other.ports.sealing.unseal(companyId, gone)).toBeNull()
  expect(await ownSealing.unseal(companyId, stays)).toBe("Bea")
  await erasure.destroySubjectKey(companyId, "lead_1")
  for (const { sealing: any } of [world.ports, other.ports]) {
    await expect(any.seal(companyId, "lead_1", "Cyd")).rejects.toThrow(/lead_1 .* was erased/)
    expect(await any.unseal(companyId, gone)).toBeNull()
  }
})
