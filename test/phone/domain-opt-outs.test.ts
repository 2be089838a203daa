import { describe, expect, it } from "vitest"
import {
  isOptedOut,
  recipientDecider,
  recipientCheckpoint,
  optOutStateOf,
  findText,
  hasOptedInOn,
} from "../../domain/phone/recipient.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  ADD_OPT_OUT_COMMAND,
  NEW_RECIPIENT,
  NOW,
  REMOVE_OPT_OUT_COMMAND,
  REPLY,
  STOPPED_RECIPIENT,
  textAccepted,
  optOutAdded,
  optedInByText,
  optedOutByText,
  textQueued,
  receiveTextCommand,
  receiveStartCommand,
  receiveStopCommand,
  textReceived,
  replyQueued,
  nextTextQueued,
  textRejected,
  knownRecipient,
  optInByFormCommand,
  optedInByForm,
} from "./recipient-facts.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { RecordCarrierOptOut } from "../../domain/phone/recipient.ts"

const LATER = NOW + 1_000
const both = { ...STOPPED_RECIPIENT, addedAt: LATER }

describe("a text from the recipient", () => {
  it("is recorded, and gets no reply if it is not a keyword", () => {
    given(recipientDecider)
      .when(receiveTextCommand({ mediaCount: 2 }))
      .records(textReceived({ media: 2 }))
  })

  it("is recorded only once", () => {
    given(recipientDecider, textReceived()).when(receiveTextCommand()).recordsNothing()
    given(recipientDecider, textReceived(), optedOutByText())
      .when(receiveStopCommand())
      .recordsNothing()
  })
})

describe("STOP", () => {
  it("opts the recipient out with the word used, and gets one free reply", () => {
    given(recipientDecider)
      .when(receiveStopCommand({ word: "QUIT" }))
      .records(
        textReceived(),
        optedOutByText({ keyword: "QUIT", optOuts: { ...STOPPED_RECIPIENT, stopKeyword: "QUIT" } }),
        replyQueued("opt_out_reply", { optOuts: { ...STOPPED_RECIPIENT, stopKeyword: "QUIT" } }),
      )
  })

  it("is only recorded after an earlier STOP, without a second reply", () => {
    given(recipientDecider, optedOutByText())
      .when(receiveStopCommand({ messageId: "msg_in_2", at: LATER }))
      .records(textReceived({ messageId: "msg_in_2", at: LATER, optOuts: STOPPED_RECIPIENT }))
  })

  it("is recorded in addition to an opt-out that the company added", () => {
    given(recipientDecider, optOutAdded())
      .when(receiveStopCommand({ reply: null }))
      .records(
        textReceived({ optOuts: { ...NEW_RECIPIENT, addedAt: NOW } }),
        optedOutByText({ optOuts: { ...STOPPED_RECIPIENT, addedAt: NOW } }),
      )
  })
})

describe("START", () => {
  it("ends both opt-outs, and gets one reply", () => {
    given(recipientDecider, optedOutByText(), optOutAdded({ optOuts: both }))
      .when(receiveStartCommand())
      .records(textReceived({ optOuts: both }), optedInByText(), replyQueued("opt_in_reply"))
  })

  it.each([
    ["a STOP", optedOutByText()],
    ["an opt-out by the company", optOutAdded()],
  ] as const)("ends %s", (_title, fact) => {
    const state = foldFacts(recipientDecider, fact, optedInByText())
    expect(isOptedOut(optOutStateOf(state))).toBe(false)
    given(recipientDecider, fact)
      .when(receiveStartCommand({ reply: null }))
      .records(textReceived({ optOuts: fact.optOuts }), optedInByText())
  })

  it("is only recorded if there is no opt-out", () => {
    given(recipientDecider).when(receiveStartCommand()).records(textReceived())
    given(recipientDecider, optedOutByText(), optedInByText())
      .when(receiveStartCommand({ messageId: "msg_in_2" }))
      .records(textReceived({ messageId: "msg_in_2" }))
  })

  it("does not make the next text a first one again", () => {
    const first = { ...NEW_RECIPIENT, firstMessageId: "msg_1" } as const
    const facts: readonly RecipientEvent[] = [
      textQueued(),
      optedOutByText({ optOuts: { ...STOPPED_RECIPIENT, firstMessageId: "msg_1" } }),
    ]
    given(recipientDecider, ...facts)
      .when(receiveStartCommand({ reply: null }))
      .records(
        textReceived({ optOuts: { ...STOPPED_RECIPIENT, firstMessageId: "msg_1" } }),
        optedInByText({ optOuts: first }),
      )
  })
})

