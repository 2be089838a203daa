import { describe, expect, it } from "vitest"
import {
  isOptedOut,
  recipient,
  recipientCheckpoint,
  standingOf,
  textOf,
  agreedOn,
} from "../../domain/phone/recipient.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import { fold, given } from "../support/spec.ts"
import {
  ADD,
  FRESH,
  NOW,
  REMOVE,
  REPLY,
  STOPPED,
  accepted,
  optOutAdded,
  optedIn,
  optedOut,
  queued,
  receive,
  receiveStart,
  receiveStop,
  received,
  replied,
  queuedNext,
  rejected,
  standing,
  agree,
  agreed,
} from "./recipient-facts.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { StopAtCarrier } from "../../domain/phone/recipient.ts"

const LATER = NOW + 1_000
const both = { ...STOPPED, addedAt: LATER }

describe("a text from the recipient", () => {
  it("is recorded, and answered by nothing where it is no keyword", () => {
    given(recipient)
      .when(receive({ media: 2 }))
      .records(received({ media: 2 }))
  })

  it("is recorded once", () => {
    given(recipient, received()).when(receive()).recordsNothing()
    given(recipient, received(), optedOut()).when(receiveStop()).recordsNothing()
  })
})

describe("STOP", () => {
  it("opts out with the word that was used, and is answered once, for free", () => {
    given(recipient)
      .when(receiveStop({ word: "QUIT" }))
      .records(
        received(),
        optedOut({ keyword: "QUIT", optOuts: { ...STOPPED, stopKeyword: "QUIT" } }),
        replied("opt_out_reply", { optOuts: { ...STOPPED, stopKeyword: "QUIT" } }),
      )
  })

  it("is only recorded where a STOP stands: no second reply", () => {
    given(recipient, optedOut())
      .when(receiveStop({ messageId: "msg_in_2", at: LATER }))
      .records(received({ messageId: "msg_in_2", at: LATER, optOuts: STOPPED }))
  })

  it("stands beside an opt-out that the company added", () => {
    given(recipient, optOutAdded())
      .when(receiveStop({ reply: null }))
      .records(
        received({ optOuts: { ...FRESH, addedAt: NOW } }),
        optedOut({ optOuts: { ...STOPPED, addedAt: NOW } }),
      )
  })
})

describe("START", () => {
  it("ends both opt-outs, and is answered once", () => {
    given(recipient, optedOut(), optOutAdded({ optOuts: both }))
      .when(receiveStart())
      .records(received({ optOuts: both }), optedIn(), replied("opt_in_reply"))
  })

  it.each([
    ["a STOP", optedOut()],
    ["an opt-out by the company", optOutAdded()],
  ] as const)("ends %s", (_what, fact) => {
    const state = fold(recipient, fact, optedIn())
    expect(isOptedOut(standingOf(state))).toBe(false)
    given(recipient, fact)
      .when(receiveStart({ reply: null }))
      .records(received({ optOuts: fact.optOuts }), optedIn())
  })

  it("is only recorded where nothing was opted out", () => {
    given(recipient).when(receiveStart()).records(received())
    given(recipient, optedOut(), optedIn())
      .when(receiveStart({ messageId: "msg_in_2" }))
      .records(received({ messageId: "msg_in_2" }))
  })

  it("does not make the next text a first one again", () => {
    const first = { ...FRESH, firstMessageId: "msg_1" } as const
    const facts: readonly RecipientEvent[] = [
      queued(),
      optedOut({ optOuts: { ...STOPPED, firstMessageId: "msg_1" } }),
    ]
    given(recipient, ...facts)
      .when(receiveStart({ reply: null }))
      .records(
        received({ optOuts: { ...STOPPED, firstMessageId: "msg_1" } }),
        optedIn({ optOuts: first }),
      )
  })
})

describe("HELP", () => {
  const help = receive({ keyword: "help", word: "HELP", reply: REPLY })

  it("is answered every time and changes nothing, opted out or not", () => {
    given(recipient).when(help).records(received(), replied("help_reply"))
    given(recipient, optedOut())
      .when({ ...help, messageId: "msg_in_2" })
      .records(
        received({ messageId: "msg_in_2", optOuts: STOPPED }),
        replied("help_reply", { optOuts: STOPPED }),
      )
  })

  it("is answered once per message", () => {
    given(recipient, received(), replied("help_reply")).when(help).recordsNothing()
  })
})

describe("AddOptOut", () => {
  it("stops texts to this recipient", () => {
    given(recipient).when(ADD).records(optOutAdded())
  })

  it("records nothing where the company added one", () => {
    given(recipient, optOutAdded())
      .when({ ...ADD, at: LATER })
      .recordsNothing()
  })

  it("never overwrites a STOP: both stand", () => {
    given(recipient, optedOut())
      .when({ ...ADD, at: LATER })
      .records(optOutAdded({ at: LATER, optOuts: both }))
  })
})

describe("RemoveOptOut", () => {
  it("ends the opt-out that the company added", () => {
    given(recipient, optOutAdded())
      .when(REMOVE)
      .records({ type: "OptOutRemoved", at: NOW, optOuts: FRESH, phone: REMOVE.phone })
  })

  it("is refused while a STOP stands, whether or not the company added one too", () => {
    given(recipient, optedOut()).when(REMOVE).refuses("stopped_by_text")
    given(recipient, optedOut(), optOutAdded({ optOuts: both }))
      .when(REMOVE)
      .refuses("stopped_by_text")
  })

  it("is refused where there is none", () => {
    given(recipient).when(REMOVE).refuses("no_opt_out")
    given(recipient, optedOut(), optedIn()).when(REMOVE).refuses("no_opt_out")
  })
})

