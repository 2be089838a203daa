/** Sealed bytes, with keys in PostgreSQL and in memory. */
import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { openMemorySealing, openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import type { SealedContext, Sealing } from "../../adapters/sealing/port.ts"
import { CompanyErased, SealFault } from "../../adapters/sealing/port.ts"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

const database = await databaseUnderTest()
const COMPANY = "co_aaaaaa"
const HERE: SealedContext = ["blob", "rec_1", 3]

interface Opened {
  readonly sealing: Sealing
  readonly destroyKeys: (companyId: CompanyId) => Promise<void>
}

async function inPostgres(): Promise<Opened> {
  const pool = database.pool()
  await pool.query("truncate ledger.company_keys cascade")
  const sealing = openPostgresSealing(pool, randomBytes(32))
  const { forgetKeys } = sealing
  const ports = { pool, pacer: machinePacer, forgetKeys, readModels: [] }
  return { sealing, destroyKeys: openPostgresErasure(ports).destroyKeys }
}

async function inMemory(): Promise<Opened> {
  const sealing = openMemorySealing()
  return { sealing, destroyKeys: async (companyId) => sealing.destroyKeys(companyId) }
}

describe.for([
  ["PostgreSQL", inPostgres],
  ["memory", inMemory],
] as const)("bytes sealed with keys in %s", ([, open]) => {
  it("open unchanged, and are 28 bytes longer while sealed", async () => {
    const { sealing } = await open()
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const sealed = await sealing.sealBytes(COMPANY, "per_1", bytes, HERE)
        expect(sealed).toHaveLength(bytes.length + 28)
        const opened = await sealing.openBytes(COMPANY, "per_1", sealed, HERE)
        expect(opened).toEqual(Buffer.from(bytes))
      }),
      { numRuns: 30 },
    )
  })

  it("open in no other context, however similar", async () => {
    const { sealing } = await open()
    const sealed = await sealing.sealBytes(COMPANY, "per_1", Buffer.from("bytes"), HERE)
    for (const other of [
      ["blob", "rec_1", 4],
      ["blob", "rec_1", "3"],
      ["blob", "rec_1"],
      ["blob", "rec_1", 3, ""],
      ["blobrec_1", 3],
      ['blob","rec_1', 3],
      [],
    ] satisfies SealedContext[]) {
      const opening = sealing.openBytes(COMPANY, "per_1", sealed, other)
      await expect(opening, JSON.stringify(other)).rejects.toThrow(SealFault)
    }
  })

  it("open for no other company and no other subject", async () => {
    const { sealing } = await open()
    const sealed = await sealing.sealBytes(COMPANY, "per_1", Buffer.from("bytes"), HERE)
    expect(await sealing.openBytes(COMPANY, "per_2", sealed, HERE)).toBeNull()
    for (const [companyId, subject] of [
      [COMPANY, "per_2"],
      ["co_bbbbbb", "per_1"],
    ] as const) {
      await sealing.seal(companyId, subject, "to create the key")
      const opening = sealing.openBytes(companyId, subject, sealed, HERE)
      await expect(opening, `${companyId}/${subject}`).rejects.toThrow(SealFault)
    }
  })

  it("do not open as text, and sealed text does not open as bytes", async () => {
    const { sealing } = await open()
    const sealed = await sealing.sealBytes(COMPANY, "per_1", Buffer.from("bytes"), [])
    const asText = `s1.per_1.${sealed.toString("base64url")}` as const
    await expect(sealing.unseal(COMPANY, asText)).rejects.toThrow(SealFault)
    const text = (await sealing.seal(COMPANY, "per_1", "text")).slice("s1.per_1.".length)
    const asBytes = sealing.openBytes(COMPANY, "per_1", Buffer.from(text, "base64url"), [])
    await expect(asBytes).rejects.toThrow(SealFault)
  })

  it("do not open if any byte is changed or missing", async () => {
    const { sealing } = await open()
    const sealed = await sealing.sealBytes(COMPANY, "per_1", Buffer.from("bytes"), HERE)
    const changed = [...sealed.keys()].map((at) => {
      const bytes = Buffer.from(sealed)
      bytes[at] = (bytes[at] as number) ^ 0x80
      return bytes
    })
    for (const bytes of [...changed, sealed.subarray(0, -1), sealed.subarray(1), Buffer.alloc(0)]) {
      const opening = sealing.openBytes(COMPANY, "per_1", bytes, HERE)
      await expect(opening).rejects.toThrow(SealFault)
    }
  })

  it("are unreadable once the company's key is destroyed, and no more can be sealed", async () => {
    const { sealing, destroyKeys } = await open()
    const sealed = await sealing.sealBytes(COMPANY, "per_1", Buffer.from("bytes"), HERE)
    await destroyKeys(COMPANY)
    expect(await sealing.openBytes(COMPANY, "per_1", sealed, HERE)).toBeNull()
    for (const subject of ["per_1", "per_2"]) {
      const late = sealing.sealBytes(COMPANY, subject, Buffer.from("late"), HERE)
      await expect(late).rejects.toThrow(CompanyErased)
    }
    await expect(sealing.tag(COMPANY, "late")).rejects.toThrow(CompanyErased)
  })
})
