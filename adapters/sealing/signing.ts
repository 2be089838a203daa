/** The installation's signing key: made on its first use, and kept sealed by the master key. */
import type { KeyObject } from "node:crypto"
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import type { Pool } from "pg"
import { decrypt, deriveKey, encrypt, keyOf } from "./cipher.ts"
import type { Signing } from "./port.ts"

/** What a sealed key is bound to: it opens as nothing else. */
const CONTEXT = "signing key"
/** The raw key is what follows the fixed beginning of its DER form (RFC 8410). */
const RAW_KEY_BYTES = 32

interface Row {
  readonly public_key: string
  readonly sealed: Buffer
}

/** Signing with the key in PostgreSQL. Calls throw SealFault where it was changed there. */
export function openPostgresSigning(pool: Pool, masterKey: Buffer): Signing {
  const wrapping = keyOf(deriveKey(masterKey, "signing keys"))
  let loading: Promise<{ publicKey: string; key: KeyObject }> | null = null
  const load = async () => {
    const row = (await read(pool)) ?? (await make(pool, wrapping))
    const der = decrypt(wrapping, row.sealed, `${CONTEXT} ${row.public_key}`)
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

async function read(pool: Pool): Promise<Row | null> {
  const { rows } = await pool.query<Row>("select public_key, sealed from ledger.signing_key")
  return rows[0] ?? null
}

/** Makes a key, unless another process made one meanwhile: then that one is taken. */
async function make(pool: Pool, wrapping: KeyObject): Promise<Row> {
  const { privateKey } = generateKeyPairSync("ed25519")
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" })
  const publicKey = der.subarray(-RAW_KEY_BYTES).toString("base64")
  const secret = privateKey.export({ format: "der", type: "pkcs8" })
  await pool.query(
    "insert into ledger.signing_key (public_key, sealed) values ($1, $2) on conflict do nothing",
    [publicKey, encrypt(wrapping, secret, `${CONTEXT} ${publicKey}`)],
  )
  return (await read(pool)) as Row
}
