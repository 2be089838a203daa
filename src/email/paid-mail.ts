import type { CompanyId } from "../../domain/kernel/ids.ts"
import { MAIL_AGGREGATE, mailStreamOf } from "../../domain/email/aggregates.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import type { MailCommand, MailView } from "../../domain/email/mail.ts"
import { isMailAbandoned, viewOfMail } from "../../domain/email/mail.ts"
import { paidResource } from "../frame/effects/paid-resource.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Executes a command on a mail and returns its state afterwards; null if it does not exist. */
export async function executeMailCommand(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  command: MailCommand,
  cause: Cause,
): Promise<MailView | null> {
  return (await runner.execute(mailStreamOf(companyId, command.mailId), command, cause, viewOfMail))
    .view
}

/** Deletes the content of a mail that is not sent any more. */
export async function deleteMailContent(
  { blobs }: Pick<Ports, "blobs">,
  companyId: CompanyId,
  mailId: MailId,
): Promise<void> {
  await blobs.delete(companyId, mailId)
}

const REJECTED_MAIL_REFUND = { amountMicros: null, reason: "the mail was rejected" }

/** A mail as a paid resource: a mail that is rejected as a whole is refunded. */
export const paidMail = paidResource({
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
