/** What a mail is, and what its charge comes to. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { MAIL, mailOf } from "../../domain/email/aggregates.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import type { MailCommand, MailView } from "../../domain/email/mail.ts"
import { isMailAbandoned, mailView } from "../../domain/email/mail.ts"
import { paidThing } from "../frame/effects/paid-thing.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Records news of a mail and answers how it stands after it; null where there is none. */
export async function recordMail(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  command: MailCommand,
  cause: Cause,
): Promise<MailView | null> {
  return (await runner.execute(mailOf(companyId, command.mailId), command, cause, mailView)).view
}

/** Deletes what a mail says: it goes to nobody any more. */
export async function forgetLetter(
  { blobs }: Pick<Ports, "blobs">,
  companyId: CompanyId,
  mailId: MailId,
): Promise<void> {
  await blobs.delete(companyId, mailId)
}

const REFUSED = { amountMicros: null, reason: "the mail was refused" }

/** Mails, and what their charges come to: one that was refused as a whole is refunded. */
export const mail = paidThing({
  prefix: "mail",
  aggregate: MAIL,
  at: (companyId, resource) => {
    const id = parseMailId(resource)
    return id === null ? null : { id, stream: mailOf(companyId, id) }
  },
  view: () => (state) => (isMailAbandoned(state) ? "abandoned" : mailView(state)),
  standing: ({ accepted: { chargeId }, refused, isEarned }) => {
    if (refused !== null) return { chargeId, charge: REFUSED, isUndone: true }
    return { chargeId, charge: isEarned ? "settled" : "pending", isUndone: false }
  },
  abandon: (mailId) => ({ type: "AbandonMail" as const, mailId }),
  onAbandoned: forgetLetter,
  neverBegun: "the mail was never accepted",
})
