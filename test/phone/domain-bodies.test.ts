/** Keywords in the body of a text, and the number of its segments. */
import { describe, expect, it } from "vitest"
import {
  normalizeKeyword,
  textKeywordOf,
  mentionsStop,
  OPT_OUT_LINE,
  withOptOutLine,
} from "../../domain/phone/texting-rules.ts"
import fc from "fast-check"
import { countSegments } from "../../domain/phone/segments.ts"

describe("keywords", () => {
  it.each([
    "STOP",
    "STOPALL",
    "STOP ALL",
    "UNSUBSCRIBE",
    "CANCEL",
    "END",
    "QUIT",
    "REVOKE",
    "OPTOUT",
    "OPT OUT",
    "stop",
    " Stop ",
    "STOP!",
    "stop.",
    "«Stop»",
    "Opt-Out",
    "opt  out",
    "opt\nout",
    "S.T.O.P.",
    "ＳＴＯＰ",
    "ｓｔｏｐ！",
    "ＯＰＴ　ＯＵＴ",
    "𝐒𝐓𝐎𝐏",
    "\ufeffSTOP",
    "ST\u200bOP",
    "S\ufeffTOP",
    "\u202eSTOP\u202c",
    "\u200fSTOP\u200e",
    "ST\u00adOP\u2060",
    "STOP\u3164",
    "STOP\ufe0f🛑",
    "STOP。",
  ])("include %j for an opt-out", (body) => {
    expect(textKeywordOf(body, [])).toBe("stop")
  })

  it.each(["START", "UNSTOP", "YES", "yes!", " start\n", "ＳＴＡＲＴ", "\u200bYes"])(
    "include %j for an opt-in",
    (body) => {
      expect(textKeywordOf(body, [])).toBe("start")
    },
  )

  it.each(["HELP", "INFO", "Help?", "info...", "ＨＥＬＰ？", "in\u200dfo"])(
    "include %j for help",
    (body) => {
      expect(textKeywordOf(body, [])).toBe("help")
    },
  )

  it.each([
    "",
    "!?",
    "please stop",
    "stop it",
    "stops",
    "the end",
    "yes please",
    "helpful",
    "\u200b\ufeff",
    "\u3164",
    "s t o p",
  ])("do not include %j", (body) => {
    expect(textKeywordOf(body, [])).toBeNull()
  })

  it("include the company's own words, compared in the same way", () => {
    expect(textKeywordOf("Arrêt!", ["arrêt"])).toBe("stop")
    expect(textKeywordOf("no  more", ["No More"])).toBe("stop")
    expect(textKeywordOf("ＮＯ　ＭＯＲＥ", ["No More"])).toBe("stop")
    expect(textKeywordOf("no more", ["ＮＯ\u200b ＭＯＲＥ"])).toBe("stop")
    expect(textKeywordOf("arre\u0302t", ["arr\u00eat"])).toBe("stop")
    expect(textKeywordOf("arrêt", [])).toBeNull()
  })

  it("keep their meaning even if a company adds them as its own words", () => {
    expect(textKeywordOf("yes", ["YES"])).toBe("start")
    expect(textKeywordOf("help", ["help"])).toBe("help")
  })

  it("are never empty, even if a company's own word is only punctuation", () => {
    expect(textKeywordOf("", ["!"])).toBeNull()
    expect(textKeywordOf("?", ["!"])).toBeNull()
  })

  it("are compared without case, punctuation and surrounding spaces", () => {
    expect(normalizeKeyword(" Opt - out! ")).toBe("OPT OUT")
  })
})

describe("opt-out instructions", () => {
  it.each(["Reply STOP to opt out", "stop", "text stop!", "To end: Stop."])(
    "are found in %j",
    (body) => {
      expect(mentionsStop(body)).toBe(true)
    },
  )

  it.each(["", "nonstop", "stopped", "unstop", "st op"])("are not found in %j", (body) => {
    expect(mentionsStop(body)).toBe(false)
  })
})

/** A character, repeated `n` times. */
const x = (n: number, character = "x"): string => character.repeat(n)

describe("segments", () => {
  it.each([
    ["an empty text", "", 1],
    ["one character", "x", 1],
    ["160 septets", x(160), 1],
    ["161 septets", x(161), 2],
    ["306 septets (2 × 153)", x(306), 2],
    ["307 septets", x(307), 3],
    ["459 septets (3 × 153)", x(459), 3],
    ["460 septets", x(460), 4],
    ["the longest text", x(1_600), 11],
    ["158 septets and an extension character, which takes two", `${x(158)}€`, 1],
    ["159 septets and an extension character", `${x(159)}€`, 2],
    ["80 extension characters", x(80, "^"), 1],
    ["81 extension characters", x(81, "^"), 2],
    ["153 extension characters, of which 76 fit into a segment", x(153, "^"), 3],
    ["an extension character across the border, which moves to the next", `${x(152)}€${x(152)}`, 3],
    ["an extension character that ends at the border", `${x(151)}€${x(153)}`, 2],
    ["160 letters with accents that GSM has", x(160, "é"), 1],
    ["160 Greek capitals that GSM has", x(160, "Ω"), 1],
    ["160 line breaks", x(160, "\n"), 1],
    ["70 UCS-2 characters", x(70, "я"), 1],
    ["71 UCS-2 characters", x(71, "я"), 2],
    ["134 UCS-2 characters (2 × 67)", x(134, "я"), 2],
    ["135 UCS-2 characters", x(135, "я"), 3],
    ["70 GSM characters and one that makes the text UCS-2", `${x(70)}ç`, 2],
    ["69 extension characters in UCS-2, where each takes one", `${x(69, "€")}я`, 1],
    ["35 emoji", x(35, "😀"), 1],
    ["36 emoji, of which 33 fit into a segment without a split", x(36, "😀"), 2],
    ["66 emoji", x(66, "😀"), 2],
    ["67 emoji", x(67, "😀"), 3],
    ["an emoji across the border, which moves to the next", `${x(66, "я")}😀${x(66, "я")}`, 3],
    ["an emoji that ends at the border", `${x(65, "я")}😀${x(67, "я")}`, 2],
  ])("of %s are counted", (_title, body, segments) => {
    expect(countSegments(body)).toBe(segments)
  })

  it("never become fewer when a text gets longer", () => {
    const unit = fc.constantFrom("x", "€", "^", "я", "😀")
    const texts = fc.string({ unit, maxLength: 400 })
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(countSegments(one + other)).toBeGreaterThanOrEqual(countSegments(one))
      }),
    )
  })

  it("are neither more nor fewer than the septets need", () => {
    const gsm = fc.string({ unit: fc.constantFrom("x", "€", "@", "\n"), maxLength: 1_600 })
    fc.assert(
      fc.property(gsm, (body) => {
        const septets = [...body].reduce((sum, c) => sum + (c === "€" ? 2 : 1), 0)
        const segments = countSegments(body)
        if (septets <= 160) expect(segments).toBe(1)
        // A two-septet character may leave one septet of a segment empty.
        else expect(segments).toBeGreaterThanOrEqual(Math.ceil(septets / 153))
        expect(segments).toBeLessThanOrEqual(Math.max(1, Math.ceil(septets / 152)))
      }),
    )
  })

  it("include the opt-out line, which is GSM", () => {
    expect(withOptOutLine("x")).toBe(`x\n${OPT_OUT_LINE}`)
    expect(countSegments(withOptOutLine(x(160 - OPT_OUT_LINE.length - 1)))).toBe(1)
    expect(countSegments(withOptOutLine(x(160 - OPT_OUT_LINE.length)))).toBe(2)
  })
})
