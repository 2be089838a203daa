/**
 * What a company may text to one recipient, and what became of it (decisions.md §9).
 *
 * Stream `recipient-<companyId>-<tag>`, the tag a keyed hash of the phone number. A STOP and a send
 * are decided in this one stream, so they have one order, and of two first texts exactly one gets
 * the opt-out line. It grows by a few facts a text; a checkpoint bounds the time to load it.
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
/** Ended texts are remembered at least this long, so that late commands about them find them. */
const REMEMBER_MS = 7 * DAY_MS
/** Above this many remembered texts, those that ended long ago are let go. */
const REMEMBER_COUNT = 500

/** A text ready to send: its sealed body, its segments, and what those cost. */
export interface PreparedText {
  readonly body: SealedText
  readonly segments: number
  readonly amountMicros: Micros
}

/** Queues a text. The same message again: nothing new, and the first answer stands. */
export interface QueueText {
  readonly type: "QueueText"
  readonly messageId: MessageId
  /** The open charge that pays for it. */
  readonly chargeId: ChargeId
  readonly chargedMicros: Micros
  readonly numberId: NumberId
  readonly to: SealedText
  readonly withoutLine: PreparedText
  /**
   * The text with the opt-out line; null where a first text would carry none. Whether it is the
   * first is decided here: so it is said for every text that would carry the line if it were.
   */
  readonly withLine: PreparedText | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** The carrier took a text. Again: nothing new. */
export interface AcceptText {
  readonly type: "AcceptText"
  readonly messageId: MessageId
  readonly carrierId: string
}

/** The carrier refused a text, or knows nothing of it. Again: nothing new. */
export interface RejectText {
  readonly type: "RejectText"
  readonly messageId: MessageId
  readonly errorCode: string
}

/** The carrier refused a text because they texted STOP: only their START ends it. Again: nothing new. */
export interface RecordCarrierOptOut {
  readonly type: "RecordCarrierOptOut"
  readonly messageId: MessageId
  readonly phone: SealedText
}

/** The carrier's later word on a text it took. Again: nothing new. */
export interface ReportDelivery {
  readonly type: "ReportDelivery"
  readonly messageId: MessageId
  /** The carrier's own name for it: this news may be the first of it. */
  readonly carrierId: string
  readonly delivered: boolean
  /** Why it was not delivered. */
  readonly errorCode: string | null
}

/** Makes sure that a text whose charge was made but which was never queued cannot be any more. */
export interface AbandonText {
  readonly type: "AbandonText"
  readonly messageId: MessageId
}

/** A free reply that a keyword may call for. */
export interface PreparedReply {
  readonly messageId: MessageId
  readonly body: SealedText
  readonly segments: number
}

/** Takes in a text from the recipient. The same message again: nothing new. */
export interface ReceiveText {
  readonly type: "ReceiveText"
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: SealedText
  readonly body: SealedText
  readonly media: number
  readonly keyword: TextKeyword | null
  /** The text as keywords are compared, where it is one. */
  readonly word: string
  /** The reply to this keyword; null where there is no keyword. */
  readonly reply: PreparedReply | null
}

/** Adds or removes the company's own opt-out. */
export interface ChangeOptOut {
  readonly type: "AddOptOut" | "RemoveOptOut"
  readonly phone: SealedText
}

/**
 * Agrees to texts on a form. A second time on one UTC day: nothing new, whatever it says. It ends no
 * opt-out: whoever can type a number into a form need not be who texted STOP from it.
 */
export interface OptInByForm extends Pick<
  RecipientFact<"OptedInByForm">,
  "optInId" | "phone" | "firstName" | "service" | "offers" | "method" | "sourceUrl"
> {
  readonly type: "OptInByForm"
}

/** Everything that can be asked of a recipient's stream. */
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

/** A command was refused. */
export interface RecipientRefused {
  readonly type: "RecipientRefused"
  readonly at: number
  /** `line_not_paid`: it became a first text after its price was asked; charge it anew. */
  readonly code: "opted_out" | "text_abandoned" | "line_not_paid" | "stopped_by_text" | "no_opt_out"
}

/** How far a text has come. */
export type TextStatus = "queued" | "sent" | "rejected" | "delivered" | "undelivered" | "abandoned"

interface KnownText {
  readonly status: TextStatus
  readonly chargeId: ChargeId | null
  readonly refundMicros: Micros
  readonly at: number
}

interface RecipientState {
  optOuts: OptOutState
  /** When they agreed on a form last, UTC milliseconds; null: never. */
  agreedAt: number | null
  readonly texts: Map<MessageId, KnownText>
  readonly received: Map<MessageId, number>
}

/** A recipient's state. Only the functions of this file look inside. */
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
  initial: () => ({ optOuts: NO_OPT_OUTS, agreedAt: null, texts: new Map(), received: new Map() }),
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
      const now = rejected[0]?.optOuts ?? optOuts
      if (rejected.length === 0 || now.stoppedAt !== null) return rejected
      const stopped = { ...now, stoppedAt: at, stopKeyword: null }
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
      forget(state.received, (at) => at < event.at - REMEMBER_MS)
      return state
    case "OptedOutByText":
    case "OptedOutAtCarrier":
    case "OptedInByText":
    case "OptOutAdded":
    case "OptOutRemoved":
      return state
    case "OptedInByForm":
      state.agreedAt = event.at
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
  const lineAdded = isFirst && command.withLine !== null
  const prepared = lineAdded && command.withLine !== null ? command.withLine : command.withoutLine
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

/** A first text that was never sent was not the first: the next one carries the line. */
function rejectText(command: RejectText, state: Recipient, at: number): readonly RecipientEvent[] {
  const { messageId, errorCode } = command
  if (state.texts.get(messageId)?.status !== "queued") return []
  const wasFirst = state.optOuts.firstMessageId === messageId
  const standing = wasFirst ? { ...state.optOuts, firstMessageId: null } : state.optOuts
  return [{ type: "TextRejected", at, optOuts: standing, messageId, errorCode }]
}

/** News of delivery may overtake the carrier's own yes: then that yes is recorded with it. */
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
  const { messageId, numberId, from, body, media, keyword, word } = command
  if (state.received.has(messageId)) return []
  const before = state.optOuts
  const facts: RecipientEvent[] = [
    { type: "TextReceived", at, optOuts: before, messageId, numberId, from, body, media },
  ]
  if (keyword === "stop" && before.stoppedAt === null) {
    const standing = { ...before, stoppedAt: at, stopKeyword: word }
    facts.push({ type: "OptedOutByText", at, optOuts: standing, phone: from, keyword: word })
    facts.push(...keywordReply(command, standing, at, "opt_out_reply"))
  }
  if (keyword === "start" && isOptedOut(before)) {
    const standing = { ...before, stoppedAt: null, stopKeyword: null, addedAt: null }
    facts.push({ type: "OptedInByText", at, optOuts: standing, phone: from, keyword: word })
    facts.push(...keywordReply(command, standing, at, "opt_in_reply"))
  }
  if (keyword === "help") facts.push(...keywordReply(command, before, at, "help_reply"))
  return facts
}