describe("the recipient's state", () => {
  const DAY_MS = 86_400_000

  it("is the same from a checkpoint", () => {
    const facts: readonly RecipientEvent[] = [
      queued(),
      accepted(),
      received({ optOuts: queued().optOuts }),
      optedOut({ optOuts: { ...STOPPED, firstMessageId: "msg_1" } }),
    ]
    const state = fold(recipient, ...facts)
    const text = JSON.stringify(recipientCheckpoint.save(state))
    const loaded = recipientCheckpoint.load(JSON.parse(text))
    expect(loaded).toEqual(state)
    expect(JSON.stringify(recipientCheckpoint.save(loaded))).toBe(text)
  })

  it("stays bounded while texts come in that nobody answers", () => {
    const incoming = Array.from({ length: 1_500 }, (_, i) =>
      received({ messageId: `msg_in_${i}`, at: NOW + i * DAY_MS }),
    )
    const saved = recipientCheckpoint.save(fold(recipient, ...incoming)) as {
      readonly received: readonly unknown[]
    }
    expect(saved.received.length).toBeLessThanOrEqual(501)
  })

  it("remembers what is not long ago, however much it is", () => {
    const minute = (i: number) => NOW + i * 60_000
    const texts = Array.from({ length: 600 }, (_, i): readonly RecipientEvent[] => {
      const [messageId, at] = [`msg_${i}` as const, minute(i)]
      return [queued({ messageId, at }), accepted({ messageId, at })]
    })
    const incoming = Array.from({ length: 600 }, (_, i) =>
      received({ messageId: `msg_in_${i}`, at: minute(i) }),
    )
    expect(textOf(fold(recipient, ...texts.flat()), "msg_0")).toMatchObject({ status: "sent" })
    given(recipient, ...incoming)
      .when(receive({ messageId: "msg_in_0", at: minute(600) }))
      .recordsNothing()
  })

  it("lets go of texts that ended long ago, and of none whose end is not known", () => {
    const texts = Array.from({ length: 600 }, (_, i): readonly RecipientEvent[] => {
      const [messageId, at] = [`msg_${i}` as const, NOW + i * DAY_MS]
      const facts = [queued({ messageId, at }), accepted({ messageId, at })]
      return i === 3 ? facts.slice(0, 1) : facts
    })
    const state = fold(recipient, ...texts.flat())
    expect(textOf(state, "msg_3")).toMatchObject({ status: "queued" })
    expect(textOf(state, "msg_4")).toBeNull()
    expect(textOf(state, "msg_599")).toMatchObject({ status: "sent" })
  })
})

const stop: StopAtCarrier & Stamp = {
  type: "StopAtCarrier",
  at: NOW,
  messageId: "msg_1",
  phone: "s1.rcp.bnVtYmVy",
}

const stoppedAtCarrier = (now = standing({ stoppedAt: NOW })) =>
  ({ type: "OptedOutAtCarrier", at: NOW, optOuts: now, phone: stop.phone }) as const

const refused = (changed: Parameters<typeof rejected>[0] = {}) =>
  rejected({ errorCode: "opted_out", ...changed })

describe("StopAtCarrier", () => {
  it("refuses the text and stops all others, in one append", () => {
    const now = { ...FRESH, stoppedAt: NOW }
    given(recipient, queued()).when(stop).records(refused(), stoppedAtCarrier(now))
    given(recipient, queued(), queuedNext())
      .when({ ...stop, messageId: "msg_2" })
      .records(refused({ messageId: "msg_2", optOuts: standing() }), stoppedAtCarrier())
  })

  it("records nothing of a text that ended, and stops nobody twice", () => {
    given(recipient).when(stop).recordsNothing()
    given(recipient, queued(), accepted()).when(stop).recordsNothing()
    const out = standing({ stoppedAt: NOW - 5, stopKeyword: "STOP" })
    const after = { ...out, firstMessageId: null }
    given(recipient, queued({ optOuts: out }))
      .when(stop)
      .records(refused({ optOuts: after }))
  })
})

const MIDNIGHT = Date.parse("2026-03-03T00:00:00.000Z")

describe("a form on which somebody agrees", () => {
  it("is recorded as it says", () => {
    given(recipient).when(agree()).records(agreed())
    const service = { offers: false, method: "paper", sourceUrl: null } as const
    given(recipient).when(agree(service)).records(agreed(service))
  })

  it("is recorded once on one UTC day, whatever the second one says", () => {
    const last = { optInId: "opt_2", at: MIDNIGHT - 1, offers: false } as const
    given(recipient, agreed()).when(agree(last)).recordsNothing()
    const next = { optInId: "opt_2", at: MIDNIGHT } as const
    given(recipient, agreed()).when(agree(next)).records(agreed(next))
    given(recipient, agreed(), agreed(next))
      .when(agree({ ...next, at: MIDNIGHT + 1 }))
      .recordsNothing()
  })

  it("ends no STOP, and no opt-out of the company's", () => {
    given(recipient, optedOut())
      .when(agree())
      .records(agreed({ optOuts: STOPPED }))
    const added = { ...FRESH, addedAt: NOW }
    given(recipient, optOutAdded())
      .when(agree())
      .records(agreed({ optOuts: added }))
    for (const fact of [optedOut(), optOutAdded()]) {
      const state = fold(recipient, fact, agreed({ optOuts: fact.optOuts }))
      expect(isOptedOut(standingOf(state))).toBe(true)
    }
  })

  it("stands beside a START, which says nothing of a form", () => {
    const state = fold(recipient, optedOut(), optedIn())
    expect(agreedOn(state, NOW)).toBe(false)
    given(recipient, optedOut(), optedIn()).when(agree()).records(agreed())
  })
})
