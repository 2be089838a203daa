/** The settings of address look-ups: refused at start with a sentence where they are not whole. */
import { describe, expect, it } from "vitest"
import { placesSettings } from "../../src/places/settings.ts"

const read = (given: Record<string, string>) => placesSettings.schema.safeParse(given)
const KEY = "AIza-a-key-of-a-test-000"

describe("the settings of address look-ups", () => {
  it("keep a pick for a day where nothing is said", () => {
    expect(read({}).data).toEqual({ PLACES_KEEP: 86_400_000 })
    expect(read({ PLACES_KEEP: "30m" }).data).toEqual({ PLACES_KEEP: 1_800_000 })
  })

  it.for([
    { PLACES_KEEP: "25h" },
    { PLACES_KEEP: "0m" },
    { PLACES_KEEP: "1d" },
    { PLACES_KEEP: "" },
    { PLACES_GOOGLE_KEY: "short" },
    { PLACES_GOOGLE_KEY: "a key with spaces in it, long" },
    { PLACES_PHOTON_URL: "photon.example.com" },
    { PLACES_PHOTON_URL: "ftp://photon.example.com" },
    { PLACES_PHOTON_URL: "https://user:secret@photon.example.com" },
    { PLACES_PHOTON_URL: "https://photon.example.com/?key=abc" },
    { PLACES_PHOTON_URL: "https://photon.example.com/#a" },
  ] as const)("are refused: %j", (given) => {
    const { error } = read(given)
    expect(error?.issues.map(({ message }) => message.slice(0, 5))).toEqual(["must "])
  })

  it("name one provider", () => {
    const both = { PLACES_GOOGLE_KEY: KEY, PLACES_PHOTON_URL: "https://photon.example.com" }
    expect(read(both).success).toBe(true)
    expect(placesSettings.faults?.(both)).toEqual([
      "PLACES_GOOGLE_KEY and PLACES_PHOTON_URL name two providers of addresses: set one.",
    ])
    expect(placesSettings.faults?.({ PLACES_GOOGLE_KEY: KEY })).toEqual([])
  })
})
