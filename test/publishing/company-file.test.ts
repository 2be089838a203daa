/** Valid company files, and the faults of invalid ones. */
import { describe, expect, it } from "vitest"
import { parseCompanyFile } from "../../src/publishing/company-file.ts"

const read = (more: object) =>
  parseCompanyFile(Buffer.from(JSON.stringify({ company: "acme", ...more })))

describe("a company file", () => {
  it("describes the build of a site, with normalized paths", () => {
    const fields = {
      root: "./web/",
      install: "npm ci",
      build: "make",
      static: "dist",
      fallback: "i.html",
    }
    expect(read({ ...fields, env: { A: "1" } })).toEqual({
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

  it("may have only the start of an app", () => {
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
    [{ start: "a", env: { PORT: "1" } }, /must not be PORT/],
    [{ start: "a", env: { "A-B": "1" } }, /must be a variable name such as/],
    [{ start: "" }, /start must not be empty/],
  ])("is refused with %j", (more, fault) => {
    const found = read(more)
    expect("fault" in found ? found.fault : null).toMatch(fault)
  })

  it.each([
    ["not JSON", "{", "is not JSON"],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "is not JSON"],
    ["a list", "[]", "is invalid: it is not an object"],
    [
      "an object with a number as company",
      '{"company":7,"static":"a"}',
      "is invalid: company is missing, or has the wrong type",
    ],
    [
      "an object with too many variables",
      JSON.stringify({
        company: "a",
        start: "b",
        env: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`A${n}`, ""])),
      }),
      "is invalid: env can have at most 64 variables",
    ],
  ])("is refused if it is %s", (_what, content, fault) => {
    expect(parseCompanyFile(Buffer.from(content as string))).toEqual({ fault })
  })
})
