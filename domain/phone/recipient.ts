/**
 * What a company may text to one recipient, and the status of those texts (docs/decisions/phone.md).
 *
 * Stream `recipient-<companyId>-<tag>`; the tag is a keyed hash of the phone number. A STOP and a send are decided
 * in the same stream and therefore in order, and exactly one of two concurrent first texts gets the opt-out line.
 * There are a few events per text; a checkpoint bounds the time to load them.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { ChargeId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { MessageId, NumberId } from "./ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { TextKeyword } from "./texting-rules.ts"
import type {
  RecipientEvent,
  RecipientFact,
  OptOutState,
  TextPurpose,
  TextQueued,
} from "./recipient-events.ts"

const DAY_MS = 24 * 3_600_000
/** Ended texts are kept at least this long, for late commands. */
const RETENTION_MS = 7 * DAY_MS
/** Above this number, texts that ended before the retention are forgotten. */
const MAX_TEXTS_KEPT = 500

/** A text that is ready to send: sealed body, segments and price. */
export interface PreparedText {
  readonly body: SealedText
  readonly segments: number
  readonly amountMicros: Micros
}

/** Queues a text. Idempotent for the same message. */
export interface QueueText {
  readonly type: "QueueText"
  readonly messageId: MessageId
  readonly chargeId: ChargeId
  readonly chargedMicros: Micros
  readonly numberId: NumberId
  readonly to: SealedText
  readonly withoutOptOutLine: PreparedText
  /**
   * Null if no text to this recipient carries the line. The stream decides whether this is the first text, so every
   * text that may be the first passes both.
   */
  readonly withOptOutLine: PreparedText | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** Records that the carrier accepted a text. Idempotent. */
export interface AcceptText {
  readonly type: "AcceptText"
  readonly messageId: MessageId
  readonly carrierId: string
}

/** Records that the carrier rejected a text or does not know it. Idempotent. */
export interface RejectText {
  readonly type: "RejectText"
  readonly messageId: MessageId
  readonly errorCode: string
}

/**
 * Records that the carrier rejected a text because the recipient texted STOP. Only a START from the recipient lifts
 * it. Idempotent.
 */
export interface RecordCarrierOptOut {
  readonly type: "RecordCarrierOptOut"
  readonly messageId: MessageId
  readonly phone: SealedText
}

/** Records the carrier's delivery report. Idempotent. */
export interface ReportDelivery {
  readonly type: "ReportDelivery"
  readonly messageId: MessageId
  /** The carrier's id of the text: this report may arrive before the acceptance. */
  readonly carrierId: string
  readonly delivered: boolean
  readonly errorCode: string | null
}

/** Prevents a charged text that was never queued from being queued later. */
export interface AbandonText {
  readonly type: "AbandonText"
  readonly messageId: MessageId
}

/** The reply to a keyword text; it is free. */
export interface PreparedReply {
  readonly messageId: MessageId
  readonly body: SealedText
  readonly segments: number
}

/** Records a text from the recipient. Idempotent for the same message. */
export interface ReceiveText {
  readonly type: "ReceiveText"
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: SealedText
  readonly body: SealedText
  readonly mediaCount: number
  readonly keyword: TextKeyword | null
  /** The normalized text, if it is a keyword. */
  readonly word: string
  /** The reply to the keyword; null without a keyword. */
  readonly reply: PreparedReply | null
}

/** Adds or removes the company's own opt-out. */
export interface ChangeOptOut {
  readonly type: "AddOptOut" | "RemoveOptOut"
  readonly phone: SealedText
}

/**
 * Records consent on a form, at most once per UTC day. It lifts no opt-out: the person who fills in the form may not be the
 * owner of the number.
 */
export interface OptInByForm extends Pick<
  RecipientFact<"OptedInByForm">,
  "optInId" | "phone" | "firstName" | "service" | "offers" | "method" | "sourceUrl"
> {
  readonly type: "OptInByForm"
}

export type RecipientCommand =
  | QueueText
  | AcceptText
  | RejectText
  | RecordCarrierOptOut
  | ReportDelivery
  | AbandonText
  | ReceiveText
  | ChangeOptOut
  | OptInByForm

export interface RecipientRefused {
  readonly type: "RecipientRefused"
  readonly at: number
  /** `line_not_paid`: it became the first text after its price was read; charge it again. */
  readonly code: "opted_out" | "text_abandoned" | "line_not_paid" | "stopped_by_text" | "no_opt_out"
}

export type TextStatus = "queued" | "sent" | "rejected" | "delivered" | "undelivered" | "abandoned"

interface KnownText {
  readonly status: TextStatus
  readonly chargeId: ChargeId | null
  readonly refundMicros: Micros
  readonly at: number
}

interface RecipientState {
  optOuts: OptOutState
  /** When the recipient last consented on a form, UTC milliseconds; null for never. */
  optedInAt: number | null
  readonly texts: Map<MessageId, KnownText>
  readonly received: Map<MessageId, number>
}

/** The state of a recipient. Only the functions of this file access its fields. */
export type Recipient = RecipientState

const NO_OPT_OUTS: OptOutState = {
  stoppedAt: null,
  stopKeyword: null,
  addedAt: null,
  firstMessageId: null,
}

/** The rules of texting a recipient. */
export const recipientDecider: Decider<
  RecipientCommand,
  Recipient,
  RecipientEvent,
  RecipientRefused
> = {
  initial: () => ({ optOuts: NO_OPT_OUTS, optedInAt: null, texts: new Map(), received: new Map() }),
  decide,
  evolve,
}

function decide(
  command: RecipientCommand,
  state: Recipient,
  { at }: DecisionStamp,
): readonly RecipientEvent[] | RecipientRefused {
  const { optOuts } = state
  switch (command.type) {
    case "QueueText":
      return queueText(command, state, at)
    case "AcceptText": {
      const { messageId, carrierId } = command
      if (state.texts.get(messageId)?.status !== "queued") return []
      return [{ type: "TextAccepted", at, optOuts, messageId, carrierId }]
    }
    case "RejectText":
      return rejectText(command, state, at)
    case "RecordCarrierOptOut": {
      const { messageId, phone } = command
      const rejecting = { type: "RejectText", messageId, errorCode: "opted_out" } as const
      const rejected = rejectText(rejecting, state, at)
      const current = rejected[0]?.optOuts ?? optOuts
      if (rejected.length === 0 || current.stoppedAt !== null) return rejected
      const stopped = { ...current, stoppedAt: at, stopKeyword: null }
      return [...rejected, { type: "OptedOutAtCarrier", at, optOuts: stopped, phone }]
    }
    case "ReportDelivery":
      return reportDelivery(command, state, at)
    case "AbandonText": {
      const { messageId } = command
      if (state.texts.has(messageId)) return []
      return [{ type: "TextAbandoned", at, optOuts, messageId }]
    }
    case "ReceiveText":
      return receiveText(command, state, at)
    case "AddOptOut": {
      if (optOuts.addedAt !== null) return []
      const added = { ...optOuts, addedAt: at }
      return [{ type: "OptOutAdded", at, optOuts: added, phone: command.phone }]
    }
    case "RemoveOptOut": {
      if (optOuts.stoppedAt !== null)
        return { type: "RecipientRefused", at, code: "stopped_by_text" }
      if (optOuts.addedAt === null) return { type: "RecipientRefused", at, code: "no_opt_out" }
      const removed = { ...optOuts, addedAt: null }
      return [{ type: "OptOutRemoved", at, optOuts: removed, phone: command.phone }]
    }
    case "OptInByForm":
      return hasOptedInOn(state, at) ? [] : [{ ...command, type: "OptedInByForm", at, optOuts }]
    default:
      return unreachable(command)
  }
}

function evolve(state: Recipient, event: RecipientEvent): Recipient {
  state.optOuts = event.optOuts
  switch (event.type) {
    case "TextQueued": {
      const { messageId, chargeId, refundMicros, at } = event
      remember(state, messageId, { status: "queued", chargeId, refundMicros, at })
      return state
    }
    case "TextAccepted":
      return setStatus(state, event, "sent")
    case "TextRejected":
      return setStatus(state, event, "rejected")
    case "TextDelivered":
      return setStatus(state, event, "delivered")
    case "TextUndelivered":
      return setStatus(state, event, "undelivered")
    case "TextAbandoned": {
      const { messageId, at } = event
      remember(state, messageId, { status: "abandoned", chargeId: null, refundMicros: 0, at })
      return state
    }
    case "TextReceived":
      state.received.set(event.messageId, event.at)
      forget(state.received, (at) => at < event.at - RETENTION_MS)
      return state
    case "OptedOutByText":
    case "OptedOutAtCarrier":
    case "OptedInByText":
    case "OptOutAdded":
    case "OptOutRemoved":
      return state
    case "OptedInByForm":
      state.optedInAt = event.at
      return state
    default:
      return unreachable(event)
  }
}

function queueText(
  command: QueueText,
  state: Recipient,
  at: number,
): readonly RecipientEvent[] | RecipientRefused {
  const { messageId, chargeId, numberId, to, keyId, personId } = command
  const { optOuts } = state
  const known = state.texts.get(messageId)
  if (known?.status === "abandoned") return { type: "RecipientRefused", at, code: "text_abandoned" }
  if (known !== undefined) return []
  if (isOptedOut(optOuts)) return { type: "RecipientRefused", at, code: "opted_out" }
  const isFirst = optOuts.firstMessageId === null
  const lineAdded = isFirst && command.withOptOutLine !== null
  const prepared =
    lineAdded && command.withOptOutLine !== null
      ? command.withOptOutLine
      : command.withoutOptOutLine
  if (prepared.amountMicros > command.chargedMicros) {
    return { type: "RecipientRefused", at, code: "line_not_paid" }
  }
  const fact: TextQueued = {
    type: "TextQueued",
    at,
    optOuts: isFirst ? { ...optOuts, firstMessageId: messageId } : optOuts,
    messageId,
    purpose: "text",
    chargeId,
    refundMicros: command.chargedMicros - prepared.amountMicros,
    numberId,
    to,
    body: prepared.body,
    segments: prepared.segments,
    lineAdded,
    keyId,
    personId,
  }
  return [fact]
}

/** If the first text is rejected, the next one counts as the first and carries the line. */
function rejectText(command: RejectText, state: Recipient, at: number): readonly RecipientEvent[] {
  const { messageId, errorCode } = command
  if (state.texts.get(messageId)?.status !== "queued") return []
  const wasFirst = state.optOuts.firstMessageId === messageId
  const optOuts = wasFirst ? { ...state.optOuts, firstMessageId: null } : state.optOuts
  return [{ type: "TextRejected", at, optOuts, messageId, errorCode }]
}

/** A delivery report may arrive before the acceptance, which is then recorded with it. */
function reportDelivery(
  command: ReportDelivery,
  state: Recipient,
  at: number,
): readonly RecipientEvent[] {
  const { messageId, carrierId, delivered } = command
  const { optOuts } = state
  const status = state.texts.get(messageId)?.status
  if (status !== "queued" && status !== "sent") return []
  const ending: RecipientEvent = delivered
    ? { type: "TextDelivered", at, optOuts, messageId }
    : {
        type: "TextUndelivered",
        at,
        optOuts,
        messageId,
        errorCode: command.errorCode ?? "unknown",
      }
  if (status === "sent") return [ending]
  return [{ type: "TextAccepted", at, optOuts, messageId, carrierId }, ending]
}

function receiveText(
  command: ReceiveText,
  state: Recipient,
  at: number,
): readonly RecipientEvent[] {
  const { messageId, numberId, from, body, mediaCount, keyword, word } = command
  if (state.received.has(messageId)) return []
  const before = state.optOuts
  const facts: RecipientEvent[] = [
    {
      type: "TextReceived",
      at,
      optOuts: before,
      messageId,
      numberId,
      from,
      body,
      media: mediaCount,
    },
  ]
  if (keyword === "stop" && before.stoppedAt === null) {
    const optOuts = { ...before, stoppedAt: at, stopKeyword: word }
    facts.push({ type: "OptedOutByText", at, optOuts, phone: from, keyword: word })
    facts.push(...keywordReply(command, optOuts, at, "opt_out_reply"))
  }
  if (keyword === "start" && isOptedOut(before)) {
    const optOuts = { ...before, stoppedAt: null, stopKeyword: null, addedAt: null }
    facts.push({ type: "OptedInByText", at, optOuts, phone: from, keyword: word })
    facts.push(...keywordReply(command, optOuts, at, "opt_in_reply"))
  }
  if (keyword === "help") facts.push(...keywordReply(command, before, at, "help_reply"))
  return facts
}

function keywordReply(
  command: ReceiveText,
  optOuts: OptOutState,
  at: number,
  purpose: TextPurpose,
): readonly TextQueued[] {
  const { numberId, from, reply } = command
  if (reply === null) return []
  return [
    {
      type: "TextQueued",
      at,
      optOuts,
      messageId: reply.messageId,
      purpose,
      chargeId: null,
      refundMicros: 0,
      numberId,
      to: from,
      body: reply.body,
      segments: reply.segments,
      lineAdded: false,
      keyId: null,
      personId: null,
    },
  ]
}

function setStatus(
  state: Recipient,
  event: { readonly messageId: MessageId; readonly at: number },
  status: TextStatus,
): Recipient {
  const text = state.texts.get(event.messageId)
  if (text !== undefined) state.texts.set(event.messageId, { ...text, status, at: event.at })
  return state
}

function remember(state: Recipient, messageId: MessageId, text: KnownText): void {
  state.texts.set(messageId, text)
  forget(state.texts, (known) => known.status !== "queued" && known.at < text.at - RETENTION_MS)
}

function forget<T>(known: Map<MessageId, T>, isOld: (item: T) => boolean): void {
  if (known.size <= MAX_TEXTS_KEPT) return
  for (const [id, item] of known) if (isOld(item)) known.delete(id)
}

/** Whether texts are forbidden, because the recipient texted STOP or the company added an opt-out. */
export function isOptedOut(optOuts: OptOutState): boolean {
  return optOuts.stoppedAt !== null || optOuts.addedAt !== null
}

/** Whether the recipient already consented on a form on the UTC day of `at`. @param at UTC milliseconds */
export function hasOptedInOn({ optedInAt }: Recipient, at: number): boolean {
  return optedInAt !== null && Math.floor(optedInAt / DAY_MS) === Math.floor(at / DAY_MS)
}

/** Returns the recipient's opt-outs and first text. */
export function optOutStateOf(state: Recipient): OptOutState {
  return state.optOuts
}

/** Returns the status of a text and its charge; null if it is unknown or forgotten. */
export function findText(
  state: Recipient,
  messageId: MessageId,
): {
  readonly status: TextStatus
  readonly chargeId: ChargeId | null
  readonly refundMicros: Micros
} | null {
  return state.texts.get(messageId) ?? null
}

interface SavedRecipient {
  readonly optOuts: OptOutState
  readonly agreedAt: number | null
  readonly texts: readonly (readonly [MessageId, KnownText])[]
  readonly received: readonly (readonly [MessageId, number])[]
}

/** The checkpoint format of a recipient. */
export const recipientCheckpoint: CheckpointFormat<Recipient> = {
  version: 2,
  save: (state): SavedRecipient => ({
    optOuts: state.optOuts,
    agreedAt: state.optedInAt,
    texts: [...state.texts],
    received: [...state.received],
  }),
  load: (saved) => {
    const { optOuts, agreedAt: optedInAt, texts, received } = saved as SavedRecipient
    return { optOuts, optedInAt, texts: new Map(texts), received: new Map(received) }
  },
}
