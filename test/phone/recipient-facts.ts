/** Facts and commands about a recipient, with everything said that a test does not care about. */
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { OptInByForm, QueueText, ReceiveText } from "../../domain/phone/recipient.ts"
import type { RecipientFact, Standing, TextQueued } from "../../domain/phone/recipient-events.ts"
import { usually } from "../support/spec.ts"

/** Monday, 2 March 2026, 10:00 UTC. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

const TO = "s1.rcp.bnVtYmVy"
const BODY = "s1.rcp.Ym9keQ"
const BODY_WITH_LINE = "s1.rcp.bGluZQ"

/** Nothing has happened yet. */
export const FRESH: Standing = {
  stoppedAt: null,
  stopKeyword: null,
  addedAt: null,
  firstMessageId: null,
}

/** How a recipient stands whose first text was `msg_1`, or as these say. */
export const standing = usually<Standing>({
  ...FRESH,
  firstMessageId: "msg_1",
})

/** A text of one segment, two with the opt-out line, charged for two. */
export const queue = usually<QueueText & Stamp>({
  type: "QueueText",
  at: NOW,
  messageId: "msg_1",
  chargeId: "chg_1",
  chargedMicros: 18_000,
  numberId: "num_1",
  to: TO,
  asWritten: { body: BODY, segments: 1, amountMicros: 9_000 },
  withLine: { body: BODY_WITH_LINE, segments: 2, amountMicros: 18_000 },
  keyId: "key_1",
  personId: "per_1",
})

/** The first text: it carries the line. */
export const queued = usually<TextQueued>({
  type: "TextQueued",
  at: NOW,
  optOuts: standing(),
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

/** A text after the first: no line, and what was charged for one comes back. */
export const queuedNext = usually<TextQueued>(
  queued({
    messageId: "msg_2",
    chargeId: "chg_2",
    refundMicros: 9_000,
    body: BODY,
    segments: 1,
    lineAdded: false,
  }),
)

const about = { at: NOW, optOuts: standing(), messageId: "msg_1" } as const

/** The carrier took the first text. */
export const accepted = usually<RecipientFact<"TextAccepted">>({
  type: "TextAccepted",
  ...about,
  carrierId: "carrier_1",
})

/** The carrier refused the first text, so that it was none. */
export const rejected = usually<RecipientFact<"TextRejected">>({
  type: "TextRejected",
  ...about,
  optOuts: FRESH,
  errorCode: "30007",
})

/** The first text reached the recipient. */
export const delivered = usually<RecipientFact<"TextDelivered">>({
  type: "TextDelivered",
  ...about,
})

/** The first text did not reach the recipient. */
export const undelivered = usually<RecipientFact<"TextUndelivered">>({
  type: "TextUndelivered",
  ...about,
  errorCode: "30003",
})

/** The first text can no longer be queued. */
export const abandoned = usually<RecipientFact<"TextAbandoned">>({
  type: "TextAbandoned",
  ...about,
  optOuts: FRESH,
})

/** The recipient texts something that is no keyword. */
export const receive = usually<ReceiveText & Stamp>({
  type: "ReceiveText",
  at: NOW,
  messageId: "msg_in_1",
  numberId: "num_1",
  from: TO,
  body: BODY,
  media: 0,
  keyword: null,
  word: "",
  reply: null,
})

/** The reply that a keyword calls for. */
export const REPLY = { messageId: "msg_re_1", body: "s1.rcp.cmVwbHk", segments: 1 } as const

/** The recipient texts STOP. */
export const receiveStop = usually<ReceiveText & Stamp>(
  receive({ keyword: "stop", word: "STOP", reply: REPLY }),
)

/** The recipient texts START. */
export const receiveStart = usually<ReceiveText & Stamp>(
  receive({ keyword: "start", word: "START", reply: REPLY }),
)

/** A text came in. */
export const received = usually<RecipientFact<"TextReceived">>({
  type: "TextReceived",
  at: NOW,
  optOuts: FRESH,
  messageId: "msg_in_1",
  numberId: "num_1",
  from: TO,
  body: BODY,
  media: 0,
})

/** A free reply to a keyword. */
export const replied = (
  purpose: TextQueued["purpose"],
  changed: Partial<TextQueued> = {},
): TextQueued =>
  queued({
    optOuts: FRESH,
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

/** How a recipient stands who texted STOP. */
export const STOPPED: Standing = { ...FRESH, stoppedAt: NOW, stopKeyword: "STOP" }

/** The recipient opted out by text. */
export const optedOut = usually<RecipientFact<"OptedOutByText">>({
  type: "OptedOutByText",
  at: NOW,
  optOuts: STOPPED,
  phone: TO,
  keyword: "STOP",
})

/** The recipient opted in by text. */
export const optedIn = usually<RecipientFact<"OptedInByText">>({
  type: "OptedInByText",
  at: NOW,
  optOuts: FRESH,
  phone: TO,
  keyword: "START",
})

/** The company added an opt-out. */
export const optOutAdded = usually<RecipientFact<"OptOutAdded">>({
  type: "OptOutAdded",
  at: NOW,
  optOuts: { ...FRESH, addedAt: NOW },
  phone: TO,
})

/** Asks for an opt-out by the company. */
export const ADD = { type: "AddOptOut", at: NOW, phone: TO } as const
/** Asks for the end of an opt-out by the company. */
export const REMOVE = { type: "RemoveOptOut", at: NOW, phone: TO } as const

/** The recipient agrees on a form, to all that it offers. */
export const agree = usually<OptInByForm & Stamp>({
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

/** The recipient agreed. */
export const agreed = usually<RecipientFact<"OptedInByForm">>({
  ...agree(),
  type: "OptedInByForm",
  at: NOW,
  optOuts: FRESH,
})
