/** Redirects after a sign-in stay on the same host, and forms must come from it. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isSameOrigin, sameHostPath } from "../../src/frame/sign-in/codes.ts"

describe("the path after a sign-in", () => {
  it.for([
    ["/", "/"],
    ["/a/b?c=d&e=%2F", "/a/b?c=d&e=%2F"],
    ["/a b", "/a%20b"],
    ["/caf\u00e9", "/caf%C3%A9"],
  ])("is %s", ([next, path]) => {
    expect(sameHostPath(next ?? null)).toBe(path)
  })

  it.for([
    "",
    "a",
    "//evil.test",
    "/\\evil.test",
    "\\/evil.test",
    "https://evil.test",
    "/\t/evil.test",
    "/\n/evil.test",
    "/a\r\nset-cookie: a=b",
    "/.//evil.test",
    "/a/..//evil.test",
    "javascript:x",
    "/%2e//evil.test",
    "/a\\..\\\\evil.test",
    "/\u0000",
    " //evil.test",
  ])("is / instead of %j", (next) => {
    expect(sameHostPath(next)).toBe("/")
  })

  it("is always on the same host", () => {
    const piece = fc.constantFrom(
      "/",
      "\\",
      ".",
      "..",
      "%2e",
      "%2f",
      "\t",
      "evil.test",
      ":",
      "@",
      "?",
      "#",
      "http:",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const to = new URL(sameHostPath(pieces.join("")), "https://own.test/x/y")
        expect(to.origin).toBe("https://own.test")
      }),
      { numRuns: 2_000 },
    )
  })
})

describe("a form", () => {
  it("is accepted only from a page of the same host", () => {
    expect(isSameOrigin("http://a.test:80", "a.test")).toBe(true)
    expect(isSameOrigin("https://a.test:8443", "A.test:8443")).toBe(true)
    for (const origin of [
      undefined,
      "null",
      "",
      "https://b.test",
      "https://a.test.evil.test",
      "a.test",
    ]) {
      expect(isSameOrigin(origin, "a.test")).toBe(false)
    }
    expect(isSameOrigin("https://a.test", undefined)).toBe(false)
  })
})
