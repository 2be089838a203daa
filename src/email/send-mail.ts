/** `POST /api/v1/email/send`: the job runs immediately in its request, and again when the next copy is due. */
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { priceOfItem } from "../../domain/charging/price-book.ts"
import { mailStreamOf, suppressionsStreamOf } from "../../domain/email/aggregates.ts"
import type { AddressTag, MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import type { MailDispatchResult } from "../../domain/email/mail-events.ts"
import type { MailCopyView, MailView } from "../../domain/email/mail.ts"
import { viewOfMail } from "../../domain/email/mail.ts"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { normalizedAddress, formatMailbox } from "../../domain/email/mailbox.ts"
import { isUnsubscribeOffered } from "../../domain/email/suppressions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PaidAttempt } from "../frame/effects/paid-spec.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import type { Job } from "../frame/effects/reaction.ts"
import { reaction } from "../frame/effects/reaction.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { nonBlankText, idSchema, isBlank, multilineText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { dispatchCopies } from "./dispatch-copies.ts"
import { storeMailContent } from "./mail-content.ts"
import type { AcceptedMailContent } from "./mail-content.ts"
import { parseStoredMailbox, mailboxSchema } from "./mailboxes.ts"
import { deleteMailContent, paidMail, executeMailCommand } from "./paid-mail.ts"
import { findVerifiedSender } from "./verified-sender.ts"
import { z } from "zod"

// A job is marked as dispatched before its first copy goes out. After a crash each copy that was due may have
// been sent; it is sent once again later, and then never again.

const DISPATCH_MAIL_KIND = "hand-mail"

const MailPayload = z.object({ mailId: idSchema(parseMailId) })
type MailPayload = z.infer<typeof MailPayload>

const dispatchMail = reaction({
  kind: DISPATCH_MAIL_KIND,
  payload: MailPayload,
  on: {
    MailAccepted: ({ mailId, at }) => [{ name: mailId, payload: { mailId }, dueAt: at }],
  },
  isLong: true,
  isDiscardedOnErasure: true,
  perform: performDispatch,
  discard: async (ports, { companyId, payload: { mailId } }, cause) => {
    const view = await ports.runner.readLatest(mailStreamOf(companyId, mailId), viewOfMail)
    if (view === null) return null
    const ended = await recordCopyResults(ports, companyId, view, view.copies, "bounced", cause)
    await paidMail.settle(ports, companyId, ended, cause)
    await deleteMailContent(ports, companyId, mailId)
    return null
  },
})

async function performDispatch(ports: Ports, work: Job<MailPayload>): Promise<JobResult> {
  const { companyId, payload, signal, jobId } = work
  const { mailId } = payload
  const cause = causedBy(`${DISPATCH_MAIL_KIND} ${mailId}`)
  const stream = mailStreamOf(companyId, mailId)
  const readMail = () => ports.runner.readLatest(stream, viewOfMail)
  let view = await readMail()
  if (view === null) return { result: "stuck", reason: "the stream has no such mail" }
  if (work.isDispatched) {
    view = await recordCopyResults(
      ports,
      companyId,
      view,
      dueCopiesOf(ports, view),
      "unknown",
      cause,
    )
  }
  const due = dueCopiesOf(ports, view)
  if (due.length > 0) {
    if (signal.aborted || !(await ports.jobs.dispatch(jobId))) return { result: "released" }
    await dispatchCopies(ports, { companyId, view, due, cause, signal })
    view = (await readMail()) ?? view
    // The copies in progress are recorded, and no others were started.
    if (signal.aborted) return { result: "released", isDispatchCleared: true }
  }
  await paidMail.settle(ports, companyId, view, cause)
  return scheduleNext(ports, companyId, view)
}

const dueCopiesOf = (
  { clock }: Pick<Ports, "clock">,
  { copies }: MailView,
): readonly MailCopyView[] => {
  const now = clock.now()
  return copies.filter(({ dueAt }) => dueAt !== null && dueAt <= now)
}

/** Records the same result for several copies; copies with a known result are left out. */
async function recordCopyResults(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  view: MailView,
  copies: readonly MailCopyView[],
  result: MailDispatchResult,
  cause: Cause,
): Promise<MailView> {
  const { mailId } = view.accepted
  const code = result === "bounced" ? "given_up" : null
  const outcomes = copies.map(({ recipientIndex }) => ({ recipientIndex, result, code }))
  const command = { type: "RecordMailOutcomes" as const, mailId, outcomes }
  return (await executeMailCommand(ports, companyId, command, cause)) ?? view
}

/** Waits for the next due copy; without one the job is done, or stuck if outcomes are unknown. */
async function scheduleNext(
  ports: Pick<Ports, "blobs">,
  companyId: CompanyId,
  view: MailView,
): Promise<JobResult> {
  const times = view.copies.flatMap(({ dueAt }) => dueAt ?? [])
  if (times.length > 0)
    return { result: "rescheduled", dueAt: Math.min(...times), isDispatchCleared: true }
  await deleteMailContent(ports, companyId, view.accepted.mailId)
  const unknownCount = view.copies.filter(({ status }) => status === "unknown").length
  if (unknownCount === 0) return { result: "done" }
  const of = `${unknownCount} of ${view.copies.length} recipients`
  const reason = `the mail server did not answer twice for ${of}, and cannot be asked for their status`
  return { result: "stuck", reason }
}

/** Limit of recipients (specification, "Email"). */
const MAX_RECIPIENTS = 50
const MAX_BODY_BYTES = 8 * 1024 * 1024
/** Time that a request waits for the outcome, milliseconds. */
const REQUEST_TIMEOUT_MS = 12_000

const RECIPIENTS_MESSAGE = `Must be an address, or a list of 1 to ${MAX_RECIPIENTS} addresses.`

const SendMail = z
  .object({
    from: mailboxSchema.describe("An address at a verified sending domain; `Name <address>` works"),
    to: z
      .union([mailboxSchema, z.array(mailboxSchema).min(1).max(MAX_RECIPIENTS)], RECIPIENTS_MESSAGE)
      .describe(
        `One address, or a list of 1 to ${MAX_RECIPIENTS}; each recipient gets a separate email`,
      ),
    subject: nonBlankText(998)
      .refine((text) => !/\p{Cc}/u.test(text), "Must be one line without control characters.")
      .describe("The subject"),
    text: multilineText(200_000).optional().describe("The content as plain text"),
    html: multilineText(500_000).optional().describe("The content as HTML"),
    replyTo: mailboxSchema.optional().describe("Address for replies; default: `from`"),
  })
  .refine(({ text = "", html = "" }) => !isBlank(`${text}${html}`), {
    message: "Send text, html or both.",
    path: ["text"],
  })

const addresses = (what: string) => z.array(z.string()).describe(what)

const MailReply = z.object({
  delivered: addresses("Recipients whose mail server accepted it"),
  queued: addresses("Recipients that get it later; delivery is tried for 72 hours"),
  bounced: addresses("Recipients that cannot be reached; they stay charged"),
})
type MailReply = z.infer<typeof MailReply>

const NOT_SENT: SliceErrorCode = {
  error: "not_sent",
  status: 400,
  example: {
    message:
      "The domain mail.example.com is not a verified sending domain of this company. Add it, or check its records.",
  },
}

interface Recipient {
  readonly to: Mailbox
  readonly tag: AddressTag
}

interface Draft extends AcceptedMailContent {
  readonly companyId: CompanyId
  readonly recipients: readonly Recipient[]
}

interface Prepared {
  readonly sendingDomainId: string
  readonly hasUnsubscribe: boolean
}

/** The recipients without duplicates, as first written; addresses are compared in normalized form. */
async function distinctRecipients(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  mailboxes: readonly Mailbox[],
): Promise<readonly Recipient[]> {
  const byKey = new Map<string, Mailbox>()
  for (const one of mailboxes)
    if (!byKey.has(normalizedAddress(one))) byKey.set(normalizedAddress(one), one)
  return Promise.all(
    [...byKey].map(async ([key, to]) => ({ to, tag: await sealing.tag(companyId, key) })),
  )
}

async function acceptMailCommand(
  ports: Pick<Ports, "blobs" | "sealing">,
  caller: Caller,
  { companyId, recipients, from, replyTo, subject, text, html }: Draft,
  { id: mailId, chargeId }: PaidAttempt<MailId>,
  prepared: Prepared,
) {
  const { sealing } = ports
  const content = { from, replyTo, subject, text, html }
  const bodyHash = await storeMailContent(ports, companyId, mailId, content)
  const { keyId, personId } = caller.spender
  return {
    type: "AcceptMail" as const,
    mailId,
    chargeId,
    keyId,
    personId,
    ...prepared,
    bodyHash,
    from: await sealing.seal(companyId, COMPANY_SUBJECT, formatMailbox(from)),
    recipients: await Promise.all(
      recipients.map(async ({ to, tag }, recipientIndex) => {
        return { recipientIndex, tag, to: await sealing.seal(companyId, tag, formatMailbox(to)) }
      }),
    ),
  }
}

const notSentRefusal = (code: string): Refusal =>
  refusal(NOT_SENT, `The mail server rejected the mail (${code}); nothing was charged.`)

/** The status of each recipient, without those whose address was erased. */
async function mailReplyOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { copies }: MailView,
): Promise<MailReply> {
  const reply: { -readonly [K in keyof MailReply]: string[] } = {
    delivered: [],
    queued: [],
    bounced: [],
  }
  for (const { to, status } of copies) {
    const opened = await sealing.unseal(companyId, to)
    if (opened === null) continue
    const isBounced = status === "bounced" || status === "returned"
    const list = status === "delivered" ? "delivered" : isBounced ? "bounced" : "queued"
    reply[list].push(parseStoredMailbox(opened).address)
  }
  return reply
}

