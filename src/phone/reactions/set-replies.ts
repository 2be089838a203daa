/** Has a carrier that answers keywords itself say what the company's replies say. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import { phoneRevision, textingOf } from "../../../domain/phone/phone-views.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { openedTexting } from "../texting-rules.ts"

/** Sets the carrier's own replies. */
export const setReplies = reaction({
  kind: "configure-replies",
  payload: z.object({ revision: z.number() }),
  from: {
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
  giveUp: "nothing is lost",
  endsWithCompany: true,
  perform: async (ports, work) => {
    const { companyId } = work
    const stream = phoneOf(companyId)
    // Whatever was changed behind it is set with it.
    const { texting, revision } = await ports.runner.readLatest(stream, (state) => ({
      ...textingOf(state),
      revision: phoneRevision(state),
    }))
    const { optOutLine: _line, ...replies } = await openedTexting(ports, companyId, texting)
    try {
      const set = ports.carrier.setReplies({ companyId, ...replies })
      await inTime(ports.pacer, "the carrier", set)
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, error.message)
    }
    const cause = causedBy(`configure-replies ${work.name}`)
    await ports.runner.execute(stream, { type: "ApplyReplies", revision }, cause)
    return { result: "done" }
  },
})
