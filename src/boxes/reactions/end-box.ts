/** Ends boxes: stops those of a deleted company, and frees the machine and slot of an ended box. */
import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { logActivity } from "../activity.ts"
import { readBox } from "../find-box.ts"
import { abandonBox, releaseSlot } from "../box-slots.ts"
import { boxStreamOf, boxSlotsStreamOf } from "../../../domain/boxes/aggregates.ts"
import { slotHoldersOf } from "../../../domain/kernel/slots.ts"

/** Stops the boxes of a deleted company: the keys that started them no longer work. */
export const stopCompanyBoxes = reaction({
  kind: "stop-boxes",
  payload: z.object({}),
  on: {
    LedgerClosed: ({ at }, { companyId, revision }) => [
      { name: `${companyId}:${revision}`, payload: {}, dueAt: at },
    ],
  },
  discard: "never",
  perform: async ({ runner }, { companyId, name }) => {
    const cause = causedBy(`stop-boxes ${name}`)
    const live = await runner.readLatest(boxSlotsStreamOf(companyId), slotHoldersOf)
    for (const boxId of live) {
      const command = { type: "StopBox" as const, boxId, reason: "key_changed" as const }
      const stream = boxStreamOf(companyId, boxId)
      await runner.execute(stream, { ...command, keyId: null, personId: null }, cause)
    }
    return { result: "done" }
  },
})

/** A slot whose box has not started by then is checked: its start may have crashed. */
const CHECK_SLOT_AFTER_MS = 15 * 60_000
const STOP_TIMEOUT_MS = 30_000

const BoxPayload = z.object({ boxId: idSchema(parseBoxId) })
const jobWhenEnded = ({ boxId, at }: { readonly boxId: BoxId; readonly at: number }) => [
  { name: boxId, payload: { boxId }, dueAt: at },
]

/** Logs why a box ended, unless a person stopped it: that stop has its own entry. */
async function logBoxEnd(
  ports: Pick<Ports, "clock" | "activityLog" | "runner" | "sealing">,
  companyId: CompanyId,
  boxId: BoxId,
): Promise<void> {
  const view = await readBox(ports, companyId, boxId)
  const reason = view?.reason ?? null
  if (view === null || reason === null || reason === "stopped") return
  const action = view.status === "failed" ? "start" : "stop"
  const done = { action, detail: null, result: reason } as const
  await logActivity(ports, null, { companyId, boxId, view }, done)
}

/** Ends the machine of an ended box. */
export const endBoxMachine = reaction({
  kind: "stop-sandbox",
  payload: BoxPayload,
  on: { BoxStopped: jobWhenEnded, BoxFailed: jobWhenEnded },
  // A machine that is left running ends with its lease.
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { boxId } = payload
    const stop = async () => (await ports.boxHost.find(boxId))?.stop()
    try {
      await withProviderTimeout(ports.pacer, "the box host", stop(), STOP_TIMEOUT_MS)
      await logBoxEnd(ports, companyId, boxId)
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, "the box host does not answer")
    }
  },
})

/** Releases the slot of a box that has ended or was never started. */
export const releaseBoxSlot = reaction({
  kind: "free-slot",
  payload: BoxPayload,
  on: {
    BoxStopped: jobWhenEnded,
    BoxFailed: jobWhenEnded,
    SlotTaken: ({ holderId, at }) => {
      const boxId = parseBoxId(holderId)
      if (boxId === null) return []
      return [{ name: `${boxId}:taken`, payload: { boxId }, dueAt: at + CHECK_SLOT_AFTER_MS }]
    },
  },
  endOn: { SlotFreed: ({ holderId }) => [`${holderId}:taken`] },
  discard: "never",
  perform: async (ports, { companyId, name, payload: { boxId } }) => {
    const cause = causedBy(`free-slot ${name}`)
    const view = await abandonBox(ports, companyId, boxId, cause)
    const isOver = view === null || view.endedAt !== null
    if (isOver) await releaseSlot(ports, companyId, boxId, cause)
    return { result: "done" }
  },
})
