import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import { recipientDecider, findText } from "../../domain/phone/recipient.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import { parseKeyedHash, parseStored } from "../../domain/kernel/ids.ts"
import { foldFacts, given, decideStamped } from "../support/decider-spec.ts"
import {
  NEW_RECIPIENT,
  NOW,
  STOPPED_RECIPIENT,
  textAbandoned,
  textAccepted,
  textDelivered,
  optOutAdded,
  optedOutByText,
  queueTextCommand,
  textQueued,
  nextTextQueued,
  receiveStopCommand,
  textReceived,
  textRejected,
  replyQueued,
  knownRecipient,
  textUndelivered,
} from "./recipient-facts.ts"

const next = queueTextCommand({ messageId: "msg_2", chargeId: "chg_2" })

describe("QueueText", () => {
  it("adds the opt-out line to the first text to a recipient", () => {
    given(recipientDecider).when(queueTextCommand()).records(textQueued())
  })

  it("leaves the line out of later texts, and refunds its price", () => {
    given(recipientDecider, textQueued()).when(next).records(nextTextQueued())
  })

  it("sends a first text unchanged if the line is turned off", () => {
    const asWritten = textQueued({
      body: "s1.rcp.Ym9keQ",
      segments: 1,
      lineAdded: false,
      refundMicros: 9_000,
    })
    given(recipientDecider)
      .when(queueTextCommand({ withOptOutLine: null }))
      .records(asWritten)
  })

  it("records nothing for a known message", () => {
    given(recipientDecider, textQueued())
      .when(queueTextCommand({ chargeId: "chg_9" }))
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted()).when(queueTextCommand()).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(queueTextCommand()).recordsNothing()
  })

  it("is rejected after a STOP, and after an opt-out by the company", () => {
    given(recipientDecider, optedOutByText()).when(queueTextCommand()).refuses("opted_out")
    given(recipientDecider, optOutAdded()).when(queueTextCommand()).refuses("opted_out")
  })

  it("is rejected once it was abandoned, because its charge has been refunded", () => {
    given(recipientDecider, textAbandoned()).when(queueTextCommand()).refuses("text_abandoned")
  })

  it("is rejected if it became the first text after its price was calculated", () => {
    const cheap = { ...next, chargedMicros: 9_000 }
    given(recipientDecider, textQueued())
      .when(cheap)
      .records(nextTextQueued({ refundMicros: 0 }))
    given(recipientDecider, textQueued(), textRejected()).when(cheap).refuses("line_not_paid")
  })

  it("never refunds more than the price of the line, nor a negative amount", () => {
    const samePrice = { body: "s1.rcp.bGluZQ", segments: 1, amountMicros: 9_000 } as const
    given(recipientDecider)
      .when(queueTextCommand({ chargedMicros: 9_000, withOptOutLine: samePrice }))
      .records(textQueued({ segments: 1 }))
  })
})

describe("a STOP and a concurrent send", () => {
  const stopped = { ...STOPPED_RECIPIENT, firstMessageId: "msg_1" } as const

  it("reject the text if the STOP is first", () => {
    const facts: readonly RecipientEvent[] = [textReceived(), optedOutByText()]
    given(recipientDecider, ...facts)
      .when(queueTextCommand())
      .refuses("opted_out")
  })

  it("send the text if the send is first", () => {
    given(recipientDecider, textQueued())
      .when(receiveStopCommand({ reply: null }))
      .records(textReceived({ optOuts: knownRecipient() }), optedOutByText({ optOuts: stopped }))
    given(recipientDecider, textQueued(), optedOutByText({ optOuts: stopped }))
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .records(textAccepted({ optOuts: stopped }))
  })
})

describe("two concurrent first texts", () => {
  it("get exactly one opt-out line, in either order", () => {
    for (const [first, second] of [
      [queueTextCommand(), next],
      [next, queueTextCommand()],
    ] as const) {
      const state = foldFacts(recipientDecider)
      const lines = [first, second].flatMap((command) => {
        const answer = decideStamped(recipientDecider, command, state)
        const facts = Array.isArray(answer) ? (answer as readonly RecipientEvent[]) : []
        for (const fact of facts) recipientDecider.evolve(state, fact)
        return facts.map((fact) => fact.type === "TextQueued" && fact.lineAdded)
      })
      expect(lines).toEqual([true, false])
    }
  })
})

describe("AcceptText", () => {
  const accept = {
    type: "AcceptText",
    at: NOW,
    messageId: "msg_1",
    carrierId: "carrier_1",
  } as const

  it("records that the carrier accepted the text", () => {
    given(recipientDecider, textQueued()).when(accept).records(textAccepted())
  })

  it("records nothing for a text that is not queued", () => {
    given(recipientDecider).when(accept).recordsNothing()
    given(recipientDecider, textQueued(), textAccepted()).when(accept).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(accept).recordsNothing()
    given(recipientDecider, textQueued(), textAccepted(), textDelivered())
      .when(accept)
      .recordsNothing()
    given(recipientDecider, textAbandoned()).when(accept).recordsNothing()
  })
})

