/** Whom a mail came back from is not written to again, from none of the company's sending domains. */
import { z } from "zod"
import { mailOf, suppressionsOf } from "../../../domain/email/aggregates.ts"
import { parseMailId } from "../../../domain/email/ids.ts"
import { mailView } from "../../../domain/email/mail.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/id-schemas.ts"

const OfCopy = z.object({ mailId: idSchema(parseMailId), n: z.number() })

/** Suppresses whom a mail came back from. */
export const suppressReturned = reaction<z.infer<typeof OfCopy>>({
  kind: "suppress-returned",
  payload: OfCopy,
  from: {
    MailReturned: ({ mailId, n, at }) => [
      { name: `${mailId}:${n}`, payload: { mailId, n }, dueAt: at },
    ],
  },
  perform: async ({ runner }, { companyId, name, payload: { mailId, n } }) => {
    const view = await runner.readLatest(mailOf(companyId, mailId), mailView)
    const copy = view?.copies.find((one) => one.n === n)
    if (copy === undefined) return { result: "park", reason: "its stream does not know this mail" }
    const { tag, to } = copy
    const command = { type: "SuppressRecipient", tag, to, why: "bounced" } as const
    const cause = causedBy(`suppress-returned ${name}`)
    await runner.execute(suppressionsOf(companyId), { ...command, sendingDomainId: null }, cause)
    return { result: "done" }
  },
  giveUp: "nothing is lost",
  endsWithCompany: true,
})
