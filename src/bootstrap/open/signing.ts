/** What the installation vouches for: its signing key, and the heads that it signed. */
import type { Pool } from "pg"
import { openPostgresSigning } from "../../../adapters/sealing/signing.ts"
import { openPostgresTreeHeads } from "../../../adapters/postgres/tree-heads/postgres.ts"

/** The signing key and the heads that were signed, in PostgreSQL. */
export function openSigning(pool: Pool, masterKey: Buffer) {
  return {
    signing: openPostgresSigning(pool, masterKey),
    treeHeads: openPostgresTreeHeads(pool),
  }
}