describe("HELP", () => {
  const help = receiveTextCommand({ keyword: "help", word: "HELP", reply: REPLY })

  it("gets a reply every time and changes nothing, opted out or not", () => {
    given(recipientDecider).when(help).records(textReceived(), replyQueued("help_reply"))
    given(recipientDecider, optedOutByText())
      .when({ ...help, messageId: "msg_in_2" })
      .records(
        textReceived({ messageId: "msg_in_2", optOuts: STOPPED_RECIPIENT }),
        replyQueued("help_reply", { optOuts: STOPPED_RECIPIENT }),
      )
  })

  it("gets one reply per message", () => {
    given(recipientDecider, textReceived(), replyQueued("help_reply")).when(help).recordsNothing()
  })
})

describe("AddOptOut", () => {
  it("stops texts to this recipient", () => {
    given(recipientDecider).when(ADD_OPT_OUT_COMMAND).records(optOutAdded())
  })

  it("records nothing if the company has added one", () => {
    given(recipientDecider, optOutAdded())
      .when({ ...ADD_OPT_OUT_COMMAND, at: LATER })
      .recordsNothing()
  })

  it("never overwrites a STOP: both apply", () => {
    given(recipientDecider, optedOutByText())
      .when({ ...ADD_OPT_OUT_COMMAND, at: LATER })
      .records(optOutAdded({ at: LATER, optOuts: both }))
  })
})

describe("RemoveOptOut", () => {
  it("ends the opt-out that the company added", () => {
    given(recipientDecider, optOutAdded()).when(REMOVE_OPT_OUT_COMMAND).records({
      type: "OptOutRemoved",
      at: NOW,
      optOuts: NEW_RECIPIENT,
      phone: REMOVE_OPT_OUT_COMMAND.phone,
    })
  })

  it("is rejected after a STOP, whether or not the company added an opt-out too", () => {
    given(recipientDecider, optedOutByText())
      .when(REMOVE_OPT_OUT_COMMAND)
      .refuses("stopped_by_text")
    given(recipientDecider, optedOutByText(), optOutAdded({ optOuts: both }))
      .when(REMOVE_OPT_OUT_COMMAND)
      .refuses("stopped_by_text")
  })

  it("is rejected if there is no opt-out", () => {
    given(recipientDecider).when(REMOVE_OPT_OUT_COMMAND).refuses("no_opt_out")
    given(recipientDecider, optedOutByText(), optedInByText())
      .when(REMOVE_OPT_OUT_COMMAND)
      .refuses("no_opt_out")
  })
})

describe("the recipient's state", () => {
  const DAY_MS = 86_400_000

  it("survives a checkpoint", () => {
    const facts: readonly RecipientEvent[] = [
      textQueued(),
      textAccepted(),
      textReceived({ optOuts: textQueued().optOuts }),
      optedOutByText({ optOuts: { ...STOPPED_RECIPIENT, firstMessageId: "msg_1" } }),
    ]
    const state = foldFacts(recipientDecider, ...facts)
    const text = JSON.stringify(recipientCheckpoint.save(state))
    const loaded = recipientCheckpoint.load(JSON.parse(text))
    expect(loaded).toEqual(state)
    expect(JSON.stringify(recipientCheckpoint.save(loaded))).toBe(text)
  })

  it("stays bounded however many texts arrive", () => {
    const incoming = Array.from({ length: 1_500 }, (_, i) =>
      textReceived({ messageId: `msg_in_${i}`, at: NOW + i * DAY_MS }),
    )
    const saved = recipientCheckpoint.save(foldFacts(recipientDecider, ...incoming)) as {
      readonly received: readonly unknown[]
    }
    expect(saved.received.length).toBeLessThanOrEqual(501)
  })

  it("keeps recent texts, however many there are", () => {
    const minute = (i: number) => NOW + i * 60_000
    const texts = Array.from({ length: 600 }, (_, i): readonly RecipientEvent[] => {
      const [messageId, at] = [`msg_${i}` as const, minute(i)]
      return [textQueued({ messageId, at }), textAccepted({ messageId, at })]
    })
    const incoming = Array.from({ length: 600 }, (_, i) =>
      textReceived({ messageId: `msg_in_${i}`, at: minute(i) }),
    )
    expect(findText(foldFacts(recipientDecider, ...texts.flat()), "msg_0")).toMatchObject({
      status: "sent",
    })
    given(recipientDecider, ...incoming)
      .when(receiveTextCommand({ messageId: "msg_in_0", at: minute(600) }))
      .recordsNothing()
  })

  it("drops texts that ended long ago, but none that is still queued", () => {
    const texts = Array.from({ length: 600 }, (_, i): readonly RecipientEvent[] => {
      const [messageId, at] = [`msg_${i}` as const, NOW + i * DAY_MS]
      const facts = [textQueued({ messageId, at }), textAccepted({ messageId, at })]
      return i === 3 ? facts.slice(0, 1) : facts
    })
    const state = foldFacts(recipientDecider, ...texts.flat())
    expect(findText(state, "msg_3")).toMatchObject({ status: "queued" })
    expect(findText(state, "msg_4")).toBeNull()
    expect(findText(state, "msg_599")).toMatchObject({ status: "sent" })
  })
})

