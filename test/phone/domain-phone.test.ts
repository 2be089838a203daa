import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { PurchasedNumber, ChangePhoneSettings } from "../../domain/phone/phone-commands.ts"
import { phoneDecider, phoneCheckpoint } from "../../domain/phone/phone.ts"
import {
  listHeldNumbers,
  canSendTexts,
  findNumber,
  numberOrderOf,
  countEndedOrders,
  isDestinationEnabled,
  numberSettingsOf,
  textingSettingsOf,
} from "../../domain/phone/phone-views.ts"
import { RENT_GRACE_MS, addMonths, rentPaidThrough } from "../../domain/phone/rent.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  MONTH_LATER,
  NO_ACTOR,
  NOW,
  numberAdded,
  includedNumberAdded as came,
  orderNumberCommand,
  numberOrdered,
  rentRefused,
  phoneSettingsChanged,
} from "./phone-facts.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { DEFAULT_NUMBER_SETTINGS } from "../../domain/phone/number-settings.ts"
import { DEFAULT_TEXTING_SETTINGS } from "../../domain/phone/phone-commands.ts"
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
  it("adds a number to the company", () => {
    given(phoneDecider).when(add).records(came())
  })

  it("records nothing for an ID or a number that the company holds", () => {
    given(phoneDecider, came()).when(add).recordsNothing()
    given(phoneDecider, came())
      .when({ ...add, numberTag: "cd34" })
      .recordsNothing()
    given(phoneDecider, came())
      .when({ ...add, numberId: "num_2" })
      .recordsNothing()
  })

  it("adds another number", () => {
    given(phoneDecider, came())
      .when({ ...add, ...other })
      .records(came(other))
  })
})

describe("a company's numbers", () => {
  it("are listed in the order in which they were added", () => {
    const second = numberAdded({ numberId: "num_0", numberTag: "cd34" })
    const held = listHeldNumbers(foldFacts(phoneDecider, came(), second))
    expect(held.map(({ numberId }) => numberId)).toEqual(["num_1", "num_0"])
    expect(listHeldNumbers(foldFacts(phoneDecider))).toEqual([])
    expect(phoneStreamOf("co_1").stream).toBe("phone-co_1")
  })
})

const bought: PurchasedNumber = {
  carrierRef: "ref_1",
  locality: "Charlotte",
  region: null,
  sms: true,
  mms: false,
  voice: true,
}

const complete = { type: "CompleteNumberOrder", at: NOW + 5, numberId: "num_1" } as const
const failed = (reason: "taken" | "abandoned", at = NOW) =>
  ({ type: "NumberOrderFailed", at, numberId: "num_1", reason }) as const

const fail = { type: "FailNumberOrder", at: NOW, numberId: "num_1", reason: "taken" } as const

