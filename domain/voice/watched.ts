/** What a carrier knows of a leg that it is asked about, told as what it should have said by itself. */
import type { CallCommand } from "./call-commands.ts"
import type { CallId } from "./ids.ts"

/** What a carrier knows of a leg: UTC milliseconds by its clock, null where it does not say. */
export interface LegKnowledge {
  readonly isAlive: boolean
  readonly answeredAt: number | null
  readonly endedAt: number | null
}

/**
 * The commands that a call may have missed; one that it knows changes nothing.
 *
 * @param heardAt when the caller was last known to be there: what nobody says the end of ended then, so that
 *   nobody pays for time of which nothing is known
 */
export function missedOf(
  callId: CallId,
  leg: number,
  { isAlive, answeredAt, endedAt }: LegKnowledge,
  heardAt: number,
): readonly CallCommand[] {
  if (!isAlive) return [{ type: "EndLeg", callId, leg, goneAt: endedAt ?? heardAt, answeredAt }]
  return answeredAt === null ? [] : [{ type: "OpenLeg", callId, leg, answeredAt, ref: null }]
}
