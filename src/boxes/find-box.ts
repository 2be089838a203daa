/**
 * Finds boxes, and checks whether the caller may see or use them. Only the box's person works in it; owners
 * and admins see, stop and delete everyone's; others get 404 (docs/decisions/boxes.md).
 */
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { viewOfBox } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { parseBoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { BOX_STARTING, boxNotFound, boxStopped } from "./box-errors.ts"
import { BOX_REFUSAL_MESSAGES } from "../../domain/boxes/box-commands.ts"

const NOT_OWN_BOX =
  "Only the person who started this box can work in it. You can see, stop and delete it."

export interface FoundBox {
  readonly companyId: CompanyId
  readonly boxId: BoxId
  readonly view: BoxView
}

/** Whether a person sees all boxes of the company. */
export function canSeeAllBoxes({ person }: Pick<Caller, "person">): boolean {
  return person?.role === "owner" || person?.role === "admin"
}

/** Reads the newest state of a box, across processes; null if there is no such box. */
export function readBox(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  boxId: BoxId,
): Promise<BoxView | null> {
  return runner.readLatest(boxStreamOf(companyId, boxId), viewOfBox)
}

/** Finds a box that the caller may see. */
export async function findVisibleBox(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  name: string,
): Promise<FoundBox | { readonly refusal: Refusal }> {
  const boxId = parseBoxId(name)
  if (boxId === null) return { refusal: boxNotFound() }
  const { companyId, person } = caller
  const stream = boxStreamOf(companyId, boxId)
  const known = await ports.runner.read(stream, viewOfBox)
  // Another process may know that the box runs by now: read the newest state.
  const view = known?.status === "running" ? known : await readBox(ports, companyId, boxId)
  if (view === null || view.isDeleted) return { refusal: boxNotFound() }
  const isOwn = person !== null && view.started.personId === person.personId
  return isOwn || canSeeAllBoxes(caller) ? { companyId, boxId, view } : { refusal: boxNotFound() }
}

/** Finds a running box that the caller may work in. */
export async function findOwnRunningBox(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  name: string,
): Promise<FoundBox | { readonly refusal: Refusal }> {
  const found = await findVisibleBox(ports, caller, name)
  if ("refusal" in found) return found
  const { started, status } = found.view
  if (started.personId !== caller.person?.personId) {
    return { refusal: refusal("not_allowed", NOT_OWN_BOX) }
  }
  if (status === "starting")
    return { refusal: refusal(BOX_STARTING, BOX_REFUSAL_MESSAGES.box_starting) }
  return status === "running" ? found : { refusal: boxStopped() }
}
