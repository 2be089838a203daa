import { describe, expect, it } from "vitest"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import {
  EXTERNAL_ID_RULE,
  emptyRecentNames,
  isValidExternalId,
  lookUpRecentName,
  rememberName,
} from "../../domain/charging/recent-names.ts"
import { given } from "../support/decider-spec.ts"
import {
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  monthClosed,
  ledgerOpened,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]
const order = { chargeId: "order_1", isPending: false } as const
const bought = charged({ ...order, isExternalId: true })
/** So many charges of zero, each with its own name. */
const others = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    return charged({
      chargeId: `order_${i + 100}`,
      amountMicros: 0,
      isPending: false,
      isExternalId: true,
    })
  })

describe("a charge with an id chosen by its caller", () => {
  it("is marked in its fact, whichever revision the search covered", () => {
    for (const searchedUpTo of [-1, 0, 1]) {
      given(ledgerDecider, ...ready)
        .when(chargeCommand({ ...order, searchedUpTo }))
        .records(bought)
    }
  })

  it("is charged once, even if the search did not see it", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .recordsNothing()
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, amountMicros: 5, searchedUpTo: 1 }))
      .recordsNothing()
  })

  it("is charged once, whether it is pending, settled or refunded", () => {
    const open = charged({ chargeId: "order_1", isExternalId: true })
    for (const end of [[], [chargesSettled("order_1")], [chargeReduced({ chargeId: "order_1" })]]) {
      given(ledgerDecider, ...ready, open, ...end)
        .when(chargeCommand({ ...order, searchedUpTo: 1 }))
        .recordsNothing()
    }
  })

  it("is decided again after a refusal", () => {
    given(ledgerDecider, ledgerOpened())
      .when(chargeCommand({ ...order, searchedUpTo: 0 }))
      .refuses("payment_required")
    given(ledgerDecider, ...ready)
      .when(chargeCommand({ ...order, searchedUpTo: 0 }))
      .records(bought)
  })

  it("is rejected for its amount before its id is looked up", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, amountMicros: -1, searchedUpTo: 1 }))
      .refuses("bad_amount")
  })

  it("does not affect charges with ids that the program derives", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand(order))
      .records(charged(order))
    given(ledgerDecider, ...ready, charged(order))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .records(bought)
  })

  it("must be searched for again once a later id was forgotten, and only then", () => {
    // Revisions: the first id is at 2, and each further one 1 later.
    const facts = [...ready, ...others(257)]
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .refuses("search_again")
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...order, searchedUpTo: 2 }))
      .records(bought)
    given(ledgerDecider, ...ready, ...others(256))
      .when(chargeCommand({ ...order, searchedUpTo: -1 }))
      .records(bought)
  })

  it("is known while at most 255 other ids were used since", () => {
    given(ledgerDecider, ...ready, bought, ...others(255))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .recordsNothing()
    given(ledgerDecider, ...ready, bought, ...others(256))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .refuses("search_again")
  })

  it("must be searched for again before funds and limits are checked", () => {
    given(ledgerDecider, ...others(257))
      .when(chargeCommand({ ...order, searchedUpTo: -1 }))
      .refuses("search_again", { message: expect.stringContaining("look it up again") as string })
  })

  it("is known by its own revision if a month's closing came first", () => {
    const late = { at: monthClosed().at }
    const facts = [...ready, monthClosed({ fundsMicros: 1_000_000 }), { ...bought, ...late }]
    // The charge is at revision 3, so a search up to 3 has seen it.
    given(ledgerDecider, ...facts, ...others(256).map((one) => ({ ...one, ...late })))
      .when(chargeCommand({ ...order, chargeId: "order_2", searchedUpTo: 2, ...late }))
      .refuses("search_again")
    given(ledgerDecider, ...facts, ...others(256).map((one) => ({ ...one, ...late })))
      .when(chargeCommand({ ...order, chargeId: "order_2", searchedUpTo: 3, ...late }))
      .records(charged({ ...order, chargeId: "order_2", isExternalId: true, ...late }))
  })
})

describe("an id that a caller can choose", () => {
  it.each(["a", "7", "order_1", "Order.7@shop+1-b", "x".repeat(200), "chg", "Chg_1", "achg_1"])(
    "can be %s",
    (id) => {
      expect(isValidExternalId(id)).toBe(true)
    },
  )

  it.each([
    ["empty", ""],
    ["longer than 200", "x".repeat(201)],
    ["of the program's own form", "chg_019a"],
    ["with a colon, as in ids of nights and minutes", "key_1:per_1:2026-03-02"],
    ["with a leading underscore", "_order"],
    ["with a leading dot", ".order"],
    ["of two words", "order 1"],
    ["with a line break", "order\n"],
    ["with letters other than A to Z", "bestellung_ä"],
  ])("cannot be %s", (_case, id) => {
    expect(isValidExternalId(id)).toBe(false)
  })

  it("is described in words for callers", () => {
    expect(EXTERNAL_ID_RULE).toContain("1 to 200 characters")
    expect(EXTERNAL_ID_RULE).toContain("not start with chg_")
  })
})

describe("the recently used names", () => {
  it("are the last 256, each with its revision", () => {
    const recent = emptyRecentNames()
    for (let i = 0; i < 257; i += 1) rememberName(recent, `name ${i}`, 10 + i)
    expect(recent.names.size).toBe(256)
    expect(recent.forgottenThrough).toBe(10)
    expect(lookUpRecentName(recent, "name 0", 10)).toBe("new")
    expect(lookUpRecentName(recent, "name 0", 9)).toBe("unsure")
    expect(lookUpRecentName(recent, "name 1", 9)).toBe("used")
  })

  it("remember that a forgotten name was used at its latest revision", () => {
    const recent = emptyRecentNames()
    rememberName(recent, "name 0", 0)
    for (let i = 1; i < 256; i += 1) rememberName(recent, `name ${i}`, i)
    rememberName(recent, "name 0", 300)
    expect(recent.forgottenThrough).toBe(-1)
    rememberName(recent, "name 256", 301)
    rememberName(recent, "name 257", 302)
    expect(recent.forgottenThrough).toBe(300)
    expect(lookUpRecentName(recent, "name 0", 299)).toBe("unsure")
  })

  it("are empty at first, and nothing is forgotten", () => {
    expect(lookUpRecentName(emptyRecentNames(), "name", -1)).toBe("new")
  })
})
