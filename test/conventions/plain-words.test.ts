/** The words that the project avoids, in names, comments, messages and documents. */
import { describe, expect, it } from "vitest"
import { avoidedWords } from "./plain-words.ts"
import { readTree } from "./source-tree.ts"

/** Parts of lines that may have an avoided word, by file. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  // Stored values: the scope of a claim without a person, and the storage company of codes without a company.
  "src/frame/routes/idempotency/idempotency.ts": ['"nobody"'],
  "src/frame/sign-in/codes.ts": ["co_nobody"],
  "test/audit/tampering.postgres.test.ts": ["co_nobody"],
  // Street names of the address simulator.
  "adapters/providers/places/simulator.ts": ["Orchard Park Pine", "Avenue Road Lane"],
  // The user of `/etc/passwd`.
  "adapters/sandbox/boxhost/bubblewrap/sandbox-policy.ts": ["nobody:x:65534"],
  // A surname in an example.
  "console/pages/phone/business-section.tsx": ['repLastName: "Lane"'],
  "src/registration/save-business.ts": ['repLastName: "Lane"'],
  // A privacy policy's words that the check looks for.
  "src/registration/sharing-statements.ts": ["us|nobody|no one"],
  // A street name of the address simulator.
  "test/places/providers.test.ts": ["wilow lane thist"],
  // Telnyx's name for the state of an incoming call.
  "test/support/telnyx-call-server.ts": ['state: "parked"'],
  // A sentence of a privacy policy, which the check must understand.
  "test/registration/page-problems.test.ts": ["shares its kitchen with nobody"],
}

const EXTENSIONS = [".ts", ".tsx", ".mjs", ".cjs", ".md", ".yaml", ".yml", ".conf", ".service"]
const GENERATED =
  /^(console\/api\/document\.d\.ts|docs\/licenses\.md|test\/conventions\/plain-words)/

const files = readTree(["."], EXTENSIONS).filter(({ path }) => !GENERATED.test(path))

const faultsOf = (text: string) => avoidedWords({ path: "a.ts", text })

describe("an avoided word", () => {
  it.each([
    ["// Nobody waits.", "nobody"],
    ["const answersNobody = 1", "nobody"],
    ["it is told of", "told"],
    ["gave it a stand-in", "stand-in"],
    ["money is given back", "give back"],
    ["isParked", "parked"],
    ["the lanes", "lane"],
    ["two at once", "at once"],
  ])("is found in %s", (text, word) => {
    expect(faultsOf(text)).toEqual([expect.stringContaining(`"${word}"`)])
  })

  it.each(["an amendment", "the planes", "a place that is kept", "for recommended use", "besides"])(
    "is not found in %s",
    (text) => {
      expect(faultsOf(text)).toEqual([])
    },
  )

  it("is in no file", () => {
    expect(files.length).toBeGreaterThan(100)
    expect(files.flatMap((file) => avoidedWords(file, EXCEPTIONS))).toEqual([])
  })

  it("has no unneeded exception", () => {
    const unneeded = Object.entries(EXCEPTIONS).filter(
      ([path]) =>
        files.filter((file) => file.path === path).flatMap((file) => avoidedWords(file)).length ===
        0,
    )
    expect(unneeded).toEqual([])
  })
})
