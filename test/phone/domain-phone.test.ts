import { phoneOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { BoughtNumber, ChangeSettings } from "../../domain/phone/phone-commands.ts"
import { phone, phoneCheckpoint } from "../../domain/phone/phone.ts"
import {
  heldNumbers,
  maySend,
  numberOf,
  orderOf,
  ordersEnded,
  isDestinationOn,
  settingsOf,
  textingOf,
} from "../../domain/phone/phone-views.ts"
import { GRACE_MS, monthsAfter, paidAfter } from "../../domain/phone/rent.ts"
import { fold, given } from "../support/spec.ts"
import {
  MONTH_LATER,
  NOBODY,
  NOW,
  added,
  given as came,
  order,
  ordered,
  rentRefused,
  changed,
} from "./phone-facts.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { DEFAULT_NUMBER_SETTINGS } from "../../domain/phone/number-settings.ts"
import { DEFAULT_TEXTING } from "../../domain/phone/phone-commands.ts"
import fc from "fast-check"

const {
  at: _at,
  boughtAt: _boughtAt,
  carrierRef: _carrierRef,
  givenLocality: _given,
  ...number
} = came()

const add = { ...number, type: "AddNumber", at: NOW } as const
const other = { numberId: "num_2", numberTag: "cd34" } as const

describe("AddNumber", () => {
  it("gives the company a number", () => {
    given(phone).when(add).records(came())
  })

  it("records nothing for an id or a number that it holds", () => {
    given(phone, came()).when(add).recordsNothing()
    given(phone, came())
      .when({ ...add, numberTag: "cd34" })
      .recordsNothing()
    given(phone, came())
      .when({ ...add, numberId: "num_2" })
      .recordsNothing()
  })

  it("gives it another one", () => {
    given(phone, came())
      .when({ ...add, ...other })
      .records(came(other))
  })
})

describe("the numbers that a company holds", () => {
  it("are in the order in which they came", () => {
    const second = added({ numberId: "num_0", numberTag: "cd34" })
    const held = heldNumbers(fold(phone, came(), second))
    expect(held.map(({ numberId }) => numberId)).toEqual(["num_1", "num_0"])
    expect(heldNumbers(fold(phone))).toEqual([])
    expect(phoneOf("co_1").stream).toBe("phone-co_1")
  })
})

const bought: BoughtNumber = {
  carrierRef: "ref_1",
  locality: "Charlotte",
  region: null,
  sms: true,
  mms: false,
  voice: true,
}

const complete = { type: "CompleteOrder", at: NOW + 5, numberId: "num_1" } as const
const failed = (reason: "taken" | "abandoned", at = NOW) =>
  ({ type: "NumberOrderFailed", at, numberId: "num_1", reason }) as const

const fail = { type: "FailOrder", at: NOW, numberId: "num_1", reason: "taken" } as const

describe("an order", () => {
  it("is recorded once by its id, and once by its number", () => {
    given(phone).when(order()).records(ordered())
    given(phone, ordered()).when(order()).recordsNothing()
    for (const held of [ordered(), added(), came()]) {
      given(phone, held)
        .when(order({ numberId: "num_2" }))
        .refuses("number_taken", { numberId: "num_2" })
      given(phone, held).when(order(other)).records(ordered(other))
    }
  })

  it("brings a number whose first month began with it; the order fills what the carrier leaves out", () => {
    given(phone, ordered())
      .when({ ...complete, ...bought })
      .records(added({ at: NOW + 5, locality: "Charlotte", mms: false }))
    given(phone, added())
      .when({ ...complete, ...bought })
      .recordsNothing()
    given(phone)
      .when({ ...complete, ...bought })
      .recordsNothing()
  })

  it("fails once, and cannot be made again", () => {
    given(phone, ordered()).when(fail).records(failed("taken"))
    given(phone, ordered(), failed("taken")).when(fail).recordsNothing()
    given(phone, ordered(), failed("taken")).when(order()).refuses("order_failed")
    given(phone, ordered(), failed("taken")).when(order(other)).records(ordered(other))
    given(phone, added()).when(fail).recordsNothing()
  })

  it("is given up only where it was never made", () => {
    const never = { ...fail, reason: "abandoned" } as const
    given(phone).when(never).records(failed("abandoned"))
    given(phone, failed("abandoned")).when(order()).refuses("order_failed")
    given(phone, ordered()).when(never).recordsNothing()
    expect(orderOf(fold(phone, failed("abandoned")), "num_1")?.is).toBe("failed")
    expect(orderOf(fold(phone), "num_1")).toBeNull()
  })

  it("counts as ended when it fails or brings a number, also after old failures are forgotten", () => {
    const failures = Array.from({ length: 202 }, (_, i) => ({
      ...failed("taken"),
      numberId: `num_${i}` as const,
    }))
    const full = fold(phone, ...failures.slice(0, 201))
    expect(orderOf(full, "num_0")).toBeNull()
    expect(ordersEnded(full)).toBe(201)
    expect(ordersEnded(fold(phone, ...failures))).toBe(202)
    expect(ordersEnded(fold(phone, ...failures, added({ numberId: "num_new" })))).toBe(203)
    const saved: unknown = JSON.parse(JSON.stringify(phoneCheckpoint.save(full)))
    expect(ordersEnded(phoneCheckpoint.load(saved))).toBe(201)
  })
})

const pay = { type: "PayRent", at: MONTH_LATER + 9, numberId: "num_1", dueAt: MONTH_LATER } as const
const refuse = { ...pay, type: "RefuseRent", code: "payment_required" } as const
const paid = (through: string) =>
  ({ type: "RentPaid", at: pay.at, numberId: "num_1", through: Date.parse(through) }) as const

const MAY = "2026-05-02T10:00:00.000Z"
const release = { type: "ReleaseNumber", at: NOW, numberId: "num_1", ...NOBODY } as const

describe("rent", () => {
  it("is paid month by month, each once", () => {
    given(phone, added()).when(pay).records(paid(MAY))
    given(phone, added(), paid(MAY)).when(pay).recordsNothing()
    given(phone).when(pay).recordsNothing()
    given(phone, came()).when(pay).recordsNothing()
  })

  it("that was refused begins the days of grace once, and ends them once it is paid", () => {
    given(phone, added()).when(refuse).records(rentRefused(pay.at))
    given(phone, added(), rentRefused(pay.at)).when(refuse).recordsNothing()
    given(phone, added(), paid(MAY)).when(refuse).recordsNothing()
    const inGrace = fold(phone, added(), rentRefused(pay.at))
    expect(heldNumbers(inGrace).map(maySend)).toEqual([false])
    const later = fold(phone, added(), rentRefused(pay.at), paid(MAY))
    expect(heldNumbers(later).map(maySend)).toEqual([true])
  })

  it("releases a number to the millisecond when the days of grace are over", () => {
    const facts = [added(), rentRefused(pay.at)] as const
    const over = { ...release, reason: "rent", at: pay.at + GRACE_MS } as const
    const { type: _type, ...rest } = over
    given(phone, ...facts)
      .when({ ...over, at: over.at - 1 })
      .refuses("in_grace")
    given(phone, ...facts)
      .when(over)
      .records({ ...rest, type: "NumberReleased", carrierRef: "ref_1" })
    given(phone, ...facts, paid(MAY))
      .when(over)
      .refuses("in_grace")
  })
})

describe("a release", () => {
  it("is for good: the number is known for what was written, and held no more", () => {
    const asked = { ...release, reason: "requested" } as const
    const { type: _type, ...rest } = asked
    const gone = { ...rest, type: "NumberReleased", carrierRef: "ref_1" } as const
    given(phone, added()).when(asked).records(gone)
    given(phone, added(), gone).when(asked).refuses("no_such_number", { numberId: "num_1" })
    const state = fold(phone, added(), gone)
    expect(heldNumbers(state)).toEqual([])
    expect(numberOf(state, "num_1")).toMatchObject({ number: "s1.co_1.bnVtYmVy", isHeld: false })
    expect(orderOf(state, "num_1")).toEqual({ is: "released" })
    given(phone, added(), gone).when(order()).recordsNothing()
    given(phone, added(), gone)
      .when(order({ numberId: "num_2" }))
      .records(ordered({ numberId: "num_2" }))
  })
})

const change = (changes: Partial<ChangeSettings>): ChangeSettings & Stamp => ({
  type: "ChangeSettings",
  at: NOW,
  texting: {},
  numbers: [],
  ...NOBODY,
  acknowledgesRecording: false,
  ...changes,
})

const of = (settings: ChangeSettings["numbers"][number]["settings"], numberId = "num_1") =>
  ({ numberId, settings }) as ChangeSettings["numbers"][number]

const acknowledged = { type: "RecordingAcknowledged", at: NOW, ...NOBODY } as const

describe("settings", () => {
  it("change only in what is sent", () => {
    const before = changed({ ringSeconds: 40, label: "s1.co_1.YQ" })
    given(phone, added(), before)
      .when(change({ numbers: [of({ ringMode: "order" })] }))
      .records(changed({ ringSeconds: 40, label: "s1.co_1.YQ", ringMode: "order" }))
    given(phone, added(), before)
      .when(change({ numbers: [of({ label: null })] }))
      .records(changed({ ringSeconds: 40 }))
    expect(settingsOf(fold(phone, added()), "num_1")).toEqual(DEFAULT_NUMBER_SETTINGS)
  })

  it("of texting are kept beside them, and both are one fact", () => {
    const texting = { ...DEFAULT_TEXTING, optOutLine: false }
    given(phone, added())
      .when(change({ numbers: [of({ voicemail: false })], texting: { optOutLine: false } }))
      .records(changed({ voicemail: false }, texting))
    const state = fold(phone, added(), changed({}, texting))
    expect(textingOf(state)).toEqual({ texting, repliesAppliedAt: null })
    given(phone, changed({}, texting))
      .when(change({ texting: { helpReply: "s1.co_1.YQ" } }))
      .records({ ...changed({}, { ...texting, helpReply: "s1.co_1.YQ" }), numbers: [] })
  })

  it("are all changed or none: a number that is not held refuses all", () => {
    given(phone, added())
      .when(change({ numbers: [of({ voicemail: false }), of({ voicemail: true }, "num_2")] }))
      .refuses("no_such_number", { numberId: "num_2" })
  })

  it("record no call before somebody answers for it, once for all numbers", () => {
    const record = change({ numbers: [of({ recordCalls: true })] })
    given(phone, added()).when(record).refuses("not_acknowledged", { numberId: "num_1" })
    given(phone, added())
      .when({ ...record, acknowledgesRecording: true })
      .records(acknowledged, changed({ recordCalls: true }))
    given(phone, added(), acknowledged)
      .when(record)
      .records(changed({ recordCalls: true }))
    given(phone, added(), acknowledged)
      .when(change({ acknowledgesRecording: true }))
      .recordsNothing()
    given(phone, added())
      .when(change({ numbers: [of({ recordCalls: false })] }))
      .records(changed({ recordCalls: false }))
  })

  it("are not changed by nothing", () => {
    given(phone, added())
      .when(change({ numbers: [of({})] }))
      .recordsNothing()
  })
})

const ask = { type: "SwitchDestination", at: NOW, on: true, by: "company", ...NOBODY } as const
const { type: _type, ...switching } = ask
const on = (country: string) => ({ ...switching, type: "DestinationSwitched", country }) as const

describe("a country", () => {
  it("is switched by the company only where it may", () => {
    given(phone)
      .when({ ...ask, country: "GB" })
      .records(on("GB"))
    given(phone, on("GB"))
      .when({ ...ask, country: "GB" })
      .recordsNothing()
    for (const country of ["US", "JM", "ZZ"]) {
      given(phone)
        .when({ ...ask, country })
        .refuses("contact_support")
    }
    for (const by of ["company", "support"] as const) {
      given(phone)
        .when({ ...ask, country: "CU", by })
        .refuses("never_on")
    }
    given(phone)
      .when({ ...ask, country: "US", by: "support" })
      .refuses("always_on")
    given(phone)
      .when({ ...ask, country: "JM", by: "support" })
      .records({ ...on("JM"), by: "support" })
  })

  it("is on by itself only where it is the US or Canada, never by its prefix", () => {
    const state = fold(phone, on("GB"))
    const isOn = (country: string) => isDestinationOn(state, country)
    expect(["US", "CA", "GB"].every(isOn)).toBe(true)
    expect(["GG", "JE", "IM", "PR", "JM", "FR", "CU"].some(isOn)).toBe(false)
    const off = fold(phone, on("GB"), { ...on("GB"), on: false })
    expect(isDestinationOn(off, "GB")).toBe(false)
  })
})

describe("replies that the carrier says itself", () => {
  it("are known to be of a revision, and never of an older one", () => {
    const apply = { type: "ApplyReplies", at: NOW, revision: 3 } as const
    const applied = { type: "RepliesApplied", at: NOW, revision: 3 } as const
    given(phone).when(apply).records(applied)
    given(phone, applied).when(apply).recordsNothing()
    given(phone, applied)
      .when({ ...apply, revision: 2 })
      .recordsNothing()
    expect(textingOf(fold(phone, applied)).repliesAppliedAt).toBe(NOW)
  })
})

const at = (text: string) => Date.parse(`${text}Z`)
const shown = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** The months after a day of buying, as rent walks through them. */
function walk(boughtAt: string, months: number): readonly string[] {
  const dates: string[] = []
  for (let due = monthsAfter(at(boughtAt), 1); dates.length < months;) {
    dates.push(shown(due).slice(0, 10))
    due = paidAfter(at(boughtAt), due)
  }
  return dates
}

describe("rent is due", () => {
  it("on the day of buying, or the last of a month that has no such day", () => {
    expect(walk("2026-01-31T08:00:00", 4)).toEqual([
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ])
    expect(walk("2028-01-30T08:00:00", 3)).toEqual(["2028-02-29", "2028-03-30", "2028-04-30"])
    expect(walk("2028-02-29T08:00:00", 13).at(-1)).toBe("2029-03-29")
    expect(walk("2026-11-15T08:00:00", 3)).toEqual(["2026-12-15", "2027-01-15", "2027-02-15"])
  })

  it("at the time of buying, to the millisecond", () => {
    expect(monthsAfter(Date.parse("2026-01-31T23:59:59.999Z"), 1)).toBe(
      Date.parse("2026-02-28T23:59:59.999Z"),
    )
  })

  it("once in every month, whenever it was boughtAt", () => {
    const day = fc.integer({ min: at("2000-01-01T00:00:00"), max: at("2100-01-01T00:00:00") })
    fc.assert(
      fc.property(day, fc.nat(40), (boughtAt, months) => {
        const due = monthsAfter(boughtAt, months + 1)
        expect(paidAfter(boughtAt, due)).toBe(monthsAfter(boughtAt, months + 2))
        const [from, to] = [new Date(monthsAfter(boughtAt, months)), new Date(due)]
        const passed =
          (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
        expect(passed).toBe(1)
      }),
    )
  })
})