describe("an order", () => {
  it("is recorded once per ID and once per number", () => {
    given(phoneDecider).when(orderNumberCommand()).records(numberOrdered())
    given(phoneDecider, numberOrdered()).when(orderNumberCommand()).recordsNothing()
    for (const held of [numberOrdered(), numberAdded(), came()]) {
      given(phoneDecider, held)
        .when(orderNumberCommand({ numberId: "num_2" }))
        .refuses("number_taken", { numberId: "num_2" })
      given(phoneDecider, held).when(orderNumberCommand(other)).records(numberOrdered(other))
    }
  })

  it("adds a number, paid from the order's time, and fills in fields that the carrier leaves out", () => {
    given(phoneDecider, numberOrdered())
      .when({ ...complete, ...bought })
      .records(numberAdded({ at: NOW + 5, locality: "Charlotte", mms: false }))
    given(phoneDecider, numberAdded())
      .when({ ...complete, ...bought })
      .recordsNothing()
    given(phoneDecider)
      .when({ ...complete, ...bought })
      .recordsNothing()
  })

  it("fails once, and cannot be repeated under its ID", () => {
    given(phoneDecider, numberOrdered()).when(fail).records(failed("taken"))
    given(phoneDecider, numberOrdered(), failed("taken")).when(fail).recordsNothing()
    given(phoneDecider, numberOrdered(), failed("taken"))
      .when(orderNumberCommand())
      .refuses("order_failed")
    given(phoneDecider, numberOrdered(), failed("taken"))
      .when(orderNumberCommand(other))
      .records(numberOrdered(other))
    given(phoneDecider, numberAdded()).when(fail).recordsNothing()
  })

  it("is abandoned only if it was never recorded", () => {
    const never = { ...fail, reason: "abandoned" } as const
    given(phoneDecider).when(never).records(failed("abandoned"))
    given(phoneDecider, failed("abandoned")).when(orderNumberCommand()).refuses("order_failed")
    given(phoneDecider, numberOrdered()).when(never).recordsNothing()
    expect(numberOrderOf(foldFacts(phoneDecider, failed("abandoned")), "num_1")?.status).toBe(
      "failed",
    )
    expect(numberOrderOf(foldFacts(phoneDecider), "num_1")).toBeNull()
  })

  it("counts as ended once it fails or adds a number, even after old failures are dropped", () => {
    const failures = Array.from({ length: 202 }, (_, i) => ({
      ...failed("taken"),
      numberId: `num_${i}` as const,
    }))
    const full = foldFacts(phoneDecider, ...failures.slice(0, 201))
    expect(numberOrderOf(full, "num_0")).toBeNull()
    expect(countEndedOrders(full)).toBe(201)
    expect(countEndedOrders(foldFacts(phoneDecider, ...failures))).toBe(202)
    expect(
      countEndedOrders(foldFacts(phoneDecider, ...failures, numberAdded({ numberId: "num_new" }))),
    ).toBe(203)
    const saved: unknown = JSON.parse(JSON.stringify(phoneCheckpoint.save(full)))
    expect(countEndedOrders(phoneCheckpoint.load(saved))).toBe(201)
  })
})

const pay = { type: "PayRent", at: MONTH_LATER + 9, numberId: "num_1", dueAt: MONTH_LATER } as const
const refuse = { ...pay, type: "RefuseRent", code: "payment_required" } as const
const paid = (through: string) =>
  ({ type: "RentPaid", at: pay.at, numberId: "num_1", through: Date.parse(through) }) as const

const MAY = "2026-05-02T10:00:00.000Z"
const release = { type: "ReleaseNumber", at: NOW, numberId: "num_1", ...NO_ACTOR } as const

describe("rent", () => {
  it("is paid once per month", () => {
    given(phoneDecider, numberAdded()).when(pay).records(paid(MAY))
    given(phoneDecider, numberAdded(), paid(MAY)).when(pay).recordsNothing()
    given(phoneDecider).when(pay).recordsNothing()
    given(phoneDecider, came()).when(pay).recordsNothing()
  })

  it("starts the grace period when it is refused, and ends it when it is paid", () => {
    given(phoneDecider, numberAdded()).when(refuse).records(rentRefused(pay.at))
    given(phoneDecider, numberAdded(), rentRefused(pay.at)).when(refuse).recordsNothing()
    given(phoneDecider, numberAdded(), paid(MAY)).when(refuse).recordsNothing()
    const inGrace = foldFacts(phoneDecider, numberAdded(), rentRefused(pay.at))
    expect(listHeldNumbers(inGrace).map(canSendTexts)).toEqual([false])
    const later = foldFacts(phoneDecider, numberAdded(), rentRefused(pay.at), paid(MAY))
    expect(listHeldNumbers(later).map(canSendTexts)).toEqual([true])
  })

  it("releases a number exactly when the grace period is over", () => {
    const facts = [numberAdded(), rentRefused(pay.at)] as const
    const over = { ...release, reason: "rent", at: pay.at + RENT_GRACE_MS } as const
    const { type: _type, ...rest } = over
    given(phoneDecider, ...facts)
      .when({ ...over, at: over.at - 1 })
      .refuses("in_grace")
    given(phoneDecider, ...facts)
      .when(over)
      .records({ ...rest, type: "NumberReleased", carrierRef: "ref_1" })
    given(phoneDecider, ...facts, paid(MAY))
      .when(over)
      .refuses("in_grace")
  })
})

