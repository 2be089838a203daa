/** What a company file may say, and what is said of one that says something else. */
import { describe, expect, it } from "vitest"
import { parseCompanyFile } from "../../src/publishing/company-file.ts"

const read = (more: object) =>
  parseCompanyFile(Buffer.from(JSON.stringify({ company: "acme", ...more })))

describe("a company file", () => {
  it("says how a site is built, with plain paths", () => {
    const says = {
      root: "./web/",
      install: "npm ci",
      build: "make",
      static: "dist",
      fallback: "i.html",
    }
    expect(read({ ...says, env: { A: "1" } })).toEqual({
      company: "acme",
      recipe: {
        root: "web",
        install: "npm ci",
        build: "make",
        env: { A: "1" },
        serves: { kind: "static", folder: "dist", fallback: "i.html" },
      },
    })
  })

  it("says how an app is started, and nothing more than that", () => {
    expect(read({ start: "node ." })).toEqual({
      company: "acme",
      recipe: {
        root: ".",
        install: null,
        build: null,
        env: {},
        serves: { kind: "app", start: "node .", release: null, health: "/" },
      },
    })
  })

  it.each<[object, RegExp]>([
    [{}, /exactly one of static and start/],
    [{ static: "a", start: "b" }, /exactly one of static and start/],
    [{ static: "../x" }, /static must be a relative path/],
    [{ static: "/etc" }, /static must be a relative path/],
    [{ static: "a", root: "x/../../y" }, /root must be a relative path/],
    [{ static: "a", health: "/" }, /release and health need start/],
    [{ start: "a", fallback: "x.html" }, /fallback needs static/],
    [{ start: "a", health: "//evil\nX: y" }, /health must be a path/],
    [
      { static: "a", buildCommand: "x", cleanUrls: true },
      /unknown fields: buildCommand, cleanUrls/,
    ],
    [{ start: "a", env: { PORT: "1" } }, /must not contain PORT/],
    [{ start: "a", env: { "A-B": "1" } }, /must have names such as/],
    [{ start: "" }, /start must not be empty/],
  ])("is not taken where it says %j", (more, says) => {
    const found = read(more)
    expect("fault" in found ? found.fault : null).toMatch(says)
  })

  it.each([
    ["no JSON", "{", "is not JSON"],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), "is not JSON"],
    ["a list", "[]", "is invalid: it is not an object"],
    [
      "a name that is a number",
      '{"company":7,"static":"a"}',
      "is invalid: company is missing, or has the wrong type",
    ],
    [
      "more variables than there may be",
      JSON.stringify({
        company: "a",
        start: "b",
        env: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`A${n}`, ""])),
      }),
      "is invalid: env must have at most 64 variables",
    ],
  ])("is not taken where it is %s", (_what, content, says) => {
    expect(parseCompanyFile(Buffer.from(content as string))).toEqual({ fault: says })
  })
})
