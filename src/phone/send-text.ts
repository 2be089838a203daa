/**
 * `POST /api/v1/phone/messages`, from top to bottom: what a text is and what its charge comes to, the job
 * that hands it to the carrier, its price, and the route.
 */
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
import { paidThing } from "../frame/effects/paid-thing.ts"
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

// What a text is: its recipient's stream knows it, because a STOP and a text must have one order.

const REJECTED_TEXT_REFUND = { amountMicros: null, reason: "the carrier refused the text" }
const NO_LINE = "the opt-out line was not needed"

/** Texts, and what their charges come to. */
export const paidText = paidThing({
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

/** A text in its recipient's stream. */
export function textReference(stream: AggregateStream<typeof RECIPIENT_AGGREGATE>, id: MessageId) {
  return { id, stream }
}

// Handing it over. The recipient's facts enqueue the job, those of free replies too.

/** Nothing in it is readable without the recipient's key. */
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

/** The jobs that send texts. */
export const textJobs = effect({
  kind: "send-text",
  checkKind: "ask-text",
  payload: QueuedText,
  provider: "the carrier",
  thingName: "this text",
  missingReason: "its recipient does not know this text",
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
  // Other texts to the same recipient may go on.
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
    // Its recipient is erased: no text can be named to the carrier.
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

/** A text without its words; null where its sender or its recipient was erased. */
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

// Its price, and the request.

/** A text to a recipient. */
interface Draft {
  readonly companyId: CompanyId
  /** E.164. */
  readonly to: string
  /** Two letters. */
  readonly country: string
  readonly tag: RecipientTag
  readonly recipient: AggregateStream<typeof RECIPIENT_AGGREGATE>
  /** As the caller wrote it. */
  readonly body: string
  /** The number that it is sent from, by id or number; null for the company's first. */
  readonly from: string | null
}

/**
 * Seals and prices a text as written and, where a first text carries it, with the opt-out line: the
 * recipient's stream decides which of them it will be.
 */
async function priceText(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  { companyId, country, tag, body }: Draft,
): Promise<{
  readonly price: { readonly unitPriceMicros: number; readonly priceVersion: number }
  readonly withoutLine: PreparedText
  readonly withLine: PreparedText | null
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
    withoutLine: await prepare(body),
    withLine: mayCarryLine ? await prepare(withOptOutLine(body)) : null,
  }
}

const SendText = z.object({
  to: textableNumberSchema.describe("Full phone number of the recipient"),
  body: nonBlankText(1_600).describe("What it says"),
  from: boundedText(64).optional().meta({
    description: "One of the company's texting numbers or its id; default the first",
  }),
})

const TextReply = z.object({
  id: describedId("the text"),
  status: z.literal("queued").describe("It is handed to the carrier next"),
  from: z.string().describe("The company's number that it is sent from"),
  to: z.string().describe("The recipient's number"),
  body: z.string().describe("What it says, with the opt-out line where that was added"),
})
type TextReply = z.infer<typeof TextReply>

const BAD_NUMBER =
  "This number cannot be texted: give a full mobile number of a country that is switched on, such as the US or Canada."
const NO_NUMBER = "The company keeps no such number that can send texts."
const UNPAID =
  "The rent of this number is not paid, so nothing goes out from it; it is asked for again each day."
const UNREGISTERED =
  "This number is not registered for texting: GET /api/v1/phone/registration says what is missing. One that carriers refused can be released for another."
/** Why no number can be sent from. */
const SENDER_REFUSALS = { none: NO_NUMBER, unpaid: UNPAID, unregistered: UNREGISTERED } as const
const OPTED_OUT = "This person has opted out and may not be texted."

/** The route. */
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
  fieldFaults: { to: { code: "bad_number", message: BAD_NUMBER } },
  refusalCodes: ["bad_number", "no_number", "opted_out"],
  specGap: "The specification does not show the verb: POST, because it creates a text.",

  thing: paidText,
  jobs: textJobs,
  refundReason: "the text could not be queued",
  draft: async ({ runner, sealing }, { companyId }, { body: { to: asked, body, from = null } }) => {
    const { number, country } = asked
    const isOn = await runner.read(phoneStreamOf(companyId), (state) =>
      isDestinationEnabled(state, country),
    )
    if (!isOn) return { refusal: refusal("bad_number", BAD_NUMBER) }
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
    if (typeof from === "string") return { refusal: refusal("no_number", SENDER_REFUSALS[from]) }
    return { from, ...(await priceText(ports, draft)) }
  },
  price: async ({ runner }, { recipient }, { withoutLine, withLine, price }) => {
    const standing = await runner.read(recipient, optOutStateOf)
    if (isOptedOut(standing)) return { refusal: refusal("opted_out", OPTED_OUT) }
    const isFirst = standing.firstMessageId === null
    const { segments, amountMicros } = isFirst && withLine !== null ? withLine : withoutLine
    return { item: "text_segment", quantity: segments, ...price, amountMicros }
  },
  resource: ({ tag }, id) => locatedResource(id, tag),
  command: async ({ sealing }, { spender }, { companyId, tag, to }, charge, prepared) => ({
    type: "QueueText" as const,
    messageId: charge.id,
    chargeId: charge.chargeId,
    chargedMicros: charge.chargedMicros,
    numberId: prepared.from.numberId,
    to: await sealing.seal(companyId, tag, to),
    withoutLine: prepared.withoutLine,
    withLine: prepared.withLine,
    keyId: spender.keyId,
    personId: spender.personId,
  }),
  // Otherwise it was abandoned, or became a first text that was charged without its line.
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

/** The answer for a text that an earlier request queued, from its fact. */
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

/**
 * The fact that queued a text, newest first.
 *
 * @throws Error when the stream has no such fact, which its state says it has
 */
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
