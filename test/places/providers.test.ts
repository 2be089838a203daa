/** The address providers: their common behavior, and the requests to the real ones. */
import type { Simulators } from "../../adapters/providers/simulators/port.ts"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { openSimulatedPlaces, createTextSearch } from "../../adapters/providers/places/simulator.ts"
import { openGooglePlaces } from "../../adapters/providers/places/google.ts"
import { openPhotonPlaces } from "../../adapters/providers/places/photon.ts"
import type { PlaceLookup, PlacesProvider } from "../../adapters/providers/places/port.ts"
import { PlacesMisconfigured } from "../../adapters/providers/places/port.ts"
import { openMemorySealing } from "../../adapters/sealing/postgres.ts"
import { startGooglePlaces, startPhoton } from "./place-servers.ts"
import { placesSettings } from "../../src/places/settings.ts"
import { partialFake } from "../support/partial-fake.ts"

const KEY = "AIza-a-key-of-a-test"
const LOOKUP: PlaceLookup = { companyId: "co_a", session: "0195f3c8-1111-4222-8333-444455556666" }

const google = await startGooglePlaces(KEY)
const photon = await startPhoton()
const sealing = openMemorySealing()
const simulators = partialFake<Simulators>({ nextOutcome: async () => "ok" })
afterAll(async () => {
  await google.close()
  await photon.close()
})
afterEach(() => {
  for (const server of [google, photon]) {
    server.nextReply = null
    server.requests.splice(0)
  }
})

const openSimulator = () =>
  openSimulatedPlaces({ simulators, pacer: { elapsedMs: () => 0, pause: async () => undefined } })
const openGoogle = (key = KEY) => openGooglePlaces({ key, url: google.url })
const openPhoton = () => openPhotonPlaces({ url: photon.url, sealing })

describe.each([
  ["simulator", openSimulator],
  ["Google", openGoogle],
  ["Photon", openPhoton],
] as const)("the provider %s", (_name, open) => {
  it("suggests up to five places, and has the address of each", async () => {
    const places: PlacesProvider = open()
    const found = await places.suggest("12 maple stre", LOOKUP)
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThanOrEqual(5)
    for (const { placeId, main, secondary } of found) {
      expect(placeId.length).toBeLessThanOrEqual(1_000)
      expect(main).toContain("Maple Street")
      expect(secondary).not.toBe("")
      const address = await places.findAddress(placeId, LOOKUP)
      expect(address).toMatchObject({ country: "US" })
      expect(address?.line1).toContain("Maple Street")
      expect(Object.keys(address ?? {}).toSorted()).toEqual([
        "city",
        "country",
        "formatted",
        "lat",
        "line1",
        "lng",
        "state",
        "zip",
      ])
    }
  })

  it.for([
    "../..?key=",
    "nothing",
    "demo_99999",
    "ph_AAAA",
    "x".repeat(1_000),
    "%2e%2e",
    "places/a",
  ])("has no address for the place %s", async (placeId) => {
    expect(await open().findAddress(placeId, LOOKUP)).toBeNull()
  })
})

describe.each([
  ["Google", () => google, openGoogle],
  ["Photon", () => photon, openPhoton],
] as const)("%s", (_name, server, open) => {
  // Google is called by POST, whose outcome is unknown at these statuses; Photon by GET, which changes nothing.
  const busy = open === openGoogle ? ProviderOutcomeUnknown : ProviderUnavailable
  it.for([
    ["429", { status: 429, body: {} }, ProviderUnavailable],
    ["500", { status: 500, body: "<html>" }, busy],
    ["a redirect", { status: 302, body: "" }, busy],
    ["HTML", { status: 200, body: "<html></html>" }, ProviderUnavailable],
    ["another form", { status: 200, body: [] }, PlacesMisconfigured],
    ["400", { status: 400, body: {} }, PlacesMisconfigured],
    ["10 MB", "too much", ProviderOutcomeUnknown],
    ["with a closed connection", "hangs up", ProviderOutcomeUnknown],
  ] as const)("fails if it answers %s", async ([, next, fault]) => {
    server().nextReply = next
    await expect(open().suggest("12 map", LOOKUP)).rejects.toBeInstanceOf(fault)
  })

  it("is unavailable if nothing listens at its address", async () => {
    const closed = await startPhoton()
    const { url } = closed
    await closed.close()
    const unreachable =
      open === openGoogle ? openGooglePlaces({ key: KEY, url }) : openPhotonPlaces({ url, sealing })
    await expect(unreachable.suggest("12 map", LOOKUP)).rejects.toBeInstanceOf(ProviderUnavailable)
  })
})

