import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { reaction } from "../../frame/effects/reaction.ts"

/** Releases a number at the carrier, which ignores numbers that it does not have. */
export const releaseAtCarrier = reaction({
  kind: "release-number",
  payload: z.object({ carrierRef: z.string() }),
  on: {
    NumberReleased: ({ numberId, carrierRef, at }) =>
      carrierRef === null ? [] : [{ name: numberId, payload: { carrierRef }, dueAt: at }],
  },
  discard: "never",
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
