/** A company's box slots: reserved before a box is charged, released after it has ended. */
import { boxStreamOf, boxSlotsStreamOf } from "../../domain/boxes/aggregates.ts"
import { viewOfBox } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { TOO_MANY_BOXES } from "./box-errors.ts"
import { readBox } from "./find-box.ts"
import { maxConcurrentBoxes } from "./start-rules.ts"

/**
 * Reserves a slot; null if that worked. If all are taken, it first releases those of ended boxes: a start
 * right after a stop must not wait for the job that releases them.
 */
export async function reserveSlot(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
): Promise<{ readonly refusal: Refusal } | null> {
  const most = await maxConcurrentBoxes(ports, companyId)
  const command = { type: "ReserveSlot" as const, holderId: boxId, maxSlots: most, caller: null }
  const reserve = () => ports.runner.execute(boxSlotsStreamOf(companyId), command, cause)
  let reserved = await reserve()
  if (!reserved.accepted) {
    await releaseEndedBoxes(ports, companyId, cause)
    reserved = await reserve()
  }
  if (reserved.accepted) return null
  const message = `The plan allows ${most} boxes at a time. Stop one first.`
  return { refusal: refusal(TOO_MANY_BOXES, message) }
}

async function releaseEndedBoxes(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<void> {
  for (const boxId of await ports.runner.readLatest(boxSlotsStreamOf(companyId), slotHoldersOf)) {
    const view = await readBox(ports, companyId, boxId)
    if (view !== null && view.endedAt !== null) await releaseSlot(ports, companyId, boxId, cause)
  }
}

/** Releases the slot of a box. */
export async function releaseSlot(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
): Promise<void> {
  await runner.execute(boxSlotsStreamOf(companyId), { type: "ReleaseSlot", holderId: boxId }, cause)
}

/** Makes sure that an unstarted box never starts; returns the box, or null if it did not exist. */
export async function abandonBox(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
) {
  const stream = boxStreamOf(companyId, boxId)
  return (await runner.execute(stream, { type: "AbandonBox", boxId }, cause, viewOfBox)).view
}
