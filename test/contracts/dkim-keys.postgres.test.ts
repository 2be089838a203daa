/** The contract of every store of DKIM signing keys. */
import { createPrivateKey, createPublicKey, randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import {
  openMemoryDkimKeys,
  openPostgresDkimKeys,
} from "../../adapters/postgres/dkim-keys/dkim-keys.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { openMemorySealing, openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { SealFault } from "../../adapters/sealing/port.ts"
import { dkimMigrations } from "../../src/email/providers/dkim-keys.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const MASTER = randomBytes(32)
const database = await databaseUnderTest()
await migrateToLatest(database.url, dkimMigrations)

function open() {
  const pool = database.pool()
  return openPostgresDkimKeys({ pool, sealing: openPostgresSealing(pool, MASTER) })
}

/** Opens the keys; `again` opens them as another process. */
const OPENINGS = {
  memory: () => {
    const keys = openMemoryDkimKeys(openMemorySealing())
    return { keys, again: () => keys }
  },
  PostgreSQL: () => ({ keys: open(), again: open }),
}
const OWNER = { companyId: "co_aaaaaa", sendingDomainId: "snd_1" } as const

describe.for(Object.entries(OPENINGS))("signing keys in %s", ([, openKeys]) => {
  it("creates one key pair of 2,048 bits for concurrent callers", async () => {
    const { keys, again } = openKeys()
    const made = await Promise.all([
      keys.getOrCreate(OWNER),
      again().getOrCreate(OWNER),
      keys.getOrCreate(OWNER),
    ])
    const [first] = made
    expect(first?.selector).toBe("cp1")
    expect(made).toEqual([first, first, first])
    const found = await again().find(OWNER)
    const key = createPrivateKey(found?.privateKey ?? "")
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2_048)
    const derived = createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64")
    expect(derived).toBe(first?.publicKey)
  })

  it("has a separate key for each sending domain and company", async () => {
    const { keys } = openKeys()
    const owners = [
      OWNER,
      { ...OWNER, sendingDomainId: "snd_2" },
      { ...OWNER, companyId: "co_bbbbbb" as const },
    ]
    const made = await Promise.all(owners.map((owner) => keys.getOrCreate(owner)))
    expect(new Set(made.map(({ publicKey }) => publicKey)).size).toBe(3)
  })

  it("has no key for an owner without one, or after its removal", async () => {
    const { keys, again } = openKeys()
    expect(await keys.find({ ...OWNER, sendingDomainId: "snd_none" })).toBeNull()
    const owner = { ...OWNER, sendingDomainId: "snd_gone" }
    const { publicKey } = await keys.getOrCreate(owner)
    await keys.remove(owner)
    await keys.remove(owner)
    expect(await again().find(owner)).toBeNull()
    expect((await keys.getOrCreate(owner)).publicKey).not.toBe(publicKey)
  })
})

it("signing keys in PostgreSQL are stored sealed, and do not open for another domain", async () => {
  const keys = open()
  const own = { companyId: "co_cccccc", sendingDomainId: "snd_own" } as const
  const other = { ...own, sendingDomainId: "snd_other" }
  await Promise.all([keys.getOrCreate(own), keys.getOrCreate(other)])
  const pool = database.pool()
  const { rows } = await pool.query<{ private_key: Buffer }>(
    "select private_key from ledger.dkim_keys where company_id = 'co_cccccc'",
  )
  expect(rows.map((row) => row.private_key.includes("PRIVATE KEY"))).toEqual([false, false])
  await pool.query(
    `update ledger.dkim_keys set private_key =
         (select private_key from ledger.dkim_keys where sending_domain_id = 'snd_own')
       where sending_domain_id = 'snd_other'`,
  )
  await expect(keys.find(other)).rejects.toThrow(SealFault)
})
