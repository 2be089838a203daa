import { describe, expect, it } from "vitest"
import { keywordForm, keywordOf, saysStop } from "../../domain/phone/keywords.ts"

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
    expect(keywordOf(body, [])).toBe("stop")
  })

  it.each(["START", "UNSTOP", "YES", "yes!", " start\n", "ＳＴＡＲＴ", "\u200bYes"])(
    "%j starts",
    (body) => {
      expect(keywordOf(body, [])).toBe("start")
    },
  )

  it.each(["HELP", "INFO", "Help?", "info...", "ＨＥＬＰ？", "in\u200dfo"])(
    "%j asks for help",
    (body) => {
      expect(keywordOf(body, [])).toBe("help")
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
    expect(keywordOf(body, [])).toBeNull()
  })

  it("are also the company's own, compared in the same way", () => {
    expect(keywordOf("Arrêt!", ["arrêt"])).toBe("stop")
    expect(keywordOf("no  more", ["No More"])).toBe("stop")
    expect(keywordOf("ＮＯ　ＭＯＲＥ", ["No More"])).toBe("stop")
    expect(keywordOf("no more", ["ＮＯ\u200b ＭＯＲＥ"])).toBe("stop")
    expect(keywordOf("arre\u0302t", ["arr\u00eat"])).toBe("stop")
    expect(keywordOf("arrêt", [])).toBeNull()
  })

  it("stay what they are where a company's own word says otherwise", () => {
    expect(keywordOf("yes", ["YES"])).toBe("start")
    expect(keywordOf("help", ["help"])).toBe("help")
  })

  it("are never nothing, even where a company's own word has only punctuation", () => {
    expect(keywordOf("", ["!"])).toBeNull()
    expect(keywordOf("?", ["!"])).toBeNull()
  })

  it("are compared without case, punctuation and outer space", () => {
    expect(keywordForm(" Opt - out! ")).toBe("OPT OUT")
  })
})

describe("a text that tells how to stop", () => {
  it.each(["Reply STOP to opt out", "stop", "text stop!", "To end: Stop."])("%j", (body) => {
    expect(saysStop(body)).toBe(true)
  })

  it.each(["", "nonstop", "stopped", "unstop", "st op"])("is not %j", (body) => {
    expect(saysStop(body)).toBe(false)
  })
})
