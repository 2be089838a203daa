/** The audio of one call, as a path names it. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import type { CallId } from "../../domain/recordings/ids.ts"
import { knowsCall } from "../../domain/recordings/recordings.ts"
import { wasRecorded } from "../../projections/recordings/recordings.ts"
import type { Refusal } from "../frame/calls/refusal.ts"
import { refusal } from "../frame/calls/refusal.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** Where it is. */
export const URL_OF_CALL = "/api/v1/phone/recordings/:callId"

/** Names a call. */
export const OfCall = z.object({ callId: shortText(100).describe("Id of the call") })

/** What is said of a call that is not there. */
export const NO_CALL = "There is no such call."

/** The refusal of a call that is not there. */
export const noCall = (): Refusal => refusal("not_found", NO_CALL)

/** Whether the company has a call of this id of which audio was ever kept. */
export async function isCallOf(
  ports: Ports,
  companyId: CompanyId,
  callId: CallId,
): Promise<boolean> {
  const stream = recordingsOf(companyId)
  if (await ports.runner.readLatest(stream, (state) => knowsCall(state, callId))) return true
  // All of it was deleted so long ago that the stream's state has forgotten the call.
  return ports.readAs(companyId, (db) => wasRecorded(db, companyId, callId))
}
