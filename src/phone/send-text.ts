/** `POST /api/v1/phone/messages`: prices a text, charges it, and passes it to the carrier in a job. */
import { z } from "zod"
import type { CarrierTextStatus } from "../../adapters/providers/carrier/port.ts"
import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { destinationPriceOf } from "../../domain/charging/price-book.ts"
import type { AggregateStream } from "../../domain/kernel/aggregate.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { locatedResource } from "../../domain/kernel/resource.ts"
import {
  RECIPIENT_AGGREGATE,
  phoneStreamOf,
  recipientStreamOf,
} from "../../domain/phone/aggregates.ts"
import type { MessageId, RecipientTag } from "../../domain/phone/ids.ts"
import { parseMessageId, parseNumberId } from "../../domain/phone/ids.ts"
import { mentionsStop } from "../../domain/phone/texting-rules.ts"
import { isDestinationEnabled, textingSettingsOf } from "../../domain/phone/phone-views.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { PreparedText, Recipient, RecipientCommand } from "../../domain/phone/recipient.ts"
import { isOptedOut, optOutStateOf, findText } from "../../domain/phone/recipient.ts"
import { countSegments } from "../../domain/phone/segments.ts"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import { withOptOutLine } from "../../domain/phone/texting-rules.ts"
import { effect } from "../frame/effects/effect.ts"
import { paidResource } from "../frame/effects/paid-resource.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import type { PaidReply } from "../frame/effects/paid-spec.ts"
import {
  nonBlankText,
  describedId,
  idSchema,
  sealedTextSchema,
  boundedText,
  textableNumberSchema,
} from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { selectSendingNumber } from "../registration/sending-number.ts"
import { findCompanyNumber } from "./company-number.ts"
import { disabledCountryMessage } from "./destinations.ts"

// A text lives in its recipient's stream, because a STOP and a text need one order.

const REJECTED_TEXT_REFUND = { amountMicros: null, reason: "the carrier rejected the text" }
const NO_LINE = "the opt-out line was not needed"

/** A text as a paid resource. */
export const paidText = paidResource({
  prefix: "msg",
  aggregate: RECIPIENT_AGGREGATE,
  resolve: (companyId, resource) => {
    const parsed = parseTextResource(resource)
    return parsed === null
      ? null
      : textReference(recipientStreamOf(companyId, parsed.recipient), parsed.messageId)
  },
  view: (messageId) => (state: Recipient) => {
    const known = findText(state, messageId)
    return known?.status === "abandoned" ? "abandoned" : known
  },
  status: ({ status, chargeId, refundMicros }) => {
    const isVoid = status === "rejected"
    if (status === "queued") return { chargeId, charge: "pending", isVoid }
    if (isVoid) return { chargeId, charge: REJECTED_TEXT_REFUND, isVoid }
    const line = { amountMicros: refundMicros, reason: NO_LINE }
    return { chargeId, charge: refundMicros > 0 ? line : "settled", isVoid }
  },
  abandonCommand: (messageId) => ({ type: "AbandonText" as const, messageId }),
  neverBegunReason: "the text was never queued",
})

/** Locates a text in its recipient's stream. */
export function textReference(stream: AggregateStream<typeof RECIPIENT_AGGREGATE>, id: MessageId) {
  return { id, stream }
}

// The recipient's facts enqueue the job, also for free replies.

/** Readable only with the recipient's key. */
const QueuedText = z.object({
  stream: z.string(),
  messageId: idSchema(parseMessageId),
  chargeId: z.string().nullable(),
  refundMicros: z.number(),
  numberId: idSchema(parseNumberId),
  to: sealedTextSchema,
  body: sealedTextSchema,
  queuedAt: z.number(),
})
type QueuedText = z.infer<typeof QueuedText>
type Outcome = Exclude<CarrierTextStatus, { answer: "unknown" }>

const referenceOf = ({ stream, messageId }: QueuedText) =>
  textReference({ aggregate: RECIPIENT_AGGREGATE, stream }, messageId)

