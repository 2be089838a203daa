/** Facts and commands of a recipient, with defaults for tests. */
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { OptInByForm, QueueText, ReceiveText } from "../../domain/phone/recipient.ts"
import type { RecipientFact, OptOutState, TextQueued } from "../../domain/phone/recipient-events.ts"
import { withUsualFields } from "../support/decider-spec.ts"

/** Monday, 2 March 2026, 10:00 UTC. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

const TO = "s1.rcp.bnVtYmVy"
const BODY = "s1.rcp.Ym9keQ"
const BODY_WITH_LINE = "s1.rcp.bGluZQ"

export const NEW_RECIPIENT: OptOutState = {
  stoppedAt: null,
  stopKeyword: null,
  addedAt: null,
  firstMessageId: null,
}

/** Opt-out state of a recipient whose first text was `msg_1`. */
export const knownRecipient = withUsualFields<OptOutState>({
  ...NEW_RECIPIENT,
  firstMessageId: "msg_1",
})

/** A text of one segment, two with the opt-out line, charged for two. */
export const queueTextCommand = withUsualFields<QueueText & DecisionStamp>({
  type: "QueueText",
  at: NOW,
  messageId: "msg_1",
  chargeId: "chg_1",
  chargedMicros: 18_000,
  numberId: "num_1",
  to: TO,
  withoutOptOutLine: { body: BODY, segments: 1, amountMicros: 9_000 },
  withOptOutLine: { body: BODY_WITH_LINE, segments: 2, amountMicros: 18_000 },
  keyId: "key_1",
  personId: "per_1",
})

/** The first text, with the opt-out line. */
export const textQueued = withUsualFields<TextQueued>({
  type: "TextQueued",
  at: NOW,
  optOuts: knownRecipient(),
  messageId: "msg_1",
  purpose: "text",
  chargeId: "chg_1",
  refundMicros: 0,
  numberId: "num_1",
  to: TO,
  body: BODY_WITH_LINE,
  segments: 2,
  lineAdded: true,
  keyId: "key_1",
  personId: "per_1",
})

/** A later text: without the line, whose price is refunded. */
export const nextTextQueued = withUsualFields<TextQueued>(
  textQueued({
    messageId: "msg_2",
    chargeId: "chg_2",
    refundMicros: 9_000,
    body: BODY,
    segments: 1,
    lineAdded: false,
  }),
)

const firstText = { at: NOW, optOuts: knownRecipient(), messageId: "msg_1" } as const

/** The carrier accepted the first text. */
export const textAccepted = withUsualFields<RecipientFact<"TextAccepted">>({
  type: "TextAccepted",
  ...firstText,
  carrierId: "carrier_1",
})

/** The carrier rejected the first text, so that it does not count as the first. */
export const textRejected = withUsualFields<RecipientFact<"TextRejected">>({
  type: "TextRejected",
  ...firstText,
  optOuts: NEW_RECIPIENT,
  errorCode: "30007",
})

/** The first text reached the recipient. */
export const textDelivered = withUsualFields<RecipientFact<"TextDelivered">>({
  type: "TextDelivered",
  ...firstText,
})

/** The first text did not reach the recipient. */
export const textUndelivered = withUsualFields<RecipientFact<"TextUndelivered">>({
  type: "TextUndelivered",
  ...firstText,
  errorCode: "30003",
})

/** The first text can no longer be queued. */
export const textAbandoned = withUsualFields<RecipientFact<"TextAbandoned">>({
  type: "TextAbandoned",
  ...firstText,
  optOuts: NEW_RECIPIENT,
})

/** The recipient texts something that is not a keyword. */
export const receiveTextCommand = withUsualFields<ReceiveText & DecisionStamp>({
  type: "ReceiveText",
  at: NOW,
  messageId: "msg_in_1",
  numberId: "num_1",
  from: TO,
  body: BODY,
  mediaCount: 0,
  keyword: null,
  word: "",
  reply: null,
})

export const REPLY = { messageId: "msg_re_1", body: "s1.rcp.cmVwbHk", segments: 1 } as const

export const receiveStopCommand = withUsualFields<ReceiveText & DecisionStamp>(
  receiveTextCommand({ keyword: "stop", word: "STOP", reply: REPLY }),
)

export const receiveStartCommand = withUsualFields<ReceiveText & DecisionStamp>(
  receiveTextCommand({ keyword: "start", word: "START", reply: REPLY }),
)

export const textReceived = withUsualFields<RecipientFact<"TextReceived">>({
  type: "TextReceived",
  at: NOW,
  optOuts: NEW_RECIPIENT,
  messageId: "msg_in_1",
  numberId: "num_1",
  from: TO,
  body: BODY,
  media: 0,
})

/** A free reply to a keyword. */
export const replyQueued = (
  purpose: TextQueued["purpose"],
  changed: Partial<TextQueued> = {},
): TextQueued =>
  textQueued({
    optOuts: NEW_RECIPIENT,
    purpose,
    messageId: REPLY.messageId,
    chargeId: null,
    body: REPLY.body,
    segments: REPLY.segments,
    lineAdded: false,
    keyId: null,
    personId: null,
    ...changed,
  })

export const STOPPED_RECIPIENT: OptOutState = {
  ...NEW_RECIPIENT,
  stoppedAt: NOW,
  stopKeyword: "STOP",
}

export const optedOutByText = withUsualFields<RecipientFact<"OptedOutByText">>({
  type: "OptedOutByText",
  at: NOW,
  optOuts: STOPPED_RECIPIENT,
  phone: TO,
  keyword: "STOP",
})

export const optedInByText = withUsualFields<RecipientFact<"OptedInByText">>({
  type: "OptedInByText",
  at: NOW,
  optOuts: NEW_RECIPIENT,
  phone: TO,
  keyword: "START",
})

export const optOutAdded = withUsualFields<RecipientFact<"OptOutAdded">>({
  type: "OptOutAdded",
  at: NOW,
  optOuts: { ...NEW_RECIPIENT, addedAt: NOW },
  phone: TO,
})

/** Adds an opt-out by the company. */
export const ADD_OPT_OUT_COMMAND = { type: "AddOptOut", at: NOW, phone: TO } as const
export const REMOVE_OPT_OUT_COMMAND = { type: "RemoveOptOut", at: NOW, phone: TO } as const

/** The recipient opts in to everything on a form. */
export const optInByFormCommand = withUsualFields<OptInByForm & DecisionStamp>({
  type: "OptInByForm",
  at: NOW,
  optInId: "opt_1",
  phone: TO,
  firstName: BODY,
  service: true,
  offers: true,
  method: "web",
  sourceUrl: "https://acme.example/texts",
})

export const optedInByForm = withUsualFields<RecipientFact<"OptedInByForm">>({
  ...optInByFormCommand(),
  type: "OptedInByForm",
  at: NOW,
  optOuts: NEW_RECIPIENT,
})
