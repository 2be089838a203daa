import type { Pool } from "pg"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT } from "../../sealing/port.ts"
import type { DkimKeys, DkimOwner, DkimPublicKey } from "./port.ts"
import { FIRST_SELECTOR } from "./port.ts"
import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"

interface DkimKeysPorts {
  readonly pool: Pool
  readonly sealing: Sealing
}

/** Opens keys in the table `ledger.dkim_keys`. Throws the port's errors. */
export function openPostgresDkimKeys({ pool, sealing }: DkimKeysPorts): DkimKeys {
  return openSealedDkimKeys(openDkimRows(pool), sealing)
}

interface Row {
  readonly selector: string
  readonly public_key: string
  readonly private_key: Buffer
}

function openDkimRows(pool: Pool): DkimRows {
  return {
    find: async ({ companyId, sendingDomainId }): Promise<DkimRow | null> => {
      const { rows } = await pool.query<Row>(
        `select selector, public_key, private_key from ledger.dkim_keys
         where company_id = $1 and sending_domain_id = $2`,
        [companyId, sendingDomainId],
      )
      const [row] = rows
      if (row === undefined) return null
      const { selector, public_key: publicKey, private_key: sealed } = row
      return { selector, publicKey, sealed }
    },
    add: async ({ companyId, sendingDomainId }, { selector, publicKey, sealed }) => {
      await pool.query(
        `insert into ledger.dkim_keys
           (company_id, sending_domain_id, selector, public_key, private_key)
         values ($1, $2, $3, $4, $5) on conflict do nothing`,
        [companyId, sendingDomainId, selector, publicKey, sealed],
      )
    },
    remove: async ({ companyId, sendingDomainId }) => {
      await pool.query(
        "delete from ledger.dkim_keys where company_id = $1 and sending_domain_id = $2",
        [companyId, sendingDomainId],
      )
    },
  }
}

const generateKeyPairAsync = promisify(generateKeyPair)

interface DkimRow extends DkimPublicKey {
  readonly sealed: Buffer
}

interface DkimRows {
  readonly find: (owner: DkimOwner) => Promise<DkimRow | null>
  readonly add: (owner: DkimOwner, row: DkimRow) => Promise<void>
  readonly remove: (owner: DkimOwner) => Promise<void>
}

function openSealedDkimKeys(rows: DkimRows, sealing: Sealing): DkimKeys {
  return {
    getOrCreate: async (owner) => {
      const known = await rows.find(owner)
      if (known !== null) return publicOf(known)
      await rows.add(owner, await createRow(sealing, owner))
      // A concurrent call may have created the key first.
      const created = await rows.find(owner)
      if (created === null)
        throw new Error(`The DKIM key of ${owner.sendingDomainId} was deleted while it was created`)
      return publicOf(created)
    },
    find: async (owner) => {
      const row = await rows.find(owner)
      if (row === null) return null
      const { selector, publicKey, sealed } = row
      const context = sealContextOf(owner, row)
      const opened = await sealing.openBytes(owner.companyId, COMPANY_SUBJECT, sealed, context)
      return opened === null ? null : { selector, publicKey, privateKey: opened.toString() }
    },
    remove: rows.remove,
  }
}

async function createRow(sealing: Sealing, owner: DkimOwner): Promise<DkimRow> {
  const { publicKey, privateKey } = await generateKeyPairAsync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  const created = { selector: FIRST_SELECTOR, publicKey: publicKey.toString("base64") }
  const context = sealContextOf(owner, created)
  const pem = Buffer.from(privateKey)
  return {
    ...created,
    sealed: await sealing.sealBytes(owner.companyId, COMPANY_SUBJECT, pem, context),
  }
}

/** The seal binds the private key to its domain, selector and public key. */
function sealContextOf({ sendingDomainId }: DkimOwner, { selector, publicKey }: DkimPublicKey) {
  return ["dkim key", sendingDomainId, selector, publicKey]
}

const publicOf = ({ selector, publicKey }: DkimPublicKey): DkimPublicKey => ({
  selector,
  publicKey,
})

/** Opens keys in the memory of this process, for tests. Throws the port's errors. */
export function openMemoryDkimKeys(sealing: Sealing): DkimKeys {
  return openSealedDkimKeys(openMemoryRows(), sealing)
}

function openMemoryRows(): DkimRows {
  const rows = new Map<string, DkimRow>()
  const keyOf = ({ companyId, sendingDomainId }: DkimOwner) => `${companyId} ${sendingDomainId}`
  return {
    find: async (owner) => rows.get(keyOf(owner)) ?? null,
    add: async (owner, row) => {
      if (!rows.has(keyOf(owner))) rows.set(keyOf(owner), row)
    },
    remove: async (owner) => void rows.delete(keyOf(owner)),
  }
}