/** Sends an email to up to 50 recipients. */
export const sendMail = paidRoute({
  name: "sendEmail",
  method: "POST",
  url: "/api/v1/email/send",
  group: "email",
  summary: "Send an email to up to 50 people",
  example: {
    body: {
      from: "Acme <hello@mail.acme.example>",
      to: ["ada@example.com"],
      subject: "Your order",
      text: "It is on its way.",
    },
  },
  operation: "email.send",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  accountRequirement: "managed",
  bodyLimitBytes: MAX_BODY_BYTES,
  body: SendMail,
  reply: MailReply,
  refusalCodes: [NOT_SENT],
  specGap:
    "The specification does not show the method: POST, because it creates a mail. It does not say whether recipients see each other: " +
    "each gets a separate mail that names no other recipient.",

  paidResource: paidMail,
  jobs: [dispatchMail],
  refundReason: "the mail could not be accepted",
  draft: async (ports, { companyId }, { body }) => {
    const { from, to, subject, text = "", html = "", replyTo = null } = body
    const recipients = await distinctRecipients(ports, companyId, Array.isArray(to) ? to : [to])
    const content = { from, replyTo, subject, text: text || null, html: html || null }
    return { companyId, recipients, ...content }
  },
  prepare: async (ports, { companyId, from: { domain } }) => {
    const sendingDomainId = await findVerifiedSender(ports, companyId, domain)
    if (sendingDomainId === null) {
      const message = `The domain ${domain} is not a verified sending domain of this company. Add it, or check its records.`
      return { refusal: refusal(NOT_SENT, message) }
    }
    const offers = isUnsubscribeOffered(sendingDomainId)
    const hasUnsubscribe = await ports.runner.read(suppressionsStreamOf(companyId), offers)
    return { sendingDomainId, hasUnsubscribe }
  },
  price: async ({ runner }, { recipients: { length: quantity } }) => {
    const price = await runner.read(PRICES_STREAM, (book) => priceOfItem(book, "email_recipient"))
    const amountMicros = price.unitPriceMicros * quantity
    return { item: "email_recipient", quantity, ...price, amountMicros }
  },
  command: (ports, caller, draft, charge, prepared) =>
    acceptMailCommand(ports, caller, draft, charge, prepared),
  // The reply lists the outcomes that are known in time; other recipients are queued.
  outcomeWait: {
    timeoutMs: REQUEST_TIMEOUT_MS,
    payload: (mailId) => ({ mailId }),
    interimReply: async (ports, { companyId }, view) => ({
      reply: await mailReplyOf(ports, companyId, view),
    }),
  },
  answer: async (ports, { companyId }, _id, { view }) => {
    if (view.refused !== null) return { refusal: notSentRefusal(view.refused) }
    if (view.copies.some(({ status }) => status === "open")) return null
    return { reply: await mailReplyOf(ports, companyId, view) }
  },
})
