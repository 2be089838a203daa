/**
 * The deletion of a company, and its undoing. The closed ledger is the switch: every key is refused
 * from then on. The keys' own facts follow, so that the undoing finds what was switched off.
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

/** Deletes a company. One that is deleted stays as it is, and the answer is the same. */
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
    throw new Error(`the ledger of ${companyId} did not close`)
  }
  const from = closed.view.erasureStartsAt
  // Those that are switched off by now worked until then.
  const keysSwitchedOff = await runner.readLatest(accessStreamOf(companyId), countUsableKeys)
  return { erasedFrom: from, keysSwitchedOff, position: closed.position, leftAsItIs: [] }
}

/** Undoes a deletion; the refusal where the data is being erased, or is. */
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

/** Switches the keys off, or on again, as the ledger says by now: after its company's deletion, in order. */
export const switchKeys = reaction({
  kind: "switch-keys",
  payload: z.object({}),
  on: {
    LedgerClosed: ({ at }, recorded) => [switchKeysJob(recorded, at)],
    LedgerReopened: ({ at }, recorded) => [switchKeysJob(recorded, at)],
  },
  discard: "owed",
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
  // It may turn while the keys do.
  for (let deleted = await isDeleted(); ;) {
    const type = deleted ? "SwitchKeysOff" : "SwitchKeysOn"
    const done = await runner.execute(accessStreamOf(companyId), { type }, cause)
    if (!done.accepted) throw new Error(`the keys were not switched: ${done.refusal.code}`)
    const now = await isDeleted()
    if (now === deleted) return
    deleted = now
  }
}

// The deletion of a company whose ledger is corrupt, and takes no fact. The row of its erasure is the
// switch then: it says from when on the data is erased, and taking it away is the undoing.

/** What a deletion came to. */
interface CompanyDeletion {
  /** From when on the company's data is erased, UTC milliseconds. */
  readonly erasedFrom: number
  /** The keys that worked until then. */
  readonly keysSwitchedOff: number
  readonly position: Position | null
  /** Its corrupt streams that the deletion needs, and that take no fact. */
  readonly leftAsItIs: readonly string[]
}

/** The kind of the rows that erase a company. */
export const ERASE_COMPANY_JOB = "erase-company"

/** What such a row carries. */
export interface ErasurePayload {
  /** From when on the data is erased where no ledger says so, UTC milliseconds. */
  readonly withoutLedgerFrom?: number | undefined
}

/** The row that erases a company, by its name. */
export function erasureJob(companyId: CompanyId) {
  return { kind: ERASE_COMPANY_JOB, name: companyId, subject: `${companyId} erasure` }
}

/**
 * Deletes a company by the row of its erasure, and switches its keys off. What else of it is corrupt is
 * left as it is, and named.
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
  if (known === null) throw new Error(`the erasure of ${companyId} could not be scheduled`)
  const leftAsItIs = [fault.corruption.stream]
  let keysSwitchedOff = 0
  let position: CompanyDeletion["position"] = null
  try {
    const access = accessStreamOf(companyId)
    keysSwitchedOff = await runner.readLatest(access, countUsableKeys)
    const done = await runner.execute(access, { type: "SwitchKeysOff" }, cause)
    if (!done.accepted) throw new Error(`the keys were not switched off: ${done.refusal.code}`)
    ;({ position } = done)
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    leftAsItIs.push(error.corruption.stream)
  }
  return { erasedFrom: Date.parse(known.dueAt), keysSwitchedOff, position, leftAsItIs }
}

const NEVER_ABORTED = new AbortController().signal

/** Undoes such a deletion; false where there is none, or its time has come. */
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
  if (!done.accepted) throw new Error(`the keys were not switched on: ${done.refusal.code}`)
  return true
}
