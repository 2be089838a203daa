/**
 * The deletion of a company whose ledger is corrupt, and takes no fact. The row of its erasure is the
 * switch then: it says from when on the data is erased, and taking it away is the undoing.
 */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { keysInUse } from "../../../domain/access/access.ts"
import { erasedFrom } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Position } from "../../../adapters/eventstore/port.ts"
import { DamagedStream } from "../../../adapters/eventstore/port.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

/** What a deletion came to. */
export interface Deleted {
  /** From when on the company's data is erased, UTC milliseconds. */
  readonly erasedFrom: number
  /** The keys that worked until then. */
  readonly keysSwitchedOff: number
  readonly position: Position | null
  /** Its corrupt streams that the deletion needs, and that take no fact. */
  readonly leftAsItIs: readonly string[]
}

/** The kind of the rows that erase a company. */
export const ERASURE = "erase-company"

/** What such a row carries. */
export interface ErasurePayload {
  /** From when on the data is erased where no ledger says so, UTC milliseconds. */
  readonly withoutLedgerFrom?: number | undefined
}

/** The row that erases a company, by its name. */
export function erasureRow(companyId: CompanyId) {
  return { kind: ERASURE, name: companyId, subject: `${companyId} erasure` }
}

/**
 * Deletes a company by the row of its erasure, and switches its keys off. What else of it is corrupt is
 * left as it is, and named.
 */
export async function deleteWithoutLedger(
  ports: Pick<Ports, "clock" | "doNow" | "runner" | "work">,
  companyId: CompanyId,
  fault: DamagedStream,
  cause: Cause,
): Promise<Deleted> {
  const { runner, work, clock } = ports
  const row = erasureRow(companyId)
  const withoutLedgerFrom = erasedFrom(clock.now())
  const payload: ErasurePayload = { withoutLedgerFrom }
  await ports.doNow({ ...row, companyId, payload, dueAt: withoutLedgerFrom }, NEVER)
  const known = await work.named(row.kind, row.name)
  if (known === null) throw new Error(`the erasure of ${companyId} could not be scheduled`)
  const leftAsItIs = [fault.place.stream]
  let keysSwitchedOff = 0
  let position: Deleted["position"] = null
  try {
    const access = accessOf(companyId)
    keysSwitchedOff = await runner.readLatest(access, keysInUse)
    const done = await runner.execute(access, { type: "SwitchKeysOff" }, cause)
    if (!done.accepted) throw new Error(`the keys were not switched off: ${done.refusal.code}`)
    ;({ position } = done)
  } catch (error) {
    if (!(error instanceof DamagedStream)) throw error
    leftAsItIs.push(error.place.stream)
  }
  return { erasedFrom: Date.parse(known.dueAt), keysSwitchedOff, position, leftAsItIs }
}

const NEVER = new AbortController().signal

/** Undoes such a deletion; false where there is none, or its time has come. */
export async function restoreWithoutLedger(
  { runner, work, clock }: Pick<Ports, "clock" | "runner" | "work">,
  companyId: CompanyId,
  cause: Cause,
): Promise<boolean> {
  const { kind, name } = erasureRow(companyId)
  const row = await work.named(kind, name)
  const { withoutLedgerFrom } = (row?.payload ?? {}) as ErasurePayload
  if (row === null || withoutLedgerFrom === undefined) return false
  if (clock.now() >= withoutLedgerFrom) return false
  await work.settle(row.workId, { result: "done" })
  const done = await runner.execute(accessOf(companyId), { type: "SwitchKeysOn" }, cause)
  if (!done.accepted) throw new Error(`the keys were not switched on: ${done.refusal.code}`)
  return true
}
