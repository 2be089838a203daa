/** What names an installation and holds its master key. */
import { randomBytes } from "node:crypto"
import type { Pool } from "pg"
import { deriveKey, newKey } from "./cipher.ts"

/** An installation's name and key. */
export interface Installation {
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
    [`ins_${randomBytes(14).toString("hex")}`, given === null ? made : null, checkOf(made)],
  )
  const { rows } = await pool.query<Row>("select * from ledger.installation")
  const row = rows[0] as Row
  return { installationId: row.installation_id, masterKey: fittingKey(row, given) }
}

/**
 * The master key of an installation: the one given, or the one kept beside its check.
 *
 * @throws WrongMasterKey when neither fits
 */
export function fittingKey(
  row: Pick<Row, "master_key" | "master_check">,
  given: Buffer | null,
): Buffer {
  const masterKey = given ?? row.master_key
  if (masterKey === null) {
    throw new WrongMasterKey(
      "This installation's master key is kept outside: set LEDGER_MASTER_KEY.",
    )
  }
  if (checkOf(masterKey) !== row.master_check) {
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

function checkOf(masterKey: Buffer): string {
  return deriveKey(masterKey, "check").toString("hex").slice(0, 16)
}
