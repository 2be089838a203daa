/** The slots of a company's boxes: taken before a box is charged, freed when it has ended. */
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
 * Takes a slot; null where the box has one now. Where all are taken, those of boxes that have ended are freed
 * first: a start right after a stop must not wait for the job that frees them, which may also free them right now.
 */
export async function reserveSlot(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
): Promise<{ readonly refusal: Refusal } | null> {
  const most = await maxConcurrentBoxes(ports, companyId)
  const command = { type: "ReserveSlot" as const, holderId: boxId, maxSlots: most, caller: null }
  const take = () => ports.runner.execute(boxSlotsStreamOf(companyId), command, cause)
  let taken = await take()
  if (!taken.accepted) {
    await releaseEndedBoxes(ports, companyId, cause)
    taken = await take()
  }
  if (taken.accepted) return null
  const message = `The plan has ${most} boxes at once; stop one first.`
  return { refusal: refusal(TOO_MANY_BOXES, message) }
}

/** Frees the slots of boxes that have ended. */
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

/** Frees the slot of a box. */
export async function releaseSlot(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
): Promise<void> {
  await runner.execute(boxSlotsStreamOf(companyId), { type: "ReleaseSlot", holderId: boxId }, cause)
}

/** Makes sure that a box which was not started never is; how it stands, null where it never began. */
export async function abandonBox(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
  cause: Cause,
) {
  const stream = boxStreamOf(companyId, boxId)
  return (await runner.execute(stream, { type: "AbandonBox", boxId }, cause, viewOfBox)).view
}
