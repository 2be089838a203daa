/** What `doctor` finds about corrupt streams. */
import type { Pool } from "pg"
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import type { Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { corruptText } from "../../frame/writer/corrupt-list.ts"

/** What a server says about the streams that it holds back; null where it holds back none. */
export function corruptFinding(says: string | null): Finding {
  const check = "streams"
  if (says === null) return well(check, "none was found corrupt")
  const fix =
    "company-ledger projections status says why, audit verify names the first broken place; " +
    "docs/eventstoredb.md says how to repair it (a checkpoint is no repair)"
  return { check, state: "wrong", says, fix }
}

/** The corrupt streams that a database lists; no finding where it lists none. */
export async function listedFindings(pool: Pool): Promise<readonly Finding[]> {
  const { rows } = await pool.query<{ there: boolean }>(
    "select to_regclass('ledger.corrupt_streams') is not null as there",
  )
  // A start makes the table in a database of a former version.
  if (rows[0]?.there !== true) return []
  const listed = await openPostgresCorruptStreams(pool).all()
  return listed.length === 0 ? [] : [corruptFinding(listed.map(corruptText).join("; "))]
}
