/**
 * What is stored was asked for, and decided rightly: each command's facts are what the plain ledger
 * says to it at that revision, so no charge is there that did not fit, and none without its command.
 */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { show } from "../charging/law.ts"
import { decideByReference } from "../charging/reference-ledger.ts"
import type { Records } from "./records.ts"
import type { Group, StoredStream } from "./stored.ts"
import { ledgerFacts, ledgersIn } from "./stored.ts"

/** Calls that were gathered are recorded by commands that the runner names by itself. */
const BY_THE_RUNNER = /^cmd_/

/** What of the stored facts should not be there, or should be otherwise. */
export function auditStored(
  streams: ReadonlyMap<string, StoredStream>,
  { commanded }: Records,
): readonly string[] {
  const commands = new Map(commanded.map((one) => [one.cause, one]))
  const breaks: string[] = []
  for (const { stream, groups } of streams.values()) {
    const seen = new Set<string>()
    for (const { cause, from } of groups) {
      if (seen.has(cause)) breaks.push(`${stream} ${from}: ${cause} is stored twice`)
      seen.add(cause)
      const isAsked = commands.get(cause)?.stream === stream || BY_THE_RUNNER.test(cause)
      if (!isAsked) breaks.push(`${stream} ${from}: nobody asked for ${cause}`)
    }
  }
  for (const ledger of ledgersIn(streams)) {
    for (const group of ledger.groups) {
      const command = commands.get(group.cause)?.command ?? recordingOf(group)
      const fault = decidedOtherwise(ledger, group, command as LedgerCommand | null)
      if (fault !== null) breaks.push(`${ledger.stream} ${group.from}: ${fault}`)
    }
  }
  return breaks
}

/** The command that recorded calls, from what it recorded. */
function recordingOf({ facts }: Group): LedgerCommand | null {
  const counted = facts.find(({ type }) => type === "ApiCallsCounted")
  return counted?.type === "ApiCallsCounted" ? { ...counted, type: "RecordCalls" } : null
}

function decidedOtherwise(
  ledger: StoredStream,
  { cause, from, facts }: Group,
  command: LedgerCommand | null,
): string | null {
  if (command === null) return `${cause} records what is no call`
  const at = facts[0]?.at ?? 0
  const headHash = ledger.hashes[from - 1]
  const stamped = { ...command, at, ...(headHash === undefined ? {} : { headHash }) }
  const known = { facts: ledgerFacts(ledger).slice(0, from), gathered: [] }
  const answer = decideByReference(known, stamped)
  const expected = isRefusal(answer) ? `a no: ${show(answer)}` : show(answer)
  return expected === show(facts) ? null : `stored ${show(facts)} where there should be ${expected}`
}
