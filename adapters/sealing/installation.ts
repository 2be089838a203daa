/** What names an installation and holds its master key. */
import type { KeyObject } from "node:crypto"
import {
  randomBytes,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
} from "node:crypto"
import type { Pool } from "pg"
import { deriveKey, newKey, decrypt, encrypt, toKeyObject } from "./cipher.ts"
import type { Signing } from "./port.ts"

/** An installation's name and key. */
interface Installation {
  readonly installationId: string
  readonly masterKey: Buffer
}

/** The given master key is not the one this installation's data is sealed with. */
export class WrongMasterKey extends Error {
  override readonly name = "WrongMasterKey"
}

interface Row {
  readonly installation_id: string
  readonly master_key: Buffer | null
  readonly master_check: string
}

/**
 * Loads the installation, or makes it on first use. The master key is the one given (32 bytes, kept
 * outside), or one that is made and kept in PostgreSQL.
 *
 * @throws WrongMasterKey when the given key, or its absence, does not fit what is there
 */
export async function loadInstallation(pool: Pool, given: Buffer | null): Promise<Installation> {
  const made = given ?? newKey()
  await pool.query(
    `insert into ledger.installation (installation_id, master_key, master_check)
     values ($1, $2, $3) on conflict do nothing`,
    [`ins_${randomBytes(14).toString("hex")}`, given === null ? made : null, masterCheckOf(made)],
  )
  const { rows } = await pool.query<Row>("select * from ledger.installation")
  const row = rows[0] as Row
  return { installationId: row.installation_id, masterKey: resolveMasterKey(row, given) }
}

/**
 * The master key of an installation: the one given, or the one kept beside its check.
 *
 * @throws WrongMasterKey when neither fits
 */
export function resolveMasterKey(
  row: Pick<Row, "master_key" | "master_check">,
  given: Buffer | null,
): Buffer {
  const masterKey = given ?? row.master_key
  if (masterKey === null) {
    throw new WrongMasterKey(
      "This installation's master key is kept outside: set LEDGER_MASTER_KEY.",
    )
  }
  if (masterCheckOf(masterKey) !== row.master_check) {
    const fix =
      row.master_key === null
        ? "give that one, for nothing else opens what is sealed"
        : "it keeps that one itself, so leave the setting out"
    throw new WrongMasterKey(
      `LEDGER_MASTER_KEY is not the key this installation was made with: ${fix}.`,
    )
  }
  return masterKey
}

function masterCheckOf(masterKey: Buffer): string {
  return deriveKey(masterKey, "check").toString("hex").slice(0, 16)
}

/** What a sealed key is bound to: it opens as nothing else. */
const SIGNING_KEY_CONTEXT = "signing key"
/** The raw key is what follows the fixed beginning of its DER form (RFC 8410). */
const RAW_KEY_BYTES = 32

interface SignerRow {
  readonly public_key: string
  readonly sealed: Buffer
}

/** Signing with the key in PostgreSQL. Calls throw SealFault where it was changed there. */
export function openPostgresSigning(pool: Pool, masterKey: Buffer): Signing {
  const wrapping = toKeyObject(deriveKey(masterKey, "signing keys"))
  let loading: Promise<{ publicKey: string; key: KeyObject }> | null = null
  const load = async () => {
    const row = (await readSigner(pool)) ?? (await createSigner(pool, wrapping))
    const der = decrypt(wrapping, row.sealed, `${SIGNING_KEY_CONTEXT} ${row.public_key}`)
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    return { publicKey: row.public_key, key }
  }
  return {
    sign: async (text) => {
      loading ??= load()
      const { publicKey, key } = await loading.catch((error: unknown) => {
        loading = null
        throw error
      })
      return { publicKey, signature: sign(null, Buffer.from(text), key).toString("base64") }
    },
  }
}

async function readSigner(pool: Pool): Promise<SignerRow | null> {
  const { rows } = await pool.query<SignerRow>("select public_key, sealed from ledger.signing_key")
  return rows[0] ?? null
}

/** Makes a key, unless another process made one meanwhile: then that one is taken. */
async function createSigner(pool: Pool, wrapping: KeyObject): Promise<SignerRow> {
  const { privateKey } = generateKeyPairSync("ed25519")
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" })
  const publicKey = der.subarray(-RAW_KEY_BYTES).toString("base64")
  const secret = privateKey.export({ format: "der", type: "pkcs8" })
  await pool.query(
    "insert into ledger.signing_key (public_key, sealed) values ($1, $2) on conflict do nothing",
    [publicKey, encrypt(wrapping, secret, `${SIGNING_KEY_CONTEXT} ${publicKey}`)],
  )
  return (await readSigner(pool)) as SignerRow
}