const stop: RecordCarrierOptOut & DecisionStamp = {
  type: "RecordCarrierOptOut",
  at: NOW,
  messageId: "msg_1",
  phone: "s1.rcp.bnVtYmVy",
}

const stoppedAtCarrier = (optOuts = knownRecipient({ stoppedAt: NOW })) =>
  ({ type: "OptedOutAtCarrier", at: NOW, optOuts, phone: stop.phone }) as const

const refused = (changed: Parameters<typeof textRejected>[0] = {}) =>
  textRejected({ errorCode: "opted_out", ...changed })

describe("RecordCarrierOptOut", () => {
  it("rejects the text and opts the recipient out, in one append", () => {
    const now = { ...NEW_RECIPIENT, stoppedAt: NOW }
    given(recipientDecider, textQueued()).when(stop).records(refused(), stoppedAtCarrier(now))
    given(recipientDecider, textQueued(), nextTextQueued())
      .when({ ...stop, messageId: "msg_2" })
      .records(refused({ messageId: "msg_2", optOuts: knownRecipient() }), stoppedAtCarrier())
  })

  it("records nothing for a text that has ended, and no second opt-out", () => {
    given(recipientDecider).when(stop).recordsNothing()
    given(recipientDecider, textQueued(), textAccepted()).when(stop).recordsNothing()
    const stopped = knownRecipient({ stoppedAt: NOW - 5, stopKeyword: "STOP" })
    const after = { ...stopped, firstMessageId: null }
    given(recipientDecider, textQueued({ optOuts: stopped }))
      .when(stop)
      .records(refused({ optOuts: after }))
  })
})

const MIDNIGHT = Date.parse("2026-03-03T00:00:00.000Z")

describe("an opt-in by form", () => {
  it("is recorded with its fields", () => {
    given(recipientDecider).when(optInByFormCommand()).records(optedInByForm())
    const service = { offers: false, method: "paper", sourceUrl: null } as const
    given(recipientDecider).when(optInByFormCommand(service)).records(optedInByForm(service))
  })

  it("is recorded once per UTC day, even if the second one differs", () => {
    const last = { optInId: "opt_2", at: MIDNIGHT - 1, offers: false } as const
    given(recipientDecider, optedInByForm()).when(optInByFormCommand(last)).recordsNothing()
    const next = { optInId: "opt_2", at: MIDNIGHT } as const
    given(recipientDecider, optedInByForm())
      .when(optInByFormCommand(next))
      .records(optedInByForm(next))
    given(recipientDecider, optedInByForm(), optedInByForm(next))
      .when(optInByFormCommand({ ...next, at: MIDNIGHT + 1 }))
      .recordsNothing()
  })

  it("ends neither a STOP nor an opt-out by the company", () => {
    given(recipientDecider, optedOutByText())
      .when(optInByFormCommand())
      .records(optedInByForm({ optOuts: STOPPED_RECIPIENT }))
    const added = { ...NEW_RECIPIENT, addedAt: NOW }
    given(recipientDecider, optOutAdded())
      .when(optInByFormCommand())
      .records(optedInByForm({ optOuts: added }))
    for (const fact of [optedOutByText(), optOutAdded()]) {
      const state = foldFacts(recipientDecider, fact, optedInByForm({ optOuts: fact.optOuts }))
      expect(isOptedOut(optOutStateOf(state))).toBe(true)
    }
  })

  it("is recorded in addition to a START, which is no opt-in by form", () => {
    const state = foldFacts(recipientDecider, optedOutByText(), optedInByText())
    expect(hasOptedInOn(state, NOW)).toBe(false)
    given(recipientDecider, optedOutByText(), optedInByText())
      .when(optInByFormCommand())
      .records(optedInByForm())
  })
})
