/** Suppresses addresses that a server rejected, immediately or later, for all sending domains of a company. */
import { z } from "zod"
import { mailStreamOf, suppressionsStreamOf } from "../../../domain/email/aggregates.ts"
import { isDeadAddressCode } from "../../../domain/email/suppressions.ts"
import type { MailId } from "../../../domain/email/ids.ts"
import { parseMailId } from "../../../domain/email/ids.ts"
import { viewOfMail } from "../../../domain/email/mail.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

const KIND = "suppress-dead-addresses"

const CopyPayload = z.object({ mailId: idSchema(parseMailId), n: z.number() })

const suppressionJob = (mailId: MailId, n: number, at: number) => ({
  name: `${mailId}:${n}`,
  payload: { mailId, n },
  dueAt: at,
})

/** Suppresses dead addresses. */
export const suppressDeadAddresses = reaction({
  kind: KIND,
  payload: CopyPayload,
  on: {
    MailDispatched: ({ mailId, outcomes, at }) =>
      outcomes
        .filter(({ result, code }) => result === "bounced" && isDeadAddressCode(code))
        .map(({ recipientIndex }) => suppressionJob(mailId, recipientIndex, at)),
    MailBounced: ({ mailId, recipientIndex, code, at }) =>
      isDeadAddressCode(code) ? [suppressionJob(mailId, recipientIndex, at)] : [],
  },
  perform: async ({ runner }, { companyId, name, payload: { mailId, n } }) => {
    const view = await runner.readLatest(mailStreamOf(companyId, mailId), viewOfMail)
    const copy = view?.copies.find((one) => one.recipientIndex === n)
    if (copy === undefined) return { result: "stuck", reason: "the stream has no such mail" }
    const { tag, to } = copy
    const command = { type: "SuppressRecipient", tag, to, reason: "bounced" } as const
    const cause = causedBy(`${KIND} ${name}`)
    await runner.execute(
      suppressionsStreamOf(companyId),
      { ...command, sendingDomainId: null },
      cause,
    )
    return { result: "done" }
  },
  discard: "allowed",
  isDiscardedOnErasure: true,
})
