/** What an audit says that it did not look at. */
import { describe, expect, it } from "vitest"
import { skippedIn, skippedText } from "../../src/audit/skipped.ts"
import type { Seen } from "../../src/audit/seen-streams.ts"

/** A stream of which all was looked at. */
const whole = {
  isBroken: false,
  formerForms: 0,
  held: {},
  folded: {},
  checkpoint: {},
} as unknown as Seen

const whatsOf = (seen: readonly Seen[]) =>
  skippedIn(seen, null).map(({ what, count }) => `${count} ${what}`)

describe("what was not looked at", () => {
  it("is nothing where all was", () => {
    expect(skippedIn([whole, whole], null)).toEqual([])
    expect(skippedText([])).toBe("")
  })

  it("is counted by its reason", () => {
    const broken = { ...whole, isBroken: true }
    expect(whatsOf([whole, broken, broken])).toEqual(["2 streams read alone"])
    const former = { ...whole, formerForms: 3 }
    expect(whatsOf([former, whole, former])).toEqual(["6 facts written again"])
    const unsigned = { ...whole, held: null }
    expect(whatsOf([unsigned, whole])).toEqual(["1 stream held against a signed head"])
    const unkept = { ...whole, checkpoint: null }
    expect(whatsOf([unkept, unkept])).toEqual(["2 streams compared with a checkpoint"])
    // What is never folded has no checkpoint that could be missing.
    expect(whatsOf([{ ...unkept, folded: null }])).toEqual([])
  })

  it("is told in lines, with a number where there is one", () => {
    const skipped = skippedIn([{ ...whole, formerForms: 1 }], "co_Ab3dE6")
    expect(skippedText(skipped)).toBe(
      "Not looked at:\n" +
        "  1 fact written again: they are of an earlier form, and only read\n" +
        "  streams of other companies and of the installation: one company was asked for\n",
    )
  })
})
