import { phoneOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { HeldNumber } from "../../domain/phone/phone.ts"
import { heldNumbers, phone } from "../../domain/phone/phone.ts"
import { fold, given } from "../support/spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const number: HeldNumber = {
  numberId: "num_1",
  number: "s1.co_1.bnVtYmVy",
  numberTag: "ab12",
  kind: "local",
  locality: null,
  region: "NC",
  sms: true,
  mms: true,
  voice: true,
  monthlyMicros: 0,
  paidThrough: null,
  test: true,
}
const add = { type: "AddNumber", at: NOW, ...number } as const
const added = { type: "NumberAdded", at: NOW, ...number } as const

describe("AddNumber", () => {
  it("gives the company a number", () => {
    given(phone).when(add).records(added)
  })

  it("records nothing for an id or a number that it holds", () => {
    given(phone, added).when(add).recordsNothing()
    given(phone, added)
      .when({ ...add, numberTag: "cd34" })
      .recordsNothing()
    given(phone, added)
      .when({ ...add, numberId: "num_2" })
      .recordsNothing()
  })

  it("gives it another one", () => {
    const other = { numberId: "num_2", numberTag: "cd34" } as const
    given(phone, added)
      .when({ ...add, ...other })
      .records({ ...added, ...other })
  })
})

describe("the numbers that a company holds", () => {
  it("are in the order in which they came", () => {
    const second = { ...added, numberId: "num_0", numberTag: "cd34" } as const
    expect(heldNumbers(fold(phone, added, second)).map(({ numberId }) => numberId)).toEqual([
      "num_1",
      "num_0",
    ])
    expect(heldNumbers(fold(phone))).toEqual([])
    expect(phoneOf("co_1").stream).toBe("phone-co_1")
  })
})
