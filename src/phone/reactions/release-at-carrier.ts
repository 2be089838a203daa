/** Has the carrier let a number go that its company no longer holds, until it says so. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import { reaction } from "../../frame/effects/reaction.ts"

/** Lets numbers go at the carrier. To let one go that it does not have is nothing. */
export const releaseAtCarrier = reaction({
  kind: "release-number",
  payload: z.object({ carrierRef: z.string() }),
  from: {
    NumberReleased: ({ numberId, carrierRef, at }) =>
      carrierRef === null ? [] : [{ name: numberId, payload: { carrierRef }, dueAt: at }],
  },
  giveUp: "owed",
  perform: async ({ carrier, pacer }, work) => {
    try {
      await inTime(pacer, "the carrier", carrier.release(work.payload.carrierRef))
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, error.message)
    }
  },
})
