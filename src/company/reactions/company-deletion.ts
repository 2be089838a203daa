/**
 * The deletion of a company, and its undoing. The closed ledger is the switch: every key is refused
 * from then on. The keys' own facts follow, so that the undoing finds what was switched off.
 */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { DamagedStream } from "../../../adapters/eventstore/port.ts"
import { z } from "zod"
import { reaction } from "../../frame/effects/reaction.ts"
import { keysInUse } from "../../../domain/access/access.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { LedgerRefusal } from "../../../domain/charging/ledger-commands.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Deleted } from "./without-ledger.ts"
import { deleteWithoutLedger, restoreWithoutLedger } from "./without-ledger.ts"

/** Deletes a company. One that is deleted stays as it is, and the answer is the same. */
export async function deleteCompany(
  ports: Pick<Ports, "clock" | "doNow" | "runner" | "work">,
  companyId: CompanyId,
  cause: Cause,
): Promise<Deleted> {
  try {
    return await closeLedger(ports, companyId, cause)
  } catch (error) {
    if (!(error instanceof DamagedStream)) throw error
    return deleteWithoutLedger(ports, companyId, error, cause)
  }
}

async function closeLedger(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<Deleted> {
  const closing = { type: "CloseLedger" as const }
  const stream = ledgerOf(companyId)
  const closed = await runner.execute(stream, closing, cause, deletionOf)
  if (!closed.accepted || closed.view === null) {
    throw new Error(`the ledger of ${companyId} did not close`)
  }
  const { erasedFrom } = closed.view
  // Those that are switched off by now worked until then.
  const keysSwitchedOff = await runner.readLatest(accessOf(companyId), keysInUse)
  return { erasedFrom, keysSwitchedOff, position: closed.position, leftAsItIs: [] }
}

/** Undoes a deletion; the refusal where the data is being erased, or is. */
export async function restoreCompany(
  ports: Pick<Ports, "clock" | "runner" | "work">,
  companyId: CompanyId,
  cause: Cause,
): Promise<LedgerRefusal | null> {
  const opening = { type: "ReopenLedger" as const }
  const stream = ledgerOf(companyId)
  try {
    const opened = await ports.runner.execute(stream, opening, cause)
    if (!opened.accepted) return opened.refusal
  } catch (error) {
    if (!(error instanceof DamagedStream)) throw error
    if (await restoreWithoutLedger(ports, companyId, cause)) return null
    throw error
  }
  await followDeletion(ports, companyId, cause)
  return null
}

/** Switches the keys off, or on again, as the ledger says by now: after its company's deletion, in order. */
export const switchKeys = reaction({
  kind: "switch-keys",
  payload: z.object({}),
  from: {
    LedgerClosed: ({ at }, recorded) => [turn(recorded, at)],
    LedgerReopened: ({ at }, recorded) => [turn(recorded, at)],
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name }) => {
    await followDeletion(ports, companyId, causedBy(`switch-keys ${name}`))
    return { result: "done" }
  },
})

function turn({ companyId, revision }: { companyId: CompanyId; revision: number }, dueAt: number) {
  const [name, subject] = [`${companyId}:${revision}`, `${companyId} keys`]
  return { name, subject, payload: {}, dueAt }
}

async function followDeletion(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
) {
  const isDeleted = () =>
    runner.readLatest(ledgerOf(companyId), (state) => deletionOf(state) !== null)
  // It may turn while the keys do.
  for (let deleted = await isDeleted(); ;) {
    const type = deleted ? "SwitchKeysOff" : "SwitchKeysOn"
    const done = await runner.execute(accessOf(companyId), { type }, cause)
    if (!done.accepted) throw new Error(`the keys were not switched: ${done.refusal.code}`)
    const now = await isDeleted()
    if (now === deleted) return
    deleted = now
  }
}
