/** Settings that somebody gave and nobody reads. */
import { nearestName } from "../../frame/kernel/nearest.ts"
import type { Given } from "../../frame/settings.ts"

/** What names begin with that are settings of this program and of nothing else on a machine. */
const OWN_PREFIXES = ["LEDGER_", "CARDS_", "CARRIER_", "MAILER_", "SMTP_"]

/** What only tests read. */
const OF_TESTS: ReadonlySet<string> = new Set([
  ...["LEDGER_DEEP", "LEDGER_RUNS", "LEDGER_SEED"],
  ...["LEDGER_FAILPOINTS", "LEDGER_CLOCK_FAULT", "LEDGER_STRAY_FAULT"],
])

/**
 * A sentence for each variable of the environment that is meant for this program, by how it begins or by
 * how near it is to a setting, and is none of its settings.
 *
 * @param known every name that is read, and the one that it goes by in the documents: a former name
 * goes on being read, and is told to nobody
 */
export function unreadSettings(
  given: Given,
  known: ReadonlyMap<string, string>,
): readonly string[] {
  return Object.keys(given).flatMap((name) => {
    if (known.has(name) || OF_TESTS.has(name)) return []
    const nearest = nearestName(name, known.keys())
    const isOwn = OWN_PREFIXES.some((prefix) => name.startsWith(prefix))
    if (!isOwn && (nearest === null || !isMeantBy(name, nearest))) return []
    const meant =
      nearest === null
        ? "company-ledger config lists what there is"
        : `was ${known.get(nearest)} meant?`
    return [`Nobody reads the setting ${name}: ${meant}`]
  })
}

/** Whether a name was meant for a near one: a short name of something else is near to many. */
function isMeantBy(name: string, nearest: string): boolean {
  if (!nearest.includes("_")) return false
  return name.includes("_") || name.toUpperCase() === nearest.replaceAll("_", "")
}
