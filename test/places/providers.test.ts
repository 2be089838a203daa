/** The providers of addresses: what they have alike, and how the real ones are asked. */
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
const LOOK_UP: PlaceLookup = { companyId: "co_a", session: "0195f3c8-1111-4222-8333-444455556666" }

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

const builtIn = () =>
  openSimulatedPlaces({ simulators, pacer: { elapsedMs: () => 0, pause: async () => undefined } })
const ofGoogle = (key = KEY) => openGooglePlaces({ key, url: google.url })
const ofPhoton = () => openPhotonPlaces({ url: photon.url, sealing })

describe.each([
  ["built in", builtIn],
  ["Google", ofGoogle],
  ["Photon", ofPhoton],
] as const)("the provider that is %s", (_name, open) => {
  it("suggests up to five places, and knows the address of each", async () => {
    const places: PlacesProvider = open()
    const found = await places.suggest("12 maple stre", LOOK_UP)
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThanOrEqual(5)
    for (const { placeId, main, secondary } of found) {
      expect(placeId.length).toBeLessThanOrEqual(1_000)
      expect(main).toContain("Maple Street")
      expect(secondary).not.toBe("")
      const address = await places.findAddress(placeId, LOOK_UP)
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
  ])("knows no place %s", async (placeId) => {
    expect(await open().findAddress(placeId, LOOK_UP)).toBeNull()
  })
})

describe.each([
  ["Google", () => google, ofGoogle],
  ["Photon", () => photon, ofPhoton],
] as const)("%s", (_name, server, open) => {
  // Google is asked by POST, whose outcome is unknown at these; Photon by GET, which does nothing.
  const busy = open === ofGoogle ? ProviderOutcomeUnknown : ProviderUnavailable
  it.for([
    ["429", { status: 429, body: {} }, ProviderUnavailable],
    ["500", { status: 500, body: "<html>" }, busy],
    ["a redirect", { status: 302, body: "" }, busy],
    ["HTML", { status: 200, body: "<html></html>" }, ProviderUnavailable],
    ["another form", { status: 200, body: [] }, PlacesMisconfigured],
    ["that it was asked wrongly", { status: 400, body: {} }, PlacesMisconfigured],
    ["10 MB", "too much", ProviderOutcomeUnknown],
    ["nothing, and hangs up", "hangs up", ProviderOutcomeUnknown],
  ] as const)("that answers %s has nothing for us", async ([, next, fault]) => {
    server().nextReply = next
    await expect(open().suggest("12 map", LOOK_UP)).rejects.toBeInstanceOf(fault)
  })

  it("that is not there is not available", async () => {
    const gone = await startPhoton()
    const { url } = gone
    await gone.close()
    const away =
      open === ofGoogle ? openGooglePlaces({ key: KEY, url }) : openPhotonPlaces({ url, sealing })
    await expect(away.suggest("12 map", LOOK_UP)).rejects.toBeInstanceOf(ProviderUnavailable)
  })
})

describe("Google", () => {
  it("is told what was typed, the session and nothing of who asks; a pick names the fields it needs", async () => {
    await ofGoogle().suggest("12 map", LOOK_UP)
    const address = await ofGoogle().findAddress("ChIJ-maple_12", LOOK_UP)
    const [suggested, picked] = google.requests
    expect(JSON.parse(suggested?.body ?? "")).toEqual({
      input: "12 map",
      sessionToken: LOOK_UP.session,
      includedRegionCodes: ["us"],
      languageCode: "en",
    })
    expect(picked?.query.get("sessionToken")).toBe(LOOK_UP.session)
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

  it("that knows no such place any more says so", async () => {
    expect(await ofGoogle().findAddress("gone", LOOK_UP)).toBeNull()
  })

  it("leaves empty what an address has not, and takes no coordinates that are none", async () => {
    const place = { id: "a", location: { latitude: 38.19, longitude: -85.67 } }
    google.nextReply = { status: 200, body: place }
    expect(await ofGoogle().findAddress("a", LOOK_UP)).toEqual({
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
    await expect(ofGoogle().findAddress("a", LOOK_UP)).rejects.toBeInstanceOf(ProviderUnavailable)
  })

  it("with a key that it does not know is a fault of the settings", async () => {
    const asked = ofGoogle("another").suggest("12 map", LOOK_UP)
    await expect(asked).rejects.toThrow("check PLACES_GOOGLE_KEY")
  })
})

describe("Photon", () => {
  it("is asked for houses and streets; a pick asks nobody, and is its company's own", async () => {
    const [house, street] = await ofPhoton().suggest("12 map", LOOK_UP)
    expect(photon.requests.map(({ query }) => query.toString())).toEqual([
      "q=12+map&limit=5&lang=en&layer=house&layer=street",
    ])
    const placeId = house?.placeId ?? ""
    expect(await ofPhoton().findAddress(placeId, LOOK_UP)).toEqual({
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
    expect(await ofPhoton().findAddress(placeId, { ...LOOK_UP, companyId: "co_b" })).toBeNull()
    const changed = `${placeId.slice(0, -3)}AAA`
    expect(await ofPhoton().findAddress(changed, LOOK_UP)).toBeNull()
  })

  it("leaves out what is no place with an address, and takes what is said otherwise", async () => {
    const properties = { housenumber: 12, street: "Elm Street", postcode: 40218, city: null }
    const at = (coordinates: unknown, of: object = properties) => ({
      geometry: { coordinates },
      properties: of,
    })
    const line = [[1, 2], [3, 4]] // prettier-ignore
    const features = [at(line), at([38.19, -118.2]), at([1, 2], {}), at([-85.6, 38.1, 30]), null]
    photon.nextReply = { status: 200, body: { features } }
    const found = await ofPhoton().suggest("12 elm", LOOK_UP)
    expect(found).toMatchObject([{ main: "12 Elm Street", secondary: "40218" }])
    expect(await ofPhoton().findAddress(found[0]?.placeId ?? "", LOOK_UP)).toMatchObject({
      zip: "40218",
      city: "",
      lat: 38.1,
      lng: -85.6,
    })
  })
})

describe("the built-in addresses", () => {
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
    "are found by parts of words and with a slip of the finger: %s",
    async ([input, found]) => {
      const [first] = await builtIn().suggest(input, LOOK_UP)
      expect(`${first?.main}, ${first?.secondary}`).toBe(found)
    },
  )

  it.for(["qqqq zzz", "日本", "12", "-", "1600 Pennsylvania Avenue", "😀".repeat(200)])(
    "hold nothing like %s",
    async (input) => {
      expect(await builtIn().suggest(input, LOOK_UP)).toEqual([])
    },
  )

  it("are nowhere: ZIP codes that were never assigned, in the open sea", async () => {
    for (const placeId of ["demo_0", "demo_5999_1", "demo_11999_221b"]) {
      const address = await builtIn().findAddress(placeId, LOOK_UP)
      expect(address?.zip).toMatch(/^000\d\d$/)
      expect(address?.lat).toBeLessThan(-48)
      expect(address?.lng).toBeLessThan(-123)
    }
    expect(await builtIn().findAddress("demo_12000", LOOK_UP)).toBeNull()
  })

  it("are found by what two texts have in common, the nearest first", () => {
    const { find } = createTextSearch(["elm street", "oak street", "elm road"])
    expect(find("elm st", 5)).toEqual([0, 2])
    expect(find("street", 5)).toEqual([0, 1])
    expect(find("", 5)).toEqual([])
  })
})

const read = (given: Record<string, string>) => placesSettings.schema.safeParse(given)
const SET_KEY = "AIza-a-key-of-a-test-000"

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
    const both = { PLACES_GOOGLE_KEY: SET_KEY, PLACES_PHOTON_URL: "https://photon.example.com" }
    expect(read(both).success).toBe(true)
    expect(placesSettings.faults?.(both)).toEqual([
      "PLACES_GOOGLE_KEY and PLACES_PHOTON_URL choose two providers. Set only one of them.",
    ])
    expect(placesSettings.faults?.({ PLACES_GOOGLE_KEY: SET_KEY })).toEqual([])
  })
})
