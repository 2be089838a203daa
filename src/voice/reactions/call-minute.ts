/** Charges the minutes of a call as they begin, and ends their charges when it is over. */
import { z } from "zod"
import type { CallFact } from "../../../domain/voice/call-events.ts"
import { minutesOf } from "../../../domain/voice/call-minutes.ts"
import { parseCallId } from "../../../domain/voice/ids.ts"
import type { At } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { payCall } from "../pay-call.ts"

/** Whoever takes a call in charges its first minute at once: this stands behind it. */
const PAID_BY_MS = 2_000

/** Whatever is said of the end of a call may change what its minutes come to. */
function settle(
  { callId, at }: CallFact<"CallerHungUp" | "CallEnded">,
  { revision }: Pick<At<"CallerHungUp">, "revision">,
) {
  return [{ name: `${callId}:${revision}`, payload: { callId }, dueAt: at }]
}

/** Pays a call. */
export const callMinute = reaction({
  kind: "charge-call-minute",
  payload: z.object({ callId: idSchema(parseCallId) }),
  from: {
    CallMinuteStarted: ({ callId, minute, at }) =>
      minute === 1
        ? [{ name: `${callId}:first`, payload: { callId }, dueAt: at + PAID_BY_MS }]
        : [],
    CallerAnswered: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    CallerHungUp: settle,
    CallEnded: settle,
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await payCall(ports, { companyId, callId }, causedBy(`charge-call-minute ${name}`))
    const next = call === null ? null : minutesOf(call).next
    // One row looks at each minute of a call as it begins.
    const isOwn = name === callId && next !== null
    return isOwn ? { result: "later", dueAt: next.dueAt } : { result: "done" }
  },
})
