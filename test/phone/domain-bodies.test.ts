/** What the body of a text says, and how many segments it takes. */
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
  ])("%j stops", (body) => {
    expect(textKeywordOf(body, [])).toBe("stop")
  })

  it.each(["START", "UNSTOP", "YES", "yes!", " start\n", "ＳＴＡＲＴ", "\u200bYes"])(
    "%j starts",
    (body) => {
      expect(textKeywordOf(body, [])).toBe("start")
    },
  )

  it.each(["HELP", "INFO", "Help?", "info...", "ＨＥＬＰ？", "in\u200dfo"])(
    "%j asks for help",
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
  ])("%j is an ordinary text", (body) => {
    expect(textKeywordOf(body, [])).toBeNull()
  })

  it("are also the company's own, compared in the same way", () => {
    expect(textKeywordOf("Arrêt!", ["arrêt"])).toBe("stop")
    expect(textKeywordOf("no  more", ["No More"])).toBe("stop")
    expect(textKeywordOf("ＮＯ　ＭＯＲＥ", ["No More"])).toBe("stop")
    expect(textKeywordOf("no more", ["ＮＯ\u200b ＭＯＲＥ"])).toBe("stop")
    expect(textKeywordOf("arre\u0302t", ["arr\u00eat"])).toBe("stop")
    expect(textKeywordOf("arrêt", [])).toBeNull()
  })

  it("stay what they are where a company's own word says otherwise", () => {
    expect(textKeywordOf("yes", ["YES"])).toBe("start")
    expect(textKeywordOf("help", ["help"])).toBe("help")
  })

  it("are never nothing, even where a company's own word has only punctuation", () => {
    expect(textKeywordOf("", ["!"])).toBeNull()
    expect(textKeywordOf("?", ["!"])).toBeNull()
  })

  it("are compared without case, punctuation and outer space", () => {
    expect(normalizeKeyword(" Opt - out! ")).toBe("OPT OUT")
  })
})

describe("a text that tells how to stop", () => {
  it.each(["Reply STOP to opt out", "stop", "text stop!", "To end: Stop."])("%j", (body) => {
    expect(mentionsStop(body)).toBe(true)
  })

  it.each(["", "nonstop", "stopped", "unstop", "st op"])("is not %j", (body) => {
    expect(mentionsStop(body)).toBe(false)
  })
})

/** `n` times a character. */
const x = (n: number, character = "x"): string => character.repeat(n)

describe("segments", () => {
  it.each([
    ["nothing at all", "", 1],
    ["one character", "x", 1],
    ["160 septets", x(160), 1],
    ["161", x(161), 2],
    ["twice 153", x(306), 2],
    ["one more", x(307), 3],
    ["three times 153", x(459), 3],
    ["one more than that", x(460), 4],
    ["the longest text there is", x(1_600), 11],
    ["an extension character, which takes two", `${x(158)}€`, 1],
    ["one that no longer fits in 160", `${x(159)}€`, 2],
    ["eighty of them", x(80, "^"), 1],
    ["eighty-one", x(81, "^"), 2],
    ["76 of them and a half in the first of two: none is split", x(153, "^"), 3],
    ["one that would be split by the border, and moves on", `${x(152)}€${x(152)}`, 3],
    ["one that ends on the border", `${x(151)}€${x(153)}`, 2],
    ["letters with accents that GSM has", x(160, "é"), 1],
    ["Greek capitals that GSM has", x(160, "Ω"), 1],
    ["line ends", x(160, "\n"), 1],
    ["70 of UCS-2", x(70, "я"), 1],
    ["71", x(71, "я"), 2],
    ["twice 67", x(134, "я"), 2],
    ["one more of UCS-2", x(135, "я"), 3],
    ["one character that is not GSM makes all of it UCS-2", `${x(70)}ç`, 2],
    ["an extension character within UCS-2 takes one", `${x(69, "€")}я`, 1],
    ["35 emoji", x(35, "😀"), 1],
    ["36 emoji: 33 to a segment, for none is split", x(36, "😀"), 2],
    ["66 emoji", x(66, "😀"), 2],
    ["67 emoji", x(67, "😀"), 3],
    ["an emoji on the border, which moves on", `${x(66, "я")}😀${x(66, "я")}`, 3],
    ["an emoji that ends on the border", `${x(65, "я")}😀${x(67, "я")}`, 2],
  ])("of %s", (_what, body, segments) => {
    expect(countSegments(body)).toBe(segments)
  })

  it("never become fewer when a text goes on", () => {
    const unit = fc.constantFrom("x", "€", "^", "я", "😀")
    const texts = fc.string({ unit, maxLength: 400 })
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(countSegments(one + other)).toBeGreaterThanOrEqual(countSegments(one))
      }),
    )
  })

  it("hold what they say they hold", () => {
    const gsm = fc.string({ unit: fc.constantFrom("x", "€", "@", "\n"), maxLength: 1_600 })
    fc.assert(
      fc.property(gsm, (body) => {
        const septets = [...body].reduce((sum, c) => sum + (c === "€" ? 2 : 1), 0)
        const segments = countSegments(body)
        if (septets <= 160) expect(segments).toBe(1)
        // A character of two septets may leave one septet of a segment empty.
        else expect(segments).toBeGreaterThanOrEqual(Math.ceil(septets / 153))
        expect(segments).toBeLessThanOrEqual(Math.max(1, Math.ceil(septets / 152)))
      }),
    )
  })

  it("count the opt-out line, which stays GSM", () => {
    expect(withOptOutLine("x")).toBe(`x\n${OPT_OUT_LINE}`)
    expect(countSegments(withOptOutLine(x(160 - OPT_OUT_LINE.length - 1)))).toBe(1)
    expect(countSegments(withOptOutLine(x(160 - OPT_OUT_LINE.length)))).toBe(2)
  })
})