describe("RejectText", () => {
  const reject = { type: "RejectText", at: NOW, messageId: "msg_1", errorCode: "30007" } as const

  it("makes the next text the first one, with the line, if the rejected text was the first", () => {
    given(recipientDecider, textQueued()).when(reject).records(textRejected())
    given(recipientDecider, textQueued(), textRejected())
      .when(next)
      .records(
        textQueued({
          messageId: "msg_2",
          chargeId: "chg_2",
          optOuts: { ...NEW_RECIPIENT, firstMessageId: "msg_2" },
        }),
      )
  })

  it("keeps the first text if a later one is rejected", () => {
    given(recipientDecider, textQueued(), nextTextQueued())
      .when({ ...reject, messageId: "msg_2" })
      .records(textRejected({ messageId: "msg_2", optOuts: knownRecipient() }))
  })

  it("records nothing for a text that was accepted, rejected or never queued", () => {
    given(recipientDecider).when(reject).recordsNothing()
    given(recipientDecider, textQueued(), textAccepted()).when(reject).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(reject).recordsNothing()
    given(recipientDecider, textAbandoned()).when(reject).recordsNothing()
  })
})

describe("ReportDelivery", () => {
  const report = {
    type: "ReportDelivery",
    at: NOW,
    messageId: "msg_1",
    carrierId: "carrier 1",
    errorCode: null,
  } as const
  const delivered = { ...report, delivered: true } as const
  const undelivered = { ...report, delivered: false, errorCode: "30003" } as const

  it("records that a text was delivered, or why it was not", () => {
    given(recipientDecider, textQueued(), textAccepted()).when(delivered).records(textDelivered())
    given(recipientDecider, textQueued(), textAccepted())
      .when(undelivered)
      .records(textUndelivered())
    given(recipientDecider, textQueued(), textAccepted())
      .when({ ...undelivered, errorCode: null })
      .records(textUndelivered({ errorCode: "unknown" }))
  })

  it("also records the acceptance if it arrives before the carrier's answer", () => {
    const accepted = textAccepted({ carrierId: "carrier 1" })
    given(recipientDecider, textQueued()).when(delivered).records(accepted, textDelivered())
    given(recipientDecider, textQueued()).when(undelivered).records(accepted, textUndelivered())
    given(recipientDecider, textQueued(), accepted, textDelivered())
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .recordsNothing()
  })

  it("records nothing if it is repeated, or if the text was never sent", () => {
    given(recipientDecider, textQueued(), textAccepted(), textDelivered())
      .when(delivered)
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted(), textDelivered())
      .when(undelivered)
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted(), textUndelivered())
      .when(delivered)
      .recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(delivered).recordsNothing()
    given(recipientDecider).when(delivered).recordsNothing()
  })
})

describe("AbandonText", () => {
  const abandon = { type: "AbandonText", at: NOW, messageId: "msg_1" } as const

  it("before the queueing makes the queueing fail", () => {
    given(recipientDecider).when(abandon).records(textAbandoned())
    given(recipientDecider, textAbandoned()).when(queueTextCommand()).refuses("text_abandoned")
  })

  it("after the queueing changes nothing", () => {
    given(recipientDecider, textQueued()).when(abandon).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(abandon).recordsNothing()
  })

  it("records nothing if it is repeated", () => {
    given(recipientDecider, textAbandoned()).when(abandon).recordsNothing()
  })

  it("leaves the line to the next text that is sent", () => {
    given(recipientDecider, textAbandoned())
      .when(next)
      .records(
        textQueued({
          messageId: "msg_2",
          chargeId: "chg_2",
          optOuts: knownRecipient({ firstMessageId: "msg_2" }),
        }),
      )
  })
})

describe("a text", () => {
  it("is found with its charge and its refund", () => {
    expect(
      findText(foldFacts(recipientDecider, textQueued(), nextTextQueued()), "msg_2"),
    ).toMatchObject({
      status: "queued",
      chargeId: "chg_2",
      refundMicros: 9_000,
    })
    expect(
      findText(foldFacts(recipientDecider, textQueued(), textAccepted()), "msg_1"),
    ).toMatchObject({ status: "sent" })
    expect(findText(foldFacts(recipientDecider), "msg_1")).toBeNull()
  })

  it("that is a free reply has no charge, and does not count as the first text", () => {
    const state = foldFacts(recipientDecider, textReceived(), replyQueued("help_reply"))
    expect(findText(state, "msg_re_1")).toMatchObject({ status: "queued", chargeId: null })
    given(recipientDecider, textReceived(), replyQueued("help_reply"))
      .when(queueTextCommand())
      .records(textQueued())
  })

  it("belongs to a stream of its company and recipient", () => {
    expect(recipientStreamOf("co_1", parseStored(parseKeyedHash, "ab12")).stream).toBe(
      "recipient-co_1-ab12",
    )
  })
})
