/** What an audit says that it did not look at. */
import { describe, expect, it } from "vitest"
import type { StreamCounts } from "../../src/audit/skipped.ts"
import { skippedIn, skippedText } from "../../src/audit/skipped.ts"

/** Streams of which all was looked at. */
const WHOLE: StreamCounts = {
  broken: 0,
  formerForms: 0,
  withHead: 2,
  withoutHead: 0,
  withCheckpoint: 2,
  withoutCheckpoint: 0,
}

const whatsOf = (counts: Partial<StreamCounts>) =>
  skippedIn({ ...WHOLE, ...counts }, null).map(({ what, count }) => `${count} ${what}`)

describe("what was not looked at", () => {
  it("is nothing where all was", () => {
    expect(skippedIn(WHOLE, null)).toEqual([])
    expect(skippedText([])).toBe("")
  })

  it("is counted by its reason", () => {
    expect(whatsOf({ broken: 2 })).toEqual(["2 streams read alone"])
    expect(whatsOf({ formerForms: 6 })).toEqual(["6 facts written again"])
    expect(whatsOf({ withoutHead: 1 })).toEqual(["1 stream held against a signed head"])
    expect(whatsOf({ withoutCheckpoint: 2 })).toEqual(["2 streams compared with a checkpoint"])
  })

  it("is told in lines, with a number where there is one", () => {
    const skipped = skippedIn({ ...WHOLE, formerForms: 1 }, "co_Ab3dE6")
    expect(skippedText(skipped)).toBe(
      "Not looked at:\n" +
        "  1 fact written again: they are of an earlier form, and only read\n" +
        "  streams of other companies and of the installation: one company was asked for\n",
    )
  })
})
