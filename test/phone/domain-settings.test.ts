import { describe, expect, it } from "vitest"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { DEFAULT_NUMBER_SETTINGS } from "../../domain/phone/number-settings.ts"
import type { ChangeSettings } from "../../domain/phone/phone-commands.ts"
import { DEFAULT_TEXTING } from "../../domain/phone/phone-commands.ts"
import { phone } from "../../domain/phone/phone.ts"
import { isDestinationOn, settingsOf, textingOf } from "../../domain/phone/phone-views.ts"
import { fold, given } from "../support/spec.ts"
import { NOBODY, NOW, added, changed } from "./phone-facts.ts"

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
