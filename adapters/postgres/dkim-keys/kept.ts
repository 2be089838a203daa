/** Making and sealing keys, wherever their rows are kept. */
import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT } from "../../sealing/port.ts"
import type { DkimKeys, DkimOwner, DkimPublicKey } from "./port.ts"
import { FIRST_SELECTOR } from "./port.ts"

const newPair = promisify(generateKeyPair)

/** A key as it is kept. */
export interface DkimRow extends DkimPublicKey {
  /** The private key's PEM, sealed as bytes. */
  readonly sealed: Buffer
}

/** Where rows are kept. */
export interface DkimRows {
  readonly find: (owner: DkimOwner) => Promise<DkimRow | null>
  /** Adds a row, unless its owner has one. */
  readonly add: (owner: DkimOwner, row: DkimRow) => Promise<void>
  readonly remove: (owner: DkimOwner) => Promise<void>
}

/** Keys in these rows. Their errors are those of the port. */
export function openSealedDkimKeys(rows: DkimRows, sealing: Sealing): DkimKeys {
  return {
    create: async (owner) => {
      const known = await rows.find(owner)
      if (known !== null) return publicOf(known)
      await rows.add(owner, await newRow(sealing, owner))
      // Whoever was quicker has made the one that counts.
      const made = await rows.find(owner)
      if (made === null) throw new Error(`the key of ${owner.sendingDomainId} is gone again`)
      return publicOf(made)
    },
    find: async (owner) => {
      const row = await rows.find(owner)
      if (row === null) return null
      const { selector, publicKey, sealed } = row
      const context = contextOf(owner, row)
      const opened = await sealing.openBytes(owner.companyId, COMPANY_SUBJECT, sealed, context)
      return opened === null ? null : { selector, publicKey, privateKey: opened.toString() }
    },
    remove: rows.remove,
  }
}

async function newRow(sealing: Sealing, owner: DkimOwner): Promise<DkimRow> {
  const { publicKey, privateKey } = await newPair("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  const made = { selector: FIRST_SELECTOR, publicKey: publicKey.toString("base64") }
  const context = contextOf(owner, made)
  const pem = Buffer.from(privateKey)
  return {
    ...made,
    sealed: await sealing.sealBytes(owner.companyId, COMPANY_SUBJECT, pem, context),
  }
}

/** A row that was put in another's place, or beside another public key, does not open. */
function contextOf({ sendingDomainId }: DkimOwner, { selector, publicKey }: DkimPublicKey) {
  return ["dkim key", sendingDomainId, selector, publicKey]
}

const publicOf = ({ selector, publicKey }: DkimPublicKey): DkimPublicKey => ({
  selector,
  publicKey,
})
