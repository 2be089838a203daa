/**
 * Deletes a company and undoes the deletion. Closing the ledger takes effect: every key is refused
 * from then on; the keys' own facts follow, so that undoing finds which keys were switched off.
 */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { Position } from "../../../adapters/eventstore/port.ts"
import { CorruptStream } from "../../../adapters/eventstore/port.ts"
import { z } from "zod"
import { reaction } from "../../frame/effects/reaction.ts"
import { countUsableKeys } from "../../../domain/access/access.ts"
import { deletionOf, erasureStartsAt } from "../../../domain/charging/deletion.ts"
import type { LedgerRefusal } from "../../../domain/charging/ledger-commands.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

/** Deletes a company. Deleting it again changes nothing and returns the same answer. */
export async function deleteCompany(
  ports: Pick<Ports, "clock" | "runJobNow" | "runner" | "jobs">,
  companyId: CompanyId,
  cause: Cause,
): Promise<CompanyDeletion> {
  try {
    return await closeLedger(ports, companyId, cause)
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    return deleteWithoutLedger(ports, companyId, error, cause)
  }
}

async function closeLedger(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<CompanyDeletion> {
  const closing = { type: "CloseLedger" as const }
  const stream = ledgerStreamOf(companyId)
  const closed = await runner.execute(stream, closing, cause, deletionOf)
  if (!closed.accepted || closed.view === null) {
    throw new Error(`The ledger of ${companyId} did not close.`)
  }
  const from = closed.view.erasureStartsAt
  // Keys that are switched off already worked until the ledger closed.
  const keysSwitchedOff = await runner.readLatest(accessStreamOf(companyId), countUsableKeys)
  return { erasedFrom: from, keysSwitchedOff, position: closed.position, corruptStreams: [] }
}

/** Undoes a deletion; returns the refusal if the erasure has begun or ended. */
export async function restoreCompany(
  ports: Pick<Ports, "clock" | "runner" | "jobs">,
  companyId: CompanyId,
  cause: Cause,
): Promise<LedgerRefusal | null> {
  const opening = { type: "ReopenLedger" as const }
  const stream = ledgerStreamOf(companyId)
  try {
    const opened = await ports.runner.execute(stream, opening, cause)
    if (!opened.accepted) return opened.refusal
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    if (await restoreWithoutLedger(ports, companyId, cause)) return null
    throw error
  }
  await applyDeletionToKeys(ports, companyId, cause)
  return null
}

/** Switches a company's keys off or on to match its ledger, after a deletion or its undoing. */
export const switchKeys = reaction({
  kind: "switch-keys",
  payload: z.object({}),
  on: {
    LedgerClosed: ({ at }, recorded) => [switchKeysJob(recorded, at)],
    LedgerReopened: ({ at }, recorded) => [switchKeysJob(recorded, at)],
  },
  discard: "never",
  perform: async (ports, { companyId, name }) => {
    await applyDeletionToKeys(ports, companyId, causedBy(`switch-keys ${name}`))
    return { result: "done" }
  },
})

function switchKeysJob(
  { companyId, revision }: { companyId: CompanyId; revision: number },
  dueAt: number,
) {
  const [name, subject] = [`${companyId}:${revision}`, `${companyId} keys`]
  return { name, subject, payload: {}, dueAt }
}

async function applyDeletionToKeys(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
) {
  const isDeleted = () =>
    runner.readLatest(ledgerStreamOf(companyId), (state) => deletionOf(state) !== null)
  // The deletion may be made or undone while the keys are switched.
  for (let deleted = await isDeleted(); ;) {
    const type = deleted ? "SwitchKeysOff" : "SwitchKeysOn"
    const done = await runner.execute(accessStreamOf(companyId), { type }, cause)
    if (!done.accepted) throw new Error(`The keys were not switched: ${done.refusal.code}`)
    const now = await isDeleted()
    if (now === deleted) return
    deleted = now
  }
}

// A corrupt ledger takes no facts. Then the erasure job stands for the deletion: its payload says
// when the data is erased, and removing the job undoes the deletion.

interface CompanyDeletion {
  /** When the company's data is erased, UTC milliseconds. */
  readonly erasedFrom: number
  /** Number of keys that worked until then. */
  readonly keysSwitchedOff: number
  readonly position: Position | null
  /** Corrupt streams of the company that the deletion needs and that take no facts. */
  readonly corruptStreams: readonly string[]
}

export const ERASE_COMPANY_JOB = "erase-company"

export interface ErasurePayload {
  /** When the data is erased if no ledger says so, UTC milliseconds. */
  readonly withoutLedgerFrom?: number | undefined
}

/** Names the job that erases a company. */
export function erasureJob(companyId: CompanyId) {
  return { kind: ERASE_COMPANY_JOB, name: companyId, subject: `${companyId} erasure` }
}

/**
 * Deletes a company with a corrupt ledger by its erasure job, and switches its keys off. Other
 * corrupt streams are left unchanged and returned.
 */
async function deleteWithoutLedger(
  ports: Pick<Ports, "clock" | "runJobNow" | "runner" | "jobs">,
  companyId: CompanyId,
  fault: CorruptStream,
  cause: Cause,
): Promise<CompanyDeletion> {
  const { runner, jobs, clock } = ports
  const row = erasureJob(companyId)
  const withoutLedgerFrom = erasureStartsAt(clock.now())
  const payload: ErasurePayload = { withoutLedgerFrom }
  await ports.runJobNow({ ...row, companyId, payload, dueAt: withoutLedgerFrom }, NEVER_ABORTED)
  const known = await jobs.findByName(row.kind, row.name)
  if (known === null) throw new Error(`The erasure of ${companyId} could not be scheduled.`)
  const corruptStreams = [fault.corruption.stream]
  let keysSwitchedOff = 0
  let position: CompanyDeletion["position"] = null
  try {
    const access = accessStreamOf(companyId)
    keysSwitchedOff = await runner.readLatest(access, countUsableKeys)
    const done = await runner.execute(access, { type: "SwitchKeysOff" }, cause)
    if (!done.accepted) throw new Error(`The keys were not switched off: ${done.refusal.code}`)
    ;({ position } = done)
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    corruptStreams.push(error.corruption.stream)
  }
  return { erasedFrom: Date.parse(known.dueAt), keysSwitchedOff, position, corruptStreams }
}

const NEVER_ABORTED = new AbortController().signal

/** Undoes a deletion without a ledger; false if there is none, or its erasure is due. */
async function restoreWithoutLedger(
  { runner, jobs, clock }: Pick<Ports, "clock" | "runner" | "jobs">,
  companyId: CompanyId,
  cause: Cause,
): Promise<boolean> {
  const { kind, name } = erasureJob(companyId)
  const row = await jobs.findByName(kind, name)
  const { withoutLedgerFrom } = (row?.payload ?? {}) as ErasurePayload
  if (row === null || withoutLedgerFrom === undefined) return false
  if (clock.now() >= withoutLedgerFrom) return false
  await jobs.settle(row.jobId, { result: "done" })
  const done = await runner.execute(accessStreamOf(companyId), { type: "SwitchKeysOn" }, cause)
  if (!done.accepted) throw new Error(`The keys were not switched on: ${done.refusal.code}`)
  return true
}