describe("a release", () => {
  it("is final: the number stays known for old texts, and is no longer held", () => {
    const command = { ...release, reason: "requested" } as const
    const { type: _type, ...rest } = command
    const released = { ...rest, type: "NumberReleased", carrierRef: "ref_1" } as const
    given(phoneDecider, numberAdded()).when(command).records(released)
    given(phoneDecider, numberAdded(), released)
      .when(command)
      .refuses("no_such_number", { numberId: "num_1" })
    const state = foldFacts(phoneDecider, numberAdded(), released)
    expect(listHeldNumbers(state)).toEqual([])
    expect(findNumber(state, "num_1")).toMatchObject({ number: "s1.co_1.bnVtYmVy", isHeld: false })
    expect(numberOrderOf(state, "num_1")).toEqual({ status: "released" })
    given(phoneDecider, numberAdded(), released).when(orderNumberCommand()).recordsNothing()
    given(phoneDecider, numberAdded(), released)
      .when(orderNumberCommand({ numberId: "num_2" }))
      .records(numberOrdered({ numberId: "num_2" }))
  })
})

const change = (changes: Partial<ChangePhoneSettings>): ChangePhoneSettings & DecisionStamp => ({
  type: "ChangePhoneSettings",
  at: NOW,
  texting: {},
  numbers: [],
  ...NO_ACTOR,
  acknowledgesRecording: false,
  ...changes,
})

const numberChange = (
  settings: ChangePhoneSettings["numbers"][number]["settings"],
  numberId = "num_1",
) => ({ numberId, settings }) as ChangePhoneSettings["numbers"][number]

const acknowledged = { type: "RecordingAcknowledged", at: NOW, ...NO_ACTOR } as const

describe("settings", () => {
  it("change only in the fields that are sent", () => {
    const before = phoneSettingsChanged({ ringSeconds: 40, label: "s1.co_1.YQ" })
    given(phoneDecider, numberAdded(), before)
      .when(change({ numbers: [numberChange({ ringMode: "order" })] }))
      .records(phoneSettingsChanged({ ringSeconds: 40, label: "s1.co_1.YQ", ringMode: "order" }))
    given(phoneDecider, numberAdded(), before)
      .when(change({ numbers: [numberChange({ label: null })] }))
      .records(phoneSettingsChanged({ ringSeconds: 40 }))
    expect(numberSettingsOf(foldFacts(phoneDecider, numberAdded()), "num_1")).toEqual(
      DEFAULT_NUMBER_SETTINGS,
    )
  })

  it("of numbers and of texting change in one fact", () => {
    const texting = { ...DEFAULT_TEXTING_SETTINGS, optOutLine: false }
    given(phoneDecider, numberAdded())
      .when(
        change({ numbers: [numberChange({ voicemail: false })], texting: { optOutLine: false } }),
      )
      .records(phoneSettingsChanged({ voicemail: false }, texting))
    const state = foldFacts(phoneDecider, numberAdded(), phoneSettingsChanged({}, texting))
    expect(textingSettingsOf(state)).toEqual({ texting, repliesAppliedAt: null })
    given(phoneDecider, phoneSettingsChanged({}, texting))
      .when(change({ texting: { helpReply: "s1.co_1.YQ" } }))
      .records({
        ...phoneSettingsChanged({}, { ...texting, helpReply: "s1.co_1.YQ" }),
        numbers: [],
      })
  })

  it("change completely or not at all: an unknown number rejects the whole change", () => {
    given(phoneDecider, numberAdded())
      .when(
        change({
          numbers: [numberChange({ voicemail: false }), numberChange({ voicemail: true }, "num_2")],
        }),
      )
      .refuses("no_such_number", { numberId: "num_2" })
  })

  it("allow call recording only after one acknowledgement, which covers all numbers", () => {
    const record = change({ numbers: [numberChange({ recordCalls: true })] })
    given(phoneDecider, numberAdded())
      .when(record)
      .refuses("not_acknowledged", { numberId: "num_1" })
    given(phoneDecider, numberAdded())
      .when({ ...record, acknowledgesRecording: true })
      .records(acknowledged, phoneSettingsChanged({ recordCalls: true }))
    given(phoneDecider, numberAdded(), acknowledged)
      .when(record)
      .records(phoneSettingsChanged({ recordCalls: true }))
    given(phoneDecider, numberAdded(), acknowledged)
      .when(change({ acknowledgesRecording: true }))
      .recordsNothing()
    given(phoneDecider, numberAdded())
      .when(change({ numbers: [numberChange({ recordCalls: false })] }))
      .records(phoneSettingsChanged({ recordCalls: false }))
  })

  it("do not change if no field is sent", () => {
    given(phoneDecider, numberAdded())
      .when(change({ numbers: [numberChange({})] }))
      .recordsNothing()
  })
})

