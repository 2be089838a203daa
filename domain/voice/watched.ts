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
 * @param at when the carrier was asked, for a leg that is gone and nobody says since when
 */
export function missedOf(
  callId: CallId,
  leg: number,
  { isAlive, answeredAt, endedAt }: LegKnowledge,
  at: number,
): readonly CallCommand[] {
  if (!isAlive) return [{ type: "EndLeg", callId, leg, goneAt: endedAt ?? at, answeredAt }]
  return answeredAt === null ? [] : [{ type: "OpenLeg", callId, leg, answeredAt, ref: null }]
}
