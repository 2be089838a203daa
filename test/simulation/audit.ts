/**
 * The audit after a run: every acknowledged charge is there exactly once; no charge without its
 * command; none that did not fit; every read model equals a rebuild; every open charge has somebody
 * who ends it; every chain of hashes is whole. Nothing of it asks the ledger: a plain one judges.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { auditCallers } from "./audit-callers.ts"
import { auditCalls } from "./audit-calls.ts"
import { auditCheckpoints, auditModels, orphans } from "./audit-derived.ts"
import { auditStored } from "./audit-stored.ts"
import { auditTold } from "./audit-told.ts"
import type { AuditedRun } from "./audited-run.ts"
import type { Records } from "./records.ts"
import { readStreams } from "./stored.ts"
import type { World } from "./world.ts"

/** What faults may make a process warn of. */
const PASSING = new Set([
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])
/** Calls that were served are given up only with the memory of their process. */
const GIVEN_UP = /^what was gathered|^\S+ refused what was gathered/
/** A carrier may be silent for so long that only an operator can help. */
const PARKED = /^work \d+ \(ask-text\) waits for an operator: the carrier has been silent/

/** What does not hold after a run. */
export async function audit(run: AuditedRun): Promise<readonly string[]> {
  const { world, callers, events } = run
  const breaks: string[] = []
  const streams = readStreams(events, breaks)
  return [
    ...breaks,
    ...callers.faults.map((fault) => `a caller was told ${told(fault)}`),
    ...auditStored(streams, world.records),
    ...auditTold(streams, world.records),
    ...auditCallers(run, streams),
    ...auditCalls(run, streams),
    ...auditModels(world, events),
    ...(await auditCheckpoints(world, streams)),
    ...warningsOf(world.records),
  ]
}

/** Open charges that no work will end, while others are still to be ended. */
export function auditOpen(world: World, events: readonly StoredEvent[]): readonly string[] {
  return orphans(world, readStreams(events, []))
}

function warningsOf({ warned }: Records): readonly string[] {
  return warned
    .filter(({ message, error }) => GIVEN_UP.test(message) || !mayPass(error))
    .filter(({ message }) => !PARKED.test(message))
    .map(({ process, message, error }) => `${process} warned: ${message}: ${told(error)}`)
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return PASSING.has(error.name) || ("code" in error && error.code === "ECONNRESET")
}

function told(error: unknown): string {
  return error instanceof Error ? `${error.stack} ${String(error.cause ?? "")}` : String(error)
}
