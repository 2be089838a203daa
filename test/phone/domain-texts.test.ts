import { recipientOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import { recipient, textOf } from "../../domain/phone/recipient.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import { parseKeyedHash, parsed } from "../../domain/kernel/ids.ts"
import { fold, given, decideStamped } from "../support/spec.ts"
import {
  FRESH,
  NOW,
  STOPPED,
  abandoned,
  accepted,
  delivered,
  optOutAdded,
  optedOut,
  queue,
  queued,
  queuedNext,
  receiveStop,
  received,
  rejected,
  replied,
  standing,
  undelivered,
} from "./recipient-facts.ts"

const next = queue({ messageId: "msg_2", chargeId: "chg_2" })

describe("QueueText", () => {
  it("adds the opt-out line to the first text to a recipient", () => {
    given(recipient).when(queue()).records(queued())
  })

  it("adds it to no later one, and gives back what was charged for it", () => {
    given(recipient, queued()).when(next).records(queuedNext())
  })

  it("sends a first text as it is written where no line is wanted", () => {
    const asWritten = queued({
      body: "s1.rcp.Ym9keQ",
      segments: 1,
      lineAdded: false,
      refundMicros: 9_000,
    })
    given(recipient)
      .when(queue({ withLine: null }))
      .records(asWritten)
  })

  it("records nothing for a message that is known: the first answer stands", () => {
    given(recipient, queued())
      .when(queue({ chargeId: "chg_9" }))
      .recordsNothing()
    given(recipient, queued(), accepted()).when(queue()).recordsNothing()
    given(recipient, queued(), rejected()).when(queue()).recordsNothing()
  })

  it("is refused after a STOP, and after an opt-out by the company", () => {
    given(recipient, optedOut()).when(queue()).refuses("opted_out")
    given(recipient, optOutAdded()).when(queue()).refuses("opted_out")
  })

  it("is refused once it was abandoned: its charge has been given back", () => {
    given(recipient, abandoned()).when(queue()).refuses("text_abandoned")
  })

  it("is refused where it became the first text after its price was asked", () => {
    const cheap = { ...next, chargedMicros: 9_000 }
    given(recipient, queued())
      .when(cheap)
      .records(queuedNext({ refundMicros: 0 }))
    given(recipient, queued(), rejected()).when(cheap).refuses("line_not_paid")
  })

  it("never gives back more than the line, nor less than nothing", () => {
    const alike = { body: "s1.rcp.bGluZQ", segments: 1, amountMicros: 9_000 } as const
    given(recipient)
      .when(queue({ chargedMicros: 9_000, withLine: alike }))
      .records(queued({ segments: 1 }))
  })
})

describe("a STOP and a send", () => {
  const stopped = { ...STOPPED, firstMessageId: "msg_1" } as const

  it("have one order: the STOP first, and nothing is sent", () => {
    const facts: readonly RecipientEvent[] = [received(), optedOut()]
    given(recipient, ...facts)
      .when(queue())
      .refuses("opted_out")
  })

  it("have one order: the send first, and it is on its way", () => {
    given(recipient, queued())
      .when(receiveStop({ reply: null }))
      .records(received({ optOuts: standing() }), optedOut({ optOuts: stopped }))
    given(recipient, queued(), optedOut({ optOuts: stopped }))
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .records(accepted({ optOuts: stopped }))
  })
})

describe("two first texts at once", () => {
  it("get exactly one line, whichever comes first", () => {
    for (const [first, second] of [
      [queue(), next],
      [next, queue()],
    ] as const) {
      const state = fold(recipient)
      const lines = [first, second].flatMap((command) => {
        const answer = decideStamped(recipient, command, state)
        const facts = Array.isArray(answer) ? (answer as readonly RecipientEvent[]) : []
        for (const fact of facts) recipient.evolve(state, fact)
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
    given(recipient, queued()).when(accept).records(accepted())
  })

  it("records nothing for a text that is not queued", () => {
    given(recipient).when(accept).recordsNothing()
    given(recipient, queued(), accepted()).when(accept).recordsNothing()
    given(recipient, queued(), rejected()).when(accept).recordsNothing()
    given(recipient, queued(), accepted(), delivered()).when(accept).recordsNothing()
    given(recipient, abandoned()).when(accept).recordsNothing()
  })
})

describe("RejectText", () => {
  const reject = { type: "RejectText", at: NOW, messageId: "msg_1", errorCode: "30007" } as const

  it("gives a first text's line back: it was not the first, and the next one carries it", () => {
    given(recipient, queued()).when(reject).records(rejected())
    given(recipient, queued(), rejected())
      .when(next)
      .records(
        queued({
          messageId: "msg_2",
          chargeId: "chg_2",
          optOuts: { ...FRESH, firstMessageId: "msg_2" },
        }),
      )
  })

  it("leaves the first text the first where a later one is refused", () => {
    given(recipient, queued(), queuedNext())
      .when({ ...reject, messageId: "msg_2" })
      .records(rejected({ messageId: "msg_2", optOuts: standing() }))
  })

  it("records nothing for a text that the carrier took, refused or never saw", () => {
    given(recipient).when(reject).recordsNothing()
    given(recipient, queued(), accepted()).when(reject).recordsNothing()
    given(recipient, queued(), rejected()).when(reject).recordsNothing()
    given(recipient, abandoned()).when(reject).recordsNothing()
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
    given(recipient, queued(), accepted()).when(yes).records(delivered())
    given(recipient, queued(), accepted()).when(lost).records(undelivered())
    given(recipient, queued(), accepted())
      .when({ ...lost, errorCode: null })
      .records(undelivered({ errorCode: "unknown" }))
  })

  it("may overtake the carrier's own yes, which it then brings along", () => {
    const overtaken = accepted({ carrierId: "carrier 1" })
    given(recipient, queued()).when(yes).records(overtaken, delivered())
    given(recipient, queued()).when(lost).records(overtaken, undelivered())
    given(recipient, queued(), overtaken, delivered())
      .when({ type: "AcceptText", at: NOW, messageId: "msg_1", carrierId: "carrier_1" })
      .recordsNothing()
  })

  it("records nothing again, in any order, nor for a text that was never sent", () => {
    given(recipient, queued(), accepted(), delivered()).when(yes).recordsNothing()
    given(recipient, queued(), accepted(), delivered()).when(lost).recordsNothing()
    given(recipient, queued(), accepted(), undelivered()).when(yes).recordsNothing()
    given(recipient, queued(), rejected()).when(yes).recordsNothing()
    given(recipient).when(yes).recordsNothing()
  })
})

describe("AbandonText", () => {
  const abandon = { type: "AbandonText", at: NOW, messageId: "msg_1" } as const

  it("comes before the queueing, which is then refused", () => {
    given(recipient).when(abandon).records(abandoned())
    given(recipient, abandoned()).when(queue()).refuses("text_abandoned")
  })

  it("comes after the queueing, and then changes nothing", () => {
    given(recipient, queued()).when(abandon).recordsNothing()
    given(recipient, queued(), rejected()).when(abandon).recordsNothing()
  })

  it("records nothing again", () => {
    given(recipient, abandoned()).when(abandon).recordsNothing()
  })

  it("leaves the line to the text that is sent", () => {
    given(recipient, abandoned())
      .when(next)
      .records(
        queued({
          messageId: "msg_2",
          chargeId: "chg_2",
          optOuts: standing({ firstMessageId: "msg_2" }),
        }),
      )
  })
})

describe("a text", () => {
  it("is found with its charge and what is to be given back", () => {
    expect(textOf(fold(recipient, queued(), queuedNext()), "msg_2")).toMatchObject({
      status: "queued",
      chargeId: "chg_2",
      refundMicros: 9_000,
    })
    expect(textOf(fold(recipient, queued(), accepted()), "msg_1")).toMatchObject({ status: "sent" })
    expect(textOf(fold(recipient), "msg_1")).toBeNull()
  })

  it("that is a free reply has no charge, and takes the line from nobody", () => {
    const state = fold(recipient, received(), replied("help_reply"))
    expect(textOf(state, "msg_re_1")).toMatchObject({ status: "queued", chargeId: null })
    given(recipient, received(), replied("help_reply")).when(queue()).records(queued())
  })

  it("lives in a stream of its company and recipient", () => {
    expect(recipientOf("co_1", parsed(parseKeyedHash, "ab12")).stream).toBe("recipient-co_1-ab12")
  })
})
