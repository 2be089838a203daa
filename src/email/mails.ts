/** A mail as its stream has it, and what becomes of the open charge that pays for it. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { mailOf } from "../../domain/email/aggregates.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import type { MailCommand, MailView } from "../../domain/email/mail.ts"
import { mailView } from "../../domain/email/mail.ts"
import { endCharge } from "../frame/effects/charge-ends.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** What the charge of a mail names begins with this. */
export const MAIL_PREFIX = "mail"

/** Records news of a mail and answers how it stands after it; null where there is none. */
export async function recordMail(
  { runner }: Ports,
  companyId: CompanyId,
  command: MailCommand,
  cause: Cause,
): Promise<MailView | null> {
  return (await runner.execute(mailOf(companyId, command.mailId), command, cause, mailView)).view
}

/**
 * Ends the charge of a mail that is charged for good, or gives back that of one which was refused as a
 * whole. False while it may become either.
 */
export async function settleMail(
  ports: Ports,
  companyId: CompanyId,
  { accepted, refused, isEarned }: MailView,
  cause: Cause,
): Promise<boolean> {
  if (refused === null && !isEarned) return false
  const back = refused === null ? null : { amountMicros: null, reason: "the mail was refused" }
  await endCharge(ports, companyId, accepted.chargeId, back, cause)
  return true
}

/** Deletes what a mail says: it goes to nobody any more. */
export async function forgetLetter(
  { blobs }: Ports,
  companyId: CompanyId,
  mailId: MailId,
): Promise<void> {
  await blobs.delete(companyId, mailId)
}

/** What the reconciler does with the charge of a mail. */
export const reconciledMail: Reconciled = {
  prefix: MAIL_PREFIX,
  streamOf: (companyId, resource) => {
    const mailId = parseMailId(resource)
    return mailId === null ? null : mailOf(companyId, mailId).stream
  },
  neverBegun: "the mail was never accepted",
  abandon: async (ports, { companyId, resource }, cause) => {
    const mailId = parseMailId(resource)
    if (mailId === null) throw new Error(`${resource} is no mail`)
    const view = await recordMail(ports, companyId, { type: "AbandonMail", mailId }, cause)
    if (view === null) {
      await forgetLetter(ports, companyId, mailId)
      return "never begun"
    }
    return (await settleMail(ports, companyId, view, cause)) ? "ended" : "open"
  },
}