function keywordReply(
  command: ReceiveText,
  standing: OptOutState,
  at: number,
  purpose: TextPurpose,
): readonly TextQueued[] {
  const { numberId, from, reply } = command
  if (reply === null) return []
  return [
    {
      type: "TextQueued",
      at,
      optOuts: standing,
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
  forget(state.texts, (known) => known.status !== "queued" && known.at < text.at - REMEMBER_MS)
}

function forget<T>(known: Map<MessageId, T>, isOld: (item: T) => boolean): void {
  if (known.size <= REMEMBER_COUNT) return
  for (const [id, item] of known) if (isOld(item)) known.delete(id)
}

/** Whether nothing may be sent: they texted STOP, or the company added an opt-out. */
export function isOptedOut(standing: OptOutState): boolean {
  return standing.stoppedAt !== null || standing.addedAt !== null
}

/** Whether they agreed on a form on the UTC day of a time already. @param at UTC milliseconds */
export function hasOptedInOn({ agreedAt }: Recipient, at: number): boolean {
  return agreedAt !== null && Math.floor(agreedAt / DAY_MS) === Math.floor(at / DAY_MS)
}

/** How the recipient stands. */
export function optOutStateOf(state: Recipient): OptOutState {
  return state.optOuts
}

/** How far a text has come and which charge pays for it; null where it is not known (any more). */
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

/** How a recipient's state is kept beside its stream. */
export const recipientCheckpoint: CheckpointFormat<Recipient> = {
  version: 2,
  save: (state): SavedRecipient => ({
    optOuts: state.optOuts,
    agreedAt: state.agreedAt,
    texts: [...state.texts],
    received: [...state.received],
  }),
  load: (saved) => {
    const { optOuts, agreedAt, texts, received } = saved as SavedRecipient
    return { optOuts, agreedAt, texts: new Map(texts), received: new Map(received) }
  },
}