describe("Google", () => {
  it("gets the input, the session and nothing about the company; a pick requests only the fields it needs", async () => {
    await openGoogle().suggest("12 map", LOOKUP)
    const address = await openGoogle().findAddress("ChIJ-maple_12", LOOKUP)
    const [suggested, picked] = google.requests
    expect(JSON.parse(suggested?.body ?? "")).toEqual({
      input: "12 map",
      sessionToken: LOOKUP.session,
      includedRegionCodes: ["us"],
      languageCode: "en",
    })
    expect(picked?.query.get("sessionToken")).toBe(LOOKUP.session)
    expect(picked?.headers["x-goog-fieldmask"]).toBe(
      "id,formattedAddress,addressComponents,location",
    )
    expect(JSON.stringify(google.requests)).not.toContain("co_a")
    expect(address).toEqual({
      line1: "12 Maple Street",
      city: "Riverton",
      state: "KY",
      zip: "40218-1234",
      country: "US",
      lat: 38.19,
      lng: -85.67,
      formatted: "12 Maple St, Riverton, KY 40218-1234, USA",
    })
  })

  it("finds no address for a place ID that has expired", async () => {
    expect(await openGoogle().findAddress("gone", LOOKUP)).toBeNull()
  })

  it("leaves missing parts of an address empty, and rejects impossible coordinates", async () => {
    const place = { id: "a", location: { latitude: 38.19, longitude: -85.67 } }
    google.nextReply = { status: 200, body: place }
    expect(await openGoogle().findAddress("a", LOOKUP)).toEqual({
      line1: "",
      city: "",
      state: "",
      zip: "",
      country: "",
      formatted: "",
      lat: 38.19,
      lng: -85.67,
    })
    google.nextReply = {
      status: 200,
      body: { ...place, location: { latitude: -118.2, longitude: 34 } },
    }
    await expect(openGoogle().findAddress("a", LOOKUP)).rejects.toBeInstanceOf(ProviderUnavailable)
  })

  it("names the setting to check if it rejects the key", async () => {
    const suggestions = openGoogle("another").suggest("12 map", LOOKUP)
    await expect(suggestions).rejects.toThrow("check PLACES_GOOGLE_KEY")
  })
})

describe("Photon", () => {
  it("is queried for houses and streets; a pick needs no request, and works only for its company", async () => {
    const [house, street] = await openPhoton().suggest("12 map", LOOKUP)
    expect(photon.requests.map(({ query }) => query.toString())).toEqual([
      "q=12+map&limit=5&lang=en&layer=house&layer=street",
    ])
    const placeId = house?.placeId ?? ""
    expect(await openPhoton().findAddress(placeId, LOOKUP)).toEqual({
      line1: "12 Maple Street",
      city: "Riverton",
      state: "Kentucky",
      zip: "40218",
      country: "US",
      lat: 38.19,
      lng: -85.67,
      formatted: "12 Maple Street, Riverton, Kentucky 40218, US",
    })
    expect(street).toMatchObject({ main: "Maple Street", secondary: "Riverton, Kentucky" })
    expect(photon.requests).toHaveLength(1)
    expect(await openPhoton().findAddress(placeId, { ...LOOKUP, companyId: "co_b" })).toBeNull()
    const changed = `${placeId.slice(0, -3)}AAA`
    expect(await openPhoton().findAddress(changed, LOOKUP)).toBeNull()
  })

  it("skips features without an address, and accepts numbers and nulls for texts", async () => {
    const properties = { housenumber: 12, street: "Elm Street", postcode: 40218, city: null }
    const at = (coordinates: unknown, of: object = properties) => ({
      geometry: { coordinates },
      properties: of,
    })
    const line = [[1, 2], [3, 4]] // prettier-ignore
    const features = [at(line), at([38.19, -118.2]), at([1, 2], {}), at([-85.6, 38.1, 30]), null]
    photon.nextReply = { status: 200, body: { features } }
    const found = await openPhoton().suggest("12 elm", LOOKUP)
    expect(found).toMatchObject([{ main: "12 Elm Street", secondary: "40218" }])
    expect(await openPhoton().findAddress(found[0]?.placeId ?? "", LOOKUP)).toMatchObject({
      zip: "40218",
      city: "",
      lat: 38.1,
      lng: -85.6,
    })
  })
})