const switchOn = {
  type: "SwitchDestination",
  at: NOW,
  on: true,
  by: "company",
  ...NO_ACTOR,
} as const
const { type: _type, ...switchFields } = switchOn
const on = (country: string) => ({ ...switchFields, type: "DestinationSwitched", country }) as const

describe("a country", () => {
  it("is switched by the company only if it is self-serve", () => {
    given(phoneDecider)
      .when({ ...switchOn, country: "GB" })
      .records(on("GB"))
    given(phoneDecider, on("GB"))
      .when({ ...switchOn, country: "GB" })
      .recordsNothing()
    for (const country of ["US", "JM", "ZZ"]) {
      given(phoneDecider)
        .when({ ...switchOn, country })
        .refuses("contact_support")
    }
    for (const by of ["company", "support"] as const) {
      given(phoneDecider)
        .when({ ...switchOn, country: "CU", by })
        .refuses("never_on")
    }
    given(phoneDecider)
      .when({ ...switchOn, country: "US", by: "support" })
      .refuses("always_on")
    given(phoneDecider)
      .when({ ...switchOn, country: "JM", by: "support" })
      .records({ ...on("JM"), by: "support" })
  })

  it("is on by default only if it is the US or Canada, never because of its prefix", () => {
    const state = foldFacts(phoneDecider, on("GB"))
    const isOn = (country: string) => isDestinationEnabled(state, country)
    expect(["US", "CA", "GB"].every(isOn)).toBe(true)
    expect(["GG", "JE", "IM", "PR", "JM", "FR", "CU"].some(isOn)).toBe(false)
    const off = foldFacts(phoneDecider, on("GB"), { ...on("GB"), on: false })
    expect(isDestinationEnabled(off, "GB")).toBe(false)
  })
})

describe("replies that the carrier sends itself", () => {
  it("are applied for a revision, and never for an older one", () => {
    const apply = { type: "ApplyReplies", at: NOW, revision: 3 } as const
    const applied = { type: "RepliesApplied", at: NOW, revision: 3 } as const
    given(phoneDecider).when(apply).records(applied)
    given(phoneDecider, applied).when(apply).recordsNothing()
    given(phoneDecider, applied)
      .when({ ...apply, revision: 2 })
      .recordsNothing()
    expect(textingSettingsOf(foldFacts(phoneDecider, applied)).repliesAppliedAt).toBe(NOW)
  })
})

const at = (text: string) => Date.parse(`${text}Z`)
const shown = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** The due dates of rent after a purchase. */
function dueDates(boughtAt: string, months: number): readonly string[] {
  const dates: string[] = []
  for (let due = addMonths(at(boughtAt), 1); dates.length < months;) {
    dates.push(shown(due).slice(0, 10))
    due = rentPaidThrough(at(boughtAt), due)
  }
  return dates
}

describe("rent is due", () => {
  it("on the day of the month of the purchase, or on the last day of a shorter month", () => {
    expect(dueDates("2026-01-31T08:00:00", 4)).toEqual([
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ])
    expect(dueDates("2028-01-30T08:00:00", 3)).toEqual(["2028-02-29", "2028-03-30", "2028-04-30"])
    expect(dueDates("2028-02-29T08:00:00", 13).at(-1)).toBe("2029-03-29")
    expect(dueDates("2026-11-15T08:00:00", 3)).toEqual(["2026-12-15", "2027-01-15", "2027-02-15"])
  })

  it("at the time of the purchase, to the millisecond", () => {
    expect(addMonths(Date.parse("2026-01-31T23:59:59.999Z"), 1)).toBe(
      Date.parse("2026-02-28T23:59:59.999Z"),
    )
  })

  it("once in every month, whatever the time of the purchase", () => {
    const day = fc.integer({ min: at("2000-01-01T00:00:00"), max: at("2100-01-01T00:00:00") })
    fc.assert(
      fc.property(day, fc.nat(40), (boughtAt, months) => {
        const due = addMonths(boughtAt, months + 1)
        expect(rentPaidThrough(boughtAt, due)).toBe(addMonths(boughtAt, months + 2))
        const [from, to] = [new Date(addMonths(boughtAt, months)), new Date(due)]
        const passed =
          (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
        expect(passed).toBe(1)
      }),
    )
  })
})
