/** The installation's id, its master key and its signing key. */
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

interface Installation {
  readonly installationId: string
  readonly masterKey: Buffer
}

/** The configured master key is not the one that sealed this installation's data. */
export class WrongMasterKey extends Error {
  override readonly name = "WrongMasterKey"
}

interface Row {
  readonly installation_id: string
  readonly master_key: Buffer | null
  readonly master_check: string
}

/**
 * Loads the installation, or creates it on first use. The master key is the configured one (32
 * bytes, stored outside), or one that is generated and stored in PostgreSQL.
 *
 * @throws WrongMasterKey if the configured key, or its absence, does not fit the installation
 */
export async function loadInstallation(
  pool: Pool,
  configured: Buffer | null,
): Promise<Installation> {
  const created = configured ?? newKey()
  await pool.query(
    `insert into ledger.installation (installation_id, master_key, master_check)
     values ($1, $2, $3) on conflict do nothing`,
    [
      `ins_${randomBytes(14).toString("hex")}`,
      configured === null ? created : null,
      masterCheckOf(created),
    ],
  )
  const { rows } = await pool.query<Row>("select * from ledger.installation")
  const row = rows[0] as Row
  return { installationId: row.installation_id, masterKey: resolveMasterKey(row, configured) }
}

/**
 * The master key of an installation: the configured one, or the stored one.
 *
 * @throws WrongMasterKey if it does not match the stored check value
 */
export function resolveMasterKey(
  row: Pick<Row, "master_key" | "master_check">,
  configured: Buffer | null,
): Buffer {
  const masterKey = configured ?? row.master_key
  if (masterKey === null) {
    throw new WrongMasterKey(
      "This installation's master key is stored outside the database. Set LEDGER_MASTER_KEY.",
    )
  }
  if (masterCheckOf(masterKey) !== row.master_check) {
    const fix =
      row.master_key === null
        ? "Set the original key; no other key can unseal the data"
        : "The key is stored in the database, so remove the setting"
    throw new WrongMasterKey(
      `LEDGER_MASTER_KEY is not the master key of this installation. ${fix}.`,
    )
  }
  return masterKey
}

function masterCheckOf(masterKey: Buffer): string {
  return deriveKey(masterKey, "check").toString("hex").slice(0, 16)
}

/** Authenticated with the sealed key, so that it cannot be used as another key. */
const SIGNING_KEY_CONTEXT = "signing key"
/** The raw key follows the fixed prefix of its DER format (RFC 8410). */
const RAW_KEY_BYTES = 32

interface SignerRow {
  readonly public_key: string
  readonly sealed: Buffer
}

/** Opens signing with the key in PostgreSQL. Calls throw SealFault if the stored key was changed. */
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
