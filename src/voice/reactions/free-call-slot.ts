/** Frees the slot of a call that is over, or that never came to anything. */
import { z } from "zod"
import { callSlotsOf } from "../../../domain/voice/aggregates.ts"
import { parseCallId } from "../../../domain/voice/ids.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { readCall } from "../find-call.ts"

/** A slot is looked into after this: whoever took it may have ended before the call was offered. */
const LOOK_INTO_AFTER_MS = 15 * 60_000

/** Frees a slot. */
export const freeCallSlot = reaction({
  kind: "free-call-slot",
  payload: z.object({ callId: idSchema(parseCallId) }),
  from: {
    CallEnded: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    SlotTaken: ({ holderId, at }) => {
      const callId = parseCallId(holderId)
      if (callId === null) return []
      return [{ name: `${callId}:taken`, payload: { callId }, dueAt: at + LOOK_INTO_AFTER_MS }]
    },
  },
  until: { SlotFreed: ({ holderId }) => [`${holderId}:taken`] },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt === null) {
      return { result: "later", dueAt: ports.clock.now() + LOOK_INTO_AFTER_MS }
    }
    const command = { type: "FreeSlot" as const, holderId: callId }
    const cause = causedBy(`free-call-slot ${name}`)
    await ports.runner.execute(callSlotsOf(companyId), command, cause)
    return { result: "done" }
  },
})
