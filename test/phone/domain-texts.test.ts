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

  it("adds it to no later one, and gives back what was charged for it", () => {
    given(recipientDecider, textQueued()).when(next).records(nextTextQueued())
  })

  it("sends a first text as it is written where no line is wanted", () => {
    const asWritten = textQueued({
      body: "s1.rcp.Ym9keQ",
      segments: 1,
      lineAdded: false,
      refundMicros: 9_000,
    })
    given(recipientDecider)
      .when(queueTextCommand({ withLine: null }))
      .records(asWritten)
  })

  it("records nothing for a message that is known: the first answer stands", () => {
    given(recipientDecider, textQueued())
      .when(queueTextCommand({ chargeId: "chg_9" }))
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted()).when(queueTextCommand()).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(queueTextCommand()).recordsNothing()
  })

  it("is refused after a STOP, and after an opt-out by the company", () => {
    given(recipientDecider, optedOutByText()).when(queueTextCommand()).refuses("opted_out")
    given(recipientDecider, optOutAdded()).when(queueTextCommand()).refuses("opted_out")
  })

  it("is refused once it was abandoned: its charge has been given back", () => {
    given(recipientDecider, textAbandoned()).when(queueTextCommand()).refuses("text_abandoned")
  })

  it("is refused where it became the first text after its price was asked", () => {
    const cheap = { ...next, chargedMicros: 9_000 }
    given(recipientDecider, textQueued())
      .when(cheap)
      .records(nextTextQueued({ refundMicros: 0 }))
    given(recipientDecider, textQueued(), textRejected()).when(cheap).refuses("line_not_paid")
  })

  it("never gives back more than the line, nor less than nothing", () => {
    const alike = { body: "s1.rcp.bGluZQ", segments: 1, amountMicros: 9_000 } as const
    given(recipientDecider)
      .when(queueTextCommand({ chargedMicros: 9_000, withLine: alike }))
      .records(textQueued({ segments: 1 }))
  })
})

describe("a STOP and a send", () => {
  const stopped = { ...STOPPED_RECIPIENT, firstMessageId: "msg_1" } as const

  it("have one order: the STOP first, and nothing is sent", () => {
    const facts: readonly RecipientEvent[] = [textReceived(), optedOutByText()]
    given(recipientDecider, ...facts)
      .when(queueTextCommand())
      .refuses("opted_out")
  })

  it("have one order: the send first, and it is on its way", () => {
    given(recipientDecider, textQueued())
      .when(receiveStopCommand({ reply: null }))
      .records(textReceived({ optOuts: knownRecipient() }), optedOutByText({ optOuts: stopped }))
    given(recipientDecider, textQueued(), optedOutByText({ optOuts: stopped }))
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .records(textAccepted({ optOuts: stopped }))
  })
})

describe("two first texts at once", () => {
  it("get exactly one line, whichever comes first", () => {
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

  it("says that the carrier took it", () => {
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

  it("gives a first text's line back: it was not the first, and the next one carries it", () => {
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

  it("leaves the first text the first where a later one is refused", () => {
    given(recipientDecider, textQueued(), nextTextQueued())
      .when({ ...reject, messageId: "msg_2" })
      .records(textRejected({ messageId: "msg_2", optOuts: knownRecipient() }))
  })

  it("records nothing for a text that the carrier took, refused or never saw", () => {
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
  const yes = { ...report, delivered: true } as const
  const lost = { ...report, delivered: false, errorCode: "30003" } as const

  it("says that a text arrived, or that it did not and why", () => {
    given(recipientDecider, textQueued(), textAccepted()).when(yes).records(textDelivered())
    given(recipientDecider, textQueued(), textAccepted()).when(lost).records(textUndelivered())
    given(recipientDecider, textQueued(), textAccepted())
      .when({ ...lost, errorCode: null })
      .records(textUndelivered({ errorCode: "unknown" }))
  })

  it("may overtake the carrier's own yes, which it then brings along", () => {
    const overtaken = textAccepted({ carrierId: "carrier 1" })
    given(recipientDecider, textQueued()).when(yes).records(overtaken, textDelivered())
    given(recipientDecider, textQueued()).when(lost).records(overtaken, textUndelivered())
    given(recipientDecider, textQueued(), overtaken, textDelivered())
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .recordsNothing()
  })

  it("records nothing again, in any order, nor for a text that was never sent", () => {
    given(recipientDecider, textQueued(), textAccepted(), textDelivered())
      .when(yes)
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted(), textDelivered())
      .when(lost)
      .recordsNothing()
    given(recipientDecider, textQueued(), textAccepted(), textUndelivered())
      .when(yes)
      .recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(yes).recordsNothing()
    given(recipientDecider).when(yes).recordsNothing()
  })
})

describe("AbandonText", () => {
  const abandon = { type: "AbandonText", at: NOW, messageId: "msg_1" } as const

  it("comes before the queueing, which is then refused", () => {
    given(recipientDecider).when(abandon).records(textAbandoned())
    given(recipientDecider, textAbandoned()).when(queueTextCommand()).refuses("text_abandoned")
  })

  it("comes after the queueing, and then changes nothing", () => {
    given(recipientDecider, textQueued()).when(abandon).recordsNothing()
    given(recipientDecider, textQueued(), textRejected()).when(abandon).recordsNothing()
  })

  it("records nothing again", () => {
    given(recipientDecider, textAbandoned()).when(abandon).recordsNothing()
  })

  it("leaves the line to the text that is sent", () => {
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
  it("is found with its charge and what is to be given back", () => {
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

  it("that is a free reply has no charge, and takes the line from nobody", () => {
    const state = foldFacts(recipientDecider, textReceived(), replyQueued("help_reply"))
    expect(findText(state, "msg_re_1")).toMatchObject({ status: "queued", chargeId: null })
    given(recipientDecider, textReceived(), replyQueued("help_reply"))
      .when(queueTextCommand())
      .records(textQueued())
  })

  it("lives in a stream of its company and recipient", () => {
    expect(recipientStreamOf("co_1", parseStored(parseKeyedHash, "ab12")).stream).toBe(
      "recipient-co_1-ab12",
    )
  })
})