describe("simulated addresses", () => {
  it.for([
    ["12 mapel stret riverton", "12 Maple Street, Riverton Mills, KY 00018"],
    ["washngton av salem falls", "Washington Avenue, Salem Falls, MA 00019"],
    ["1 Main St, Eastwick", "1 Main Street, Eastwick, NJ 00005"],
    ["wilow lane thist", "Willow Lane, Thistledown, MT 00020"],
    ["221B OAK court dunmore", "221b Oak Court, Dunmore Heights, NY 00004"],
    ["12 mapel stret", "12 Maple Street, Eastwick, NJ 00005"],
    ["12 mpale street", "12 Maple Street, Eastwick, NJ 00005"],
    ["Oak Street 12", "12 Oak Street, Eastwick, NJ 00005"],
    ["12-14 oak street", "12-14 Oak Street, Eastwick, NJ 00005"],
    ["Oak Street 00012", "Oak Street, Larkmont, GA 00012"],
  ] as const)(
    "are found by parts of words and despite typing errors: %s",
    async ([input, found]) => {
      const [first] = await openSimulator().suggest(input, LOOKUP)
      expect(`${first?.main}, ${first?.secondary}`).toBe(found)
    },
  )

  it.for(["qqqq zzz", "日本", "12", "-", "1600 Pennsylvania Avenue", "😀".repeat(200)])(
    "contain no match for %s",
    async (input) => {
      expect(await openSimulator().suggest(input, LOOKUP)).toEqual([])
    },
  )

  it("do not exist: their ZIP codes were never assigned, and they lie in the open sea", async () => {
    for (const placeId of ["demo_0", "demo_5999_1", "demo_11999_221b"]) {
      const address = await openSimulator().findAddress(placeId, LOOKUP)
      expect(address?.zip).toMatch(/^000\d\d$/)
      expect(address?.lat).toBeLessThan(-48)
      expect(address?.lng).toBeLessThan(-123)
    }
    expect(await openSimulator().findAddress("demo_12000", LOOKUP)).toBeNull()
  })
})

describe("the text search", () => {
  it("finds texts that share parts with the query, the closest first", () => {
    const { find } = createTextSearch(["elm street", "oak street", "elm road"])
    expect(find("elm st", 5)).toEqual([0, 2])
    expect(find("street", 5)).toEqual([0, 1])
    expect(find("", 5)).toEqual([])
  })
})

const read = (given: Record<string, string>) => placesSettings.schema.safeParse(given)
const SET_KEY = "AIza-a-key-of-a-test-000"

describe("the settings of address lookups", () => {
  it("cache a pick for a day by default", () => {
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
  ] as const)("are rejected: %j", (given) => {
    const { error } = read(given)
    expect(error?.issues.map(({ message }) => message.slice(0, 5))).toEqual(["must "])
  })

  it("choose one provider at most", () => {
    const both = { PLACES_GOOGLE_KEY: SET_KEY, PLACES_PHOTON_URL: "https://photon.example.com" }
    expect(read(both).success).toBe(true)
    expect(placesSettings.faults?.(both)).toEqual([
      "PLACES_GOOGLE_KEY and PLACES_PHOTON_URL choose two providers. Set only one of them.",
    ])
    expect(placesSettings.faults?.({ PLACES_GOOGLE_KEY: SET_KEY })).toEqual([])
  })
})
