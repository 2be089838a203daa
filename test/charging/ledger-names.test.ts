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
/** So many charges of nothing, each under a name of its own. */
const others = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    return charged({
      chargeId: `order_${i + 100}`,
      amountMicros: 0,
      isPending: false,
      isExternalId: true,
    })
  })

describe("a charge of a name that its caller chose", () => {
  it("says so in its fact, where it was searched for up to any revision", () => {
    for (const searchedUpTo of [-1, 0, 1]) {
      given(ledgerDecider, ...ready)
        .when(chargeCommand({ ...order, searchedUpTo }))
        .records(bought)
    }
  })

  it("is charged once, though the search did not see it", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .recordsNothing()
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, amountMicros: 5, searchedUpTo: 1 }))
      .recordsNothing()
  })

  it("is charged once, also when it was open, closed, or given back", () => {
    const open = charged({ chargeId: "order_1", isExternalId: true })
    for (const end of [[], [chargesSettled("order_1")], [chargeReduced({ chargeId: "order_1" })]]) {
      given(ledgerDecider, ...ready, open, ...end)
        .when(chargeCommand({ ...order, searchedUpTo: 1 }))
        .recordsNothing()
    }
  })

  it("is decided afresh after a refusal", () => {
    given(ledgerDecider, ledgerOpened())
      .when(chargeCommand({ ...order, searchedUpTo: 0 }))
      .refuses("payment_required")
    given(ledgerDecider, ...ready)
      .when(chargeCommand({ ...order, searchedUpTo: 0 }))
      .records(bought)
  })

  it("is refused for its amount before its name is looked for", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand({ ...order, amountMicros: -1, searchedUpTo: 1 }))
      .refuses("bad_amount")
  })

  it("does not stop charges of ids that derive from carried state", () => {
    given(ledgerDecider, ...ready, bought)
      .when(chargeCommand(order))
      .records(charged(order))
    given(ledgerDecider, ...ready, charged(order))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .records(bought)
  })

  it("is to be searched for again once a newer one was forgotten, and only then", () => {
    // Revisions: the first name is at 2, and each other one by 1 later.
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

  it("is known for as long as no more than 255 others were used since", () => {
    given(ledgerDecider, ...ready, bought, ...others(255))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .recordsNothing()
    given(ledgerDecider, ...ready, bought, ...others(256))
      .when(chargeCommand({ ...order, searchedUpTo: 1 }))
      .refuses("search_again")
  })

  it("is searched for again before funds and limits are looked at", () => {
    given(ledgerDecider, ...others(257))
      .when(chargeCommand({ ...order, searchedUpTo: -1 }))
      .refuses("search_again", { message: expect.stringContaining("look it up again") as string })
  })

  it("is known by its own revision where a month's closing came first", () => {
    const late = { at: monthClosed().at }
    const facts = [...ready, monthClosed({ fundsMicros: 1_000_000 }), { ...bought, ...late }]
    // The charge is at revision 3: a search that saw it answers by itself.
    given(ledgerDecider, ...facts, ...others(256).map((one) => ({ ...one, ...late })))
      .when(chargeCommand({ ...order, chargeId: "order_2", searchedUpTo: 2, ...late }))
      .refuses("search_again")
    given(ledgerDecider, ...facts, ...others(256).map((one) => ({ ...one, ...late })))
      .when(chargeCommand({ ...order, chargeId: "order_2", searchedUpTo: 3, ...late }))
      .records(charged({ ...order, chargeId: "order_2", isExternalId: true, ...late }))
  })
})

describe("an id that a caller may choose", () => {
  it.each(["a", "7", "order_1", "Order.7@shop+1-b", "x".repeat(200), "chg", "Chg_1", "achg_1"])(
    "may be %s",
    (id) => {
      expect(isValidExternalId(id)).toBe(true)
    },
  )

  it.each([
    ["of no characters", ""],
    ["longer than 200", "x".repeat(201)],
    ["one that the program makes", "chg_019a"],
    ["one with a colon, as nights and minutes have", "key_1:per_1:2026-03-02"],
    ["begun with a mark", "_order"],
    ["begun with a dot", ".order"],
    ["of two words", "order 1"],
    ["of a line and more", "order\n"],
    ["of letters beyond A to Z", "bestellung_ä"],
  ])("is not %s", (_what, id) => {
    expect(isValidExternalId(id)).toBe(false)
  })

  it("is said in words to whoever chooses another", () => {
    expect(EXTERNAL_ID_RULE).toContain("1 to 200 characters")
    expect(EXTERNAL_ID_RULE).toContain("not start with chg_")
  })
})

describe("the names that were used lately", () => {
  it("are the last 256, each with its revision", () => {
    const recent = emptyRecentNames()
    for (let i = 0; i < 257; i += 1) rememberName(recent, `name ${i}`, 10 + i)
    expect(recent.names.size).toBe(256)
    expect(recent.forgottenThrough).toBe(10)
    expect(lookUpRecentName(recent, "name 0", 10)).toBe("new")
    expect(lookUpRecentName(recent, "name 0", 9)).toBe("unsure")
    expect(lookUpRecentName(recent, "name 1", 9)).toBe("used")
  })

  it("forget the latest revision of a name that was used twice", () => {
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

  it("are none at first: nothing was forgotten", () => {
    expect(lookUpRecentName(emptyRecentNames(), "name", -1)).toBe("new")
  })
})
