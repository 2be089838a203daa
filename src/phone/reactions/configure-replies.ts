import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import { phoneRevision, textingSettingsOf } from "../../../domain/phone/phone-views.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { unsealTextingRules } from "../texting-rules.ts"

/** Sends the company's keyword replies to a carrier that answers keywords itself. */
export const configureReplies = reaction({
  kind: "configure-replies",
  payload: z.object({ revision: z.number() }),
  on: {
    PhoneSettingsChanged: ({ texting, at }, { companyId, revision }) =>
      texting === null
        ? []
        : [
            {
              name: `${companyId}:${revision}`,
              subject: companyId,
              payload: { revision },
              dueAt: at,
            },
          ],
  },
  discard: "allowed",
  isDiscardedOnErasure: true,
  perform: async (ports, work) => {
    const { companyId } = work
    const stream = phoneStreamOf(companyId)
    // Later changes are sent with this one.
    const { texting, revision } = await ports.runner.readLatest(stream, (state) => ({
      ...textingSettingsOf(state),
      revision: phoneRevision(state),
    }))
    const { optOutLine: _line, ...replies } = await unsealTextingRules(ports, companyId, texting)
    try {
      const set = ports.carrier.setKeywordReplies({ companyId, ...replies })
      await withProviderTimeout(ports.pacer, "the carrier", set)
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, error.message)
    }
    const cause = causedBy(`configure-replies ${work.name}`)
    await ports.runner.execute(stream, { type: "ApplyReplies", revision }, cause)
    return { result: "done" }
  },
})
