/**
 * Handing a mail over, for as long as it takes: a row for each mail, done at once by the call that made it
 * or by whoever takes it, and put off until the next of its copies is due.
 *
 * Before the first copy goes the row says so. Whoever finds it saying so knows that somebody died over it:
 * of all that was due then nobody knows whether it went, so it goes once more later, and never again.
 */
import { z } from "zod"
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import { parseMailId } from "../../../domain/email/ids.ts"
import type { CopyView, MailView } from "../../../domain/email/mail.ts"
import { mailView } from "../../../domain/email/mail.ts"
import type { HandResult } from "../../../domain/email/mail-events.ts"
import { mailOf } from "../../../domain/email/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { handOver } from "../hand-over.ts"
import { forgetLetter, recordMail, settleMail } from "../mails.ts"

/** The kind of its rows. */
export const HAND_MAIL = "hand-mail"

const OfMail = z.object({ mailId: idSchema(parseMailId) })
type OfMail = z.infer<typeof OfMail>

/** Hands mails over. */
export const handMail = reaction<OfMail>({
  kind: HAND_MAIL,
  payload: OfMail,
  from: {
    MailAccepted: ({ mailId, at }) => [{ name: mailId, payload: { mailId }, dueAt: at }],
  },
  isLong: true,
  endsWithCompany: true,
  perform,
  giveUp: async (ports, { companyId, payload: { mailId } }, cause) => {
    const view = await ports.runner.readLatest(mailOf(companyId, mailId), mailView)
    if (view === null) return null
    const ended = await recordAll(ports, companyId, view, view.copies, "bounced", cause)
    await settleMail(ports, companyId, ended, cause)
    await forgetLetter(ports, companyId, mailId)
    return null
  },
})

async function perform(ports: Ports, work: Work<OfMail>): Promise<WorkResult> {
  const { companyId, payload, signal, workId } = work
  const { mailId } = payload
  const cause = causedBy(`${HAND_MAIL} ${mailId}`)
  const stream = mailOf(companyId, mailId)
  const look = () => ports.runner.readLatest(stream, mailView)
  let view = await look()
  if (view === null) return { result: "park", reason: "its stream does not know this mail" }
  if (work.isHandedOver) {
    view = await recordAll(ports, companyId, view, dueOf(ports, view), "unknown", cause)
  }
  const due = dueOf(ports, view)
  if (due.length > 0) {
    if (signal.aborted || !(await ports.work.handOver(workId))) return { result: "let go" }
    await handOver(ports, { companyId, view, due, cause, signal })
    view = (await look()) ?? view
    // What was under way is recorded, and nothing else was begun.
    if (signal.aborted) return { result: "let go", isUndone: true }
  }
  await settleMail(ports, companyId, view, cause)
  return next(ports, companyId, view)
}

const dueOf = ({ clock }: Pick<Ports, "clock">, { copies }: MailView): readonly CopyView[] => {
  const now = clock.now()
  return copies.filter(({ dueAt }) => dueAt !== null && dueAt <= now)
}

/** Says the same of several copies; of those whose end is known nothing. */
async function recordAll(
  ports: Ports,
  companyId: CompanyId,
  view: MailView,
  copies: readonly CopyView[],
  result: HandResult,
  cause: Cause,
): Promise<MailView> {
  const { mailId } = view.accepted
  const code = result === "bounced" ? "given_up" : null
  const outcomes = copies.map(({ recipientIndex }) => ({ recipientIndex, result, code }))
  const command = { type: "ProgressMail" as const, mailId, outcomes }
  return (await recordMail(ports, companyId, command, cause)) ?? view
}

/** Waits for the copy that is due next; without one it is done, or is an operator's. */
async function next(ports: Ports, companyId: CompanyId, view: MailView): Promise<WorkResult> {
  const times = view.copies.flatMap(({ dueAt }) => dueAt ?? [])
  if (times.length > 0) return { result: "later", dueAt: Math.min(...times), isUndone: true }
  await forgetLetter(ports, companyId, view.accepted.mailId)
  const silent = view.copies.filter(({ status }) => status === "unknown").length
  if (silent === 0) return { result: "done" }
  const of = `${silent} of ${view.copies.length} recipients`
  const reason = `whoever takes mails was silent twice about it for ${of}, and cannot be asked`
  return { result: "park", reason }
}
