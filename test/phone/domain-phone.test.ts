import { phoneOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { BoughtNumber } from "../../domain/phone/phone-commands.ts"
import { phone, phoneCheckpoint } from "../../domain/phone/phone.ts"
import {
  heldNumbers,
  maySend,
  numberOf,
  orderOf,
  ordersEnded,
} from "../../domain/phone/phone-views.ts"
import { GRACE_MS } from "../../domain/phone/rent.ts"
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
} from "./phone-facts.ts"

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
const failed = (reason: "taken" | "never_ordered", at = NOW) =>
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
    const never = { ...fail, reason: "never_ordered" } as const
    given(phone).when(never).records(failed("never_ordered"))
    given(phone, failed("never_ordered")).when(order()).refuses("order_failed")
    given(phone, ordered()).when(never).recordsNothing()
    expect(orderOf(fold(phone, failed("never_ordered")), "num_1")?.is).toBe("failed")
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
    const asked = { ...release, reason: "asked" } as const
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
