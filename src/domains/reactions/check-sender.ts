/** Whether the world still sees the records of each sending domain, asked soon after it was added and once a day. */
import { z } from "zod"
import { isOutside } from "../../../adapters/providers/outside.ts"
import { parseDomainId, parseSendingDomainId } from "../../../domain/domains/ids.ts"
import { restOf } from "../../../domain/kernel/aggregate.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { checkSender } from "../check-sending-domain.ts"

const DAY_MS = 86_400_000
/** Resolvers keep for so long that there was no such record, milliseconds. */
const FIRST_MS = 5 * 60_000
/** Where the domain name system does not answer, it is asked again after this, milliseconds. */
const AGAIN_MS = 3_600_000

/** The reaction. */
export const checkSenderDaily = reaction({
  kind: "check-sender",
  payload: z.object({
    domainId: idSchema(parseDomainId),
    sendingDomainId: idSchema(parseSendingDomainId),
  }),
  from: {
    SendingDomainAdded: ({ sendingDomainId, at }, { stream }) => {
      const domainId = parseDomainId(restOf(stream) ?? "")
      if (domainId === null) return []
      const payload = { domainId, sendingDomainId }
      return [{ name: sendingDomainId, payload, dueAt: at + FIRST_MS }]
    },
  },
  endsWithCompany: true,
  giveUp: "nothing is lost",
  mayRunFrom: AT_ANY_TIME,
  perform: async (ports, { companyId, name, payload }) => {
    const now = ports.clock.now()
    try {
      const cause = causedBy(`check-sender ${name}`)
      const checked = await checkSender(ports, { companyId, ...payload }, cause)
      return checked === null ? { result: "done" } : { result: "later", dueAt: now + DAY_MS }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { result: "later", dueAt: now + AGAIN_MS }
    }
  },
})
