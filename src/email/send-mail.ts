/** `POST /api/v1/email/send`: charge, accept, hand over, answer what is known; `hand-mail.ts` hands over. */
import { z } from "zod"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import { mailOf, suppressionsOf } from "../../domain/email/aggregates.ts"
import type { AddressTag, MailId } from "../../domain/email/ids.ts"
import type { MailView } from "../../domain/email/mail.ts"
import { isMailAbandoned, mailView } from "../../domain/email/mail.ts"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { addressKey, mailboxText } from "../../domain/email/mailbox.ts"
import { offersUnsubscribe } from "../../domain/email/suppressions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { OwnCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import type { Told } from "../frame/effects/charged-spec.ts"
import { filledText, isBlank, textOfLines } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { forgetLetter, MAIL_PREFIX } from "./mails.ts"
import { keepLetter } from "./letters.ts"
import type { Letter } from "./letters.ts"
import { keptMailbox, mailbox } from "./mailboxes.ts"
import { HAND_MAIL } from "./reactions/hand-mail.ts"
import { verifiedSender } from "./verified-sender.ts"

/** So many can be written to at once (specification, "Email"). */
const MOST_RECIPIENTS = 50
const MOST_BODY_BYTES = 8 * 1024 * 1024
/** The call waits so long for what becomes of it, milliseconds. */
const WITHIN_MS = 12_000

const TO = `Must be an address, or a list of 1 to ${MOST_RECIPIENTS} of them.`

const SendMail = z
  .object({
    from: mailbox.describe("An address at a verified sending domain; `Name <address>` works"),
    to: z
      .union([mailbox, z.array(mailbox).min(1).max(MOST_RECIPIENTS)], TO)
      .describe(
        `Who gets it: an address, or 1 to ${MOST_RECIPIENTS}; each gets a mail of their own`,
      ),
    subject: filledText(998)
      .refine((text) => !/\p{Cc}/u.test(text), "Must be one line without control characters.")
      .describe("What it is about"),
    text: textOfLines(200_000).optional().describe("What it says, as plain text"),
    html: textOfLines(500_000).optional().describe("What it says, as HTML"),
    replyTo: mailbox.optional().describe("Where answers go; default `from`"),
  })
  .refine(({ text = "", html = "" }) => !isBlank(`${text}${html}`), {
    message: "Send text, html or both.",
    path: ["text"],
  })

const addresses = (what: string) => z.array(z.string()).describe(what)

const MailReply = z.object({
  delivered: addresses("Whose own server of mail has it"),
  queued: addresses("Who gets it later, as far as anybody knows: it is tried for 72 hours"),
  bounced: addresses("Who cannot be written to; they stay charged"),
})
type MailReply = z.infer<typeof MailReply>

const NOT_SENT: OwnCode = {
  error: "not_sent",
  status: 400,
  example: {
    message:
      "Nothing is sent from mail.example.com: it is no verified sending domain of this company. Add it, or check its records.",
  },
}

/** Whom something is for. */
interface Recipient {
  readonly to: Mailbox
  readonly tag: AddressTag
}

interface Draft extends Letter {
  readonly companyId: CompanyId
  readonly recipients: readonly Recipient[]
}

interface Prepared {
  readonly sendingDomainId: string
  readonly hasUnsubscribe: boolean
}

/** Each once, by what is equal for two ways of writing to one; as they were written first. */
async function distinct(
  { sealing }: Ports,
  companyId: CompanyId,
  given: readonly Mailbox[],
): Promise<readonly Recipient[]> {
  const byKey = new Map<string, Mailbox>()
  for (const one of given) if (!byKey.has(addressKey(one))) byKey.set(addressKey(one), one)
  return Promise.all(
    [...byKey].map(async ([key, to]) => ({ to, tag: await sealing.tag(companyId, key) })),
  )
}

const mail = charged<
  Checked<z.infer<typeof SendMail>>,
  Draft,
  Prepared,
  MailReply,
  typeof MAIL_PREFIX
