/** Calls that were served: counted at most once, and lost only with the memory of a process. */
import type { ApiCallsCounted } from "../../domain/charging/ledger-events.ts"
import type { AuditedRun } from "./audited-run.ts"
import type { StoredStream } from "./stored.ts"
import { ledgersIn } from "./stored.ts"

/** What a process served and recorded for one caller of one company. */
interface Tally {
  readonly process: string
  gathered: number
  /** Of which its process was never told whether they were gathered. */
  unsure: number
  recorded: number
}

/** What of the served calls is counted otherwise than it was served. */
export function auditCalls(
  { world }: AuditedRun,
  streams: ReadonlyMap<string, StoredStream>,
): readonly string[] {
  const { records, truth } = world
  const tallies = new Map<string, Tally>()
  const tallyOf = (process: string, ...parts: readonly (string | null)[]): Tally => {
    const key = [process, ...parts].join(" ")
    const tally = tallies.get(key) ?? { process, gathered: 0, unsure: 0, recorded: 0 }
    tallies.set(key, tally)
    return tally
  }
  for (const { process, stream, call, answer } of records.gathered) {
    const tally = tallyOf(process, stream, call.keyId, call.personId)
    if (answer === "gathered") tally.gathered += 1
    if (answer === null) tally.unsure += 1
  }
  for (const { stream, events, facts } of ledgersIn(streams)) {
    for (const [i, fact] of facts.entries()) {
      if (fact.type !== "ApiCallsCounted") continue
      const process = truth.writerOf(events[i]?.id ?? "") ?? "nobody"
      for (const { keyId, personId, calls } of (fact as ApiCallsCounted).tallies) {
        tallyOf(process, stream, keyId, personId).recorded += calls
      }
    }
  }
  return [...tallies].flatMap(([key, { process, gathered, unsure, recorded }]) => {
    if (recorded > gathered + unsure) return [`${key}: ${recorded} calls counted of ${gathered}`]
    const isLost = records.closed.has(process) && recorded < gathered
    return isLost ? [`${key}: ${gathered - recorded} calls lost without a crash`] : []
  })
}
