/** What a mail is, and what its charge comes to. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { MAIL_AGGREGATE, mailStreamOf } from "../../domain/email/aggregates.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import type { MailCommand, MailView } from "../../domain/email/mail.ts"
import { isMailAbandoned, viewOfMail } from "../../domain/email/mail.ts"
import { paidThing } from "../frame/effects/paid-thing.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Records news of a mail and answers how it stands after it; null where there is none. */
export async function executeMailCommand(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  command: MailCommand,
  cause: Cause,
): Promise<MailView | null> {
  return (await runner.execute(mailStreamOf(companyId, command.mailId), command, cause, viewOfMail))
    .view
}

/** Deletes what a mail says: it goes to nobody any more. */
export async function deleteMailContent(
  { blobs }: Pick<Ports, "blobs">,
  companyId: CompanyId,
  mailId: MailId,
): Promise<void> {
  await blobs.delete(companyId, mailId)
}

const REJECTED_MAIL_REFUND = { amountMicros: null, reason: "the mail was refused" }

/** Mails, and what their charges come to: one that was refused as a whole is refunded. */
export const paidMail = paidThing({
  prefix: "mail",
  aggregate: MAIL_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parseMailId(resource)
    return id === null ? null : { id, stream: mailStreamOf(companyId, id) }
  },
  view: () => (state) => (isMailAbandoned(state) ? "abandoned" : viewOfMail(state)),
  status: ({ accepted: { chargeId }, refused, isChargeSettled }) => {
    if (refused !== null) return { chargeId, charge: REJECTED_MAIL_REFUND, isVoid: true }
    return { chargeId, charge: isChargeSettled ? "settled" : "pending", isVoid: false }
  },
  abandonCommand: (mailId) => ({ type: "AbandonMail" as const, mailId }),
  onAbandoned: deleteMailContent,
  neverBegunReason: "the mail was never accepted",
})
