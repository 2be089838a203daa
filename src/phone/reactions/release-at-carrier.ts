/** Has the carrier let a number go that its company no longer holds, until it says so. */
import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { reaction } from "../../frame/effects/reaction.ts"

/** Lets numbers go at the carrier. To let one go that it does not have is nothing. */
export const releaseAtCarrier = reaction({
  kind: "release-number",
  payload: z.object({ carrierRef: z.string() }),
  on: {
    NumberReleased: ({ numberId, carrierRef, at }) =>
      carrierRef === null ? [] : [{ name: numberId, payload: { carrierRef }, dueAt: at }],
  },
  discard: "owed",
  perform: async ({ carrier, pacer }, work) => {
    try {
      await withProviderTimeout(
        pacer,
        "the carrier",
        carrier.releaseNumber(work.payload.carrierRef),
      )
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, error.message)
    }
  },
})
