import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { linesIn } from "../../src/exports/statement-lines.ts"

/** As if each character were one point wide. */
const widthOf = (text: string) => [...text].length

describe("a name", () => {
  it.each([
    ["short", 9, ["short"]],
    ["two words here", 9, ["two words", "here"]],
    ["onelongword", 4, ["onel", "ongw", "ord"]],
    ["a onelongword", 4, ["a", "onel", "ongw", "ord"]],
    ["", 4, [""]],
  ])("%j is broken over lines %i wide", (text, width, lines) => {
    expect(linesIn(text, widthOf, width, 9)).toEqual(lines)
  })

  it("that is too long is shortened in its middle", () => {
    expect(linesIn("abcdefghijklmnopq-1", widthOf, 5, 2)).toEqual(["abcd…", "pq-1"])
    const lines = linesIn("abcdefghijklmnopq-2", widthOf, 5, 3)
    expect(lines).toEqual(["abcde", "fg…mn", "opq-2"])
  })

  it("is whole in as many lines as it needs, and else keeps its beginning and its end", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 3, max: 30 }),
        fc.integer({ min: 1, max: 5 }),
        (text, width, most) => {
          const all = linesIn(text, widthOf, width, Infinity)
          expect(all.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""))
          const lines = linesIn(text, widthOf, width, most)
          expect(lines.length).toBeLessThanOrEqual(most)
          expect(lines.every((line) => widthOf(line) <= width)).toBe(true)
          if (all.length <= most) {
            expect(lines).toEqual(all)
            return
          }
          const [head = "", tail = ""] = lines.join(" ").split("…")
          expect(text.replaceAll(" ", "").startsWith(head.replaceAll(" ", ""))).toBe(true)
          expect(text.replaceAll(" ", "").endsWith(tail.replaceAll(" ", ""))).toBe(true)
        },
      ),
    )
  })
})