export const textJobs = effect({
  kind: "send-text",
  checkKind: "ask-text",
  payload: QueuedText,
  provider: "the carrier",
  label: "this text",
  missingReason: "the recipient's stream has no such text",
  isDiscardedOnErasure: true,
  hasPersonalData: true,
  on: {
    TextQueued: (fact, { stream }) => {
      const { messageId, chargeId, refundMicros, numberId, to, body, at } = fact
      const payload = {
        stream,
        messageId,
        chargeId,
        refundMicros,
        numberId,
        to,
        body,
        queuedAt: at,
      }
      return [{ name: messageId, subject: stream, payload, dueAt: at }]
    },
  },
  startedAt: ({ queuedAt }) => queuedAt,
  // Checking one text must not delay other texts to the same recipient.
  checkSubject: ({ messageId }) => messageId,
  checkStatus: (ports, { companyId, payload }, cause) =>
    paidText.checkStatus(ports, companyId, referenceOf(payload), cause),
  callProvider: async (ports, { companyId, payload }): Promise<Outcome> => {
    const [outgoing, body] = await Promise.all([
      openOutgoingText(ports, companyId, payload),
      ports.sealing.unseal(companyId, payload.body),
    ])
    if (outgoing === null || body === null) return { answer: "rejected", errorCode: "erased" }
    const { isHeld, ...rest } = outgoing
    if (!isHeld) return { answer: "rejected", errorCode: "number_released" }
    return ports.carrier.send({ ...rest, body })
  },
  checkProvider: async (ports, { companyId, payload }) => {
    const outgoing = await openOutgoingText(ports, companyId, payload)
    // After the recipient's erasure we can no longer identify the text to the carrier.
    if (outgoing === null) return "unknown"
    const { isHeld: _isHeld, ...rest } = outgoing
    const known = await ports.carrier.checkTextStatus({ ...rest, queuedAt: payload.queuedAt })
    return known.answer === "unknown" ? "unknown" : known
  },
  isIdempotent: ({ carrier }) => carrier.isIdempotent,
  recordOutcome: async (ports, { companyId, payload }, outcome, cause) => {
    await paidText.conclude(
      ports,
      companyId,
      referenceOf(payload),
      commandOf(payload, outcome),
      cause,
    )
    return true
  },
  notReceivedOutcome: async ({ carrier, clock }, { payload: { queuedAt } }) => {
    const isNo = clock.now() - queuedAt >= carrier.notReceivedAfterMs
    return isNo ? { answer: "rejected" as const, errorCode: "unknown_to_carrier" } : null
  },
  discardedOutcome: { answer: "rejected", errorCode: "given_up" },
})

/** A text without its body; null if its sender or recipient was erased. */
async function openOutgoingText(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  { messageId: textId, numberId, to: sealedTo }: QueuedText,
) {
  const [from, to] = await Promise.all([
    findCompanyNumber(ports, companyId, numberId),
    ports.sealing.unseal(companyId, sealedTo),
  ])
  if (from === null || to === null) return null
  const { number, isTest, isHeld } = from
  return { textId, companyId, from: number, to, isTest, isHeld }
}

function commandOf({ messageId, to: phone }: QueuedText, outcome: Outcome): RecipientCommand {
  switch (outcome.answer) {
    case "accepted":
      return { type: "AcceptText", messageId, carrierId: outcome.carrierId }
    case "rejected":
      if (outcome.errorCode === "opted_out")
        return { type: "RecordCarrierOptOut", messageId, phone }
      return { type: "RejectText", messageId, errorCode: outcome.errorCode }
    case "delivered":
    case "undelivered": {
      const { carrierId } = outcome
      const delivered = outcome.answer === "delivered"
      const errorCode = outcome.answer === "undelivered" ? outcome.errorCode : null
      return { type: "ReportDelivery", messageId, carrierId, delivered, errorCode }
    }
  }
}

interface Draft {
  readonly companyId: CompanyId
  /** E.164. */
  readonly to: string
  readonly country: string
  readonly tag: RecipientTag
  readonly recipient: AggregateStream<typeof RECIPIENT_AGGREGATE>
  readonly body: string
  /** The sending number, by id or number; null for the company's first. */
  readonly from: string | null
}

/** Seals and prices a text with and without the opt-out line; the recipient's stream decides which is sent. */
async function priceText(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  { companyId, country, tag, body }: Draft,
): Promise<{
  readonly price: { readonly unitPriceMicros: number; readonly priceVersion: number }
  readonly withoutOptOutLine: PreparedText
  readonly withOptOutLine: PreparedText | null
}> {
  const price = await runner.read(PRICES_STREAM, (book) => {
    const { textMicros: unitPriceMicros, priceVersion } = destinationPriceOf(book, country)
    return { unitPriceMicros, priceVersion }
  })
  const { texting } = await runner.read(phoneStreamOf(companyId), textingSettingsOf)
  const prepare = async (words: string): Promise<PreparedText> => {
    const segments = countSegments(words)
    const amountMicros = segments * price.unitPriceMicros
    return { body: await sealing.seal(companyId, tag, words), segments, amountMicros }
  }
  const mayCarryLine = texting.optOutLine && !mentionsStop(body)
  return {
    price,
    withoutOptOutLine: await prepare(body),
    withOptOutLine: mayCarryLine ? await prepare(withOptOutLine(body)) : null,
  }
}

const SendText = z.object({
  to: textableNumberSchema.describe("Full phone number of the recipient"),
  body: nonBlankText(1_600).describe("The text"),
  from: boundedText(64).optional().meta({
    description: "One of the company's texting numbers, or its id; default: the first",
  }),
})

const TextReply = z.object({
  id: describedId("the text"),
  status: z.literal("queued").describe("It is passed to the carrier next"),
  from: z.string().describe("The company's sending number"),
  to: z.string().describe("The recipient's number"),
  body: z.string().describe("The text, with the opt-out line if it was added"),
})
type TextReply = z.infer<typeof TextReply>

const NO_NUMBER = "The company has no number that can send texts. Buy or register one."
const WRONG_NUMBER =
  "The number in `from` is not one of the company's that can send texts. Name another, or leave it out."
const UNPAID =
  "The rent of this number is not paid, so it cannot send texts. The rent is charged again each day."