>({
  prefix: MAIL_PREFIX,
  undone: "the mail could not be accepted",
  draft: async (ports, { companyId }, { body }) => {
    const { from, to, subject, text = "", html = "", replyTo = null } = body
    const recipients = await distinct(ports, companyId, Array.isArray(to) ? to : [to])
    const letter = { from, replyTo, subject, text: text || null, html: html || null }
    return { companyId, recipients, ...letter }
  },
  prepare: async (ports, { companyId, from: { domain } }) => {
    const sendingDomainId = await verifiedSender(ports, companyId, domain)
    if (sendingDomainId === null) {
      const message = `Nothing is sent from ${domain}: it is no verified sending domain of this company. Add it, or check its records.`
      return { refusal: refusal(NOT_SENT, message) }
    }
    const offers = offersUnsubscribe(sendingDomainId)
    const hasUnsubscribe = await ports.runner.read(suppressionsOf(companyId), offers)
    return { sendingDomainId, hasUnsubscribe }
  },
  price: async ({ runner }, { recipients: { length: quantity } }) => {
    const price = await runner.read(PRICES, (book) => priceOf(book, "email_recipient"))
    const amountMicros = price.unitPriceMicros * quantity
    return { item: "email_recipient", quantity, ...price, amountMicros }
  },
  resource: (_draft, id) => id,
  intend: async (ports, caller, draft, prepared, { id: mailId, chargeId }) => {
    const command = await acceptance(ports, caller, draft, prepared, mailId)
    const stream = mailOf(draft.companyId, mailId)
    const accept = { ...command, chargeId, type: "AcceptMail" as const }
    const done = await ports.runner.execute(stream, accept, causeOf(caller), mailView)
    if (done.accepted && done.view !== null) {
      return { reply: await replyOf(ports, draft.companyId, done.view), position: done.position }
    }
    // It was abandoned meanwhile.
    await forgetLetter(ports, draft.companyId, mailId)
    return "again"
  },
  begun: async ({ runner }, { companyId }, mailId) => {
    const stream = mailOf(companyId, mailId)
    if (await runner.read(stream, isMailAbandoned)) return "undone"
    const known = await runner.read(stream, mailView)
    if (known === null) return "no"
    return known.refused === null ? "yes" : "undone"
  },
  reply: (ports, { companyId }, mailId) => soFar(ports, companyId, mailId),
  awaits: {
    withinMs: WITHIN_MS,
    work: ({ clock }, { companyId }, _draft, { id: mailId }) => ({
      kind: HAND_MAIL,
      name: mailId,
      subject: mailId,
      companyId,
      payload: { mailId },
      dueAt: clock.now(),
    }),
    outcome: async (ports, _caller, { companyId }, { id: mailId }) => {
      const view = await ports.runner.readLatest(mailOf(companyId, mailId), mailView)
      if (view === null) return null
      if (view.refused !== null) return { refusal: notTaken(view.refused) }
      if (view.copies.some(({ status }) => status === "open")) return null
      return { reply: await replyOf(ports, companyId, view), position: null }
    },
    soFar: (ports, _caller, { companyId }, { id }) => soFar(ports, companyId, id),
  },
})

/** What of a mail is recorded, with what it says kept. */
async function acceptance(
  ports: Ports,
  caller: Caller,
  { companyId, recipients, from, replyTo, subject, text, html }: Draft,
  prepared: Prepared,
  mailId: MailId,
) {
  const { sealing } = ports
  const letter = { from, replyTo, subject, text, html }
  const bodyHash = await keepLetter(ports, companyId, mailId, letter)
  const { keyId, personId } = caller.spender
  return {
    mailId,
    keyId,
    personId,
    ...prepared,
    bodyHash,
    from: await sealing.seal(companyId, COMPANY_SUBJECT, mailboxText(from)),
    recipients: await Promise.all(
      recipients.map(async ({ to, tag }, recipientIndex) => {
        return { recipientIndex, tag, to: await sealing.seal(companyId, tag, mailboxText(to)) }
      }),
    ),
  }
}

const notTaken = (code: string): Refusal =>
  refusal(NOT_SENT, `The mail was refused (${code}) before anybody had it; nothing was charged.`)

/** What is known of a mail by now. @throws Error where there is none */
async function soFar(ports: Ports, companyId: CompanyId, mailId: MailId): Promise<Told<MailReply>> {
  const view = await ports.runner.readLatest(mailOf(companyId, mailId), mailView)
  if (view === null) throw new Error(`there is no mail ${mailId}`)
  return { reply: await replyOf(ports, companyId, view), position: null }
}

/** What became of each recipient. Of whom the address was erased nothing is said. */
async function replyOf(
  { sealing }: Ports,
  companyId: CompanyId,
  { copies }: MailView,
): Promise<MailReply> {
  const reply: { -readonly [K in keyof MailReply]: string[] } = {
    delivered: [],
    queued: [],
    bounced: [],
  }
  for (const { to, status } of copies) {
    const opened = await sealing.open(companyId, to)
    if (opened === null) continue
    const isBack = status === "bounced" || status === "returned"
    const list = status === "delivered" ? "delivered" : isBack ? "bounced" : "queued"
    reply[list].push(keptMailbox(opened).address)
  }
  return reply
}

/** The route. */
export const sendMail = route({
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
  counted: true,
  limit: RATE_LIMITS.paid,
  account: "managed",
  bodyLimitBytes: MOST_BODY_BYTES,
  body: SendMail,
  reply: MailReply,
  refuses: [NOT_SENT, "spend_limit_reached", "payment_required"],
  specGap:
    "The specification leaves the verb open: POST, because it makes something. It does not say who sees whom: " +
    "each recipient gets a mail of their own that names them alone.",
  ...mail,
})