const UNREGISTERED =
  "This number is not registered for texting. GET /api/v1/phone/registration shows what is missing. If carriers rejected the number, release it and buy another."
const SENDER_REFUSALS = { none: NO_NUMBER, unpaid: UNPAID, unregistered: UNREGISTERED } as const
const OPTED_OUT = "This person has opted out and must not be texted."

export const sendText = paidRoute({
  name: "sendText",
  method: "POST",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "Send a text",
  example: { body: { to: "+14155557778", body: "Hello" } },
  operation: "phone.messages.send",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  accountRequirement: "managed",
  body: SendText,
  reply: TextReply,
  fieldFaultCodes: { to: "bad_number" },
  refusalCodes: ["bad_number", "no_number", "opted_out"],
  specGap: "The specification does not show the method: POST, because it creates a text.",

  paidResource: paidText,
  jobs: textJobs,
  refundReason: "the text could not be queued",
  draft: async (
    { runner, sealing },
    { companyId },
    { body: { to: recipient, body, from = null } },
  ) => {
    const { number, country } = recipient
    const isEnabled = await runner.read(phoneStreamOf(companyId), (state) =>
      isDestinationEnabled(state, country),
    )
    if (!isEnabled)
      return { refusal: refusal("bad_number", disabledCountryMessage("Texts", country)) }
    const tag = await sealing.tag(companyId, number)
    return {
      companyId,
      to: number,
      country,
      tag,
      recipient: recipientStreamOf(companyId, tag),
      body,
      from,
    }
  },
  prepare: async (ports, draft) => {
    const from = await selectSendingNumber(ports, draft.companyId, draft.from)
    if (from === "none" && draft.from !== null)
      return { refusal: refusal("no_number", WRONG_NUMBER) }
    if (typeof from === "string") return { refusal: refusal("no_number", SENDER_REFUSALS[from]) }
    return { from, ...(await priceText(ports, draft)) }
  },
  price: async (
    { runner },
    { recipient },
    { withoutOptOutLine, withOptOutLine: withLine, price },
  ) => {
    const optOut = await runner.read(recipient, optOutStateOf)
    if (isOptedOut(optOut)) return { refusal: refusal("opted_out", OPTED_OUT) }
    const isFirst = optOut.firstMessageId === null
    const { segments, amountMicros } = isFirst && withLine !== null ? withLine : withoutOptOutLine
    return { item: "text_segment", quantity: segments, ...price, amountMicros }
  },
  chargeResource: ({ tag }, id) => locatedResource(id, tag),
  command: async ({ sealing }, { spender }, { companyId, tag, to }, charge, prepared) => ({
    type: "QueueText" as const,
    messageId: charge.id,
    chargeId: charge.chargeId,
    chargedMicros: charge.chargedMicros,
    numberId: prepared.from.numberId,
    to: await sealing.seal(companyId, tag, to),
    withoutOptOutLine: prepared.withoutOptOutLine,
    withOptOutLine: prepared.withOptOutLine,
    keyId: spender.keyId,
    personId: spender.personId,
  }),
  // Any other refusal: the text was abandoned, or became a first text and was charged without its line.
  toRefusal: ({ code }) => (code === "opted_out" ? refusal("opted_out", OPTED_OUT) : null),
  answer: async (ports, draft, id, { facts: [fact], prepared }) => {
    if (fact?.type !== "TextQueued" || prepared === null) return queuedTextReply(ports, draft, id)
    const body = fact.lineAdded ? withOptOutLine(draft.body) : draft.body
    return { reply: replyOf(id, prepared.from.number, draft, body) }
  },
  forgottenAnswer: (ports, draft, id) => queuedTextReply(ports, draft, id),
})

const replyOf = (id: MessageId, from: string, { to }: Draft, body: string): TextReply => ({
  id,
  status: "queued",
  from,
  to,
  body,
})

/** The reply for a text that an earlier request queued, from its fact. */
async function queuedTextReply(
  ports: Pick<Ports, "runner" | "sealing" | "store" | "streams">,
  draft: Draft,
  id: MessageId,
): Promise<PaidReply<TextReply>> {
  const { companyId, recipient } = draft
  const { fact, position } = await readQueuedFact(ports, recipient.stream, id)
  const from = (await findCompanyNumber(ports, companyId, fact.numberId))?.number ?? ""
  const body = (await ports.sealing.unseal(companyId, fact.body)) ?? ""
  return { reply: replyOf(id, from, draft, body), position }
}

/** Finds the fact that queued a text. @throws Error if the stream lacks it although its state has the text */
async function readQueuedFact(
  { store, streams }: Pick<Ports, "store" | "streams">,
  stream: string,
  messageId: MessageId,
) {
  for await (const page of store.read(stream, { direction: "backwards" })) {
    for (const stored of page) {
      if (stored.type !== "TextQueued") continue
      const { fact } = streams.toRecorded(stored)
      if (fact.type === "TextQueued" && fact.messageId === messageId) {
        return { fact: fact satisfies TextQueued, position: stored.position }
      }
    }
  }
  throw new Error(`stream ${stream} has no queued text ${messageId}`)
}
