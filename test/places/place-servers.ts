/** Simulated servers of Google Places (New) and Photon: the endpoints that we call, as documented. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface ReceivedPlaceRequest {
  readonly call: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** The next reply, or how the server fails to reply. */
export type PlaceServerReply =
  | { readonly status: number; readonly body: string | object }
  | "hangs up"
  | "says nothing"
  | "too much"

export interface PlaceServer {
  readonly url: string
  readonly requests: ReceivedPlaceRequest[]
  /** Null: it answers as documented. */
  nextReply: PlaceServerReply | null
  readonly close: () => Promise<void>
}

type Answer = { readonly status: number; readonly body: string | object }

/** Starts a server on a free loopback port. */
async function start(answer: (received: ReceivedPlaceRequest) => Answer): Promise<PlaceServer> {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://places.test")
    const received = {
      call: `${request.method} ${pathname}`,
      query: searchParams,
      headers: request.headers,
      body: Buffer.concat(pieces).toString(),
    }
    state.requests.push(received)
    const { nextReply } = state
    if (nextReply === "says nothing") return
    if (nextReply === "hangs up") return void response.destroy()
    if (nextReply === "too much") {
      response.writeHead(200, { "content-type": "application/json" })
      const piece = " ".repeat(65_536)
      for (let i = 0; i < 160 && !response.destroyed; i += 1) response.write(piece)
      return void response.end("{}")
    }
    const { status, body } = nextReply ?? answer(received)
    response.writeHead(status, { "content-type": "application/json" })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const state: PlaceServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    nextReply: null,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return state
}

const component = (types: readonly string[], longText: string, shortText = longText) => ({
  longText,
  shortText,
  types,
  languageCode: "en",
})
const PLACE = {
  id: "ChIJ-maple_12",
  formattedAddress: "12 Maple St, Riverton, KY 40218-1234, USA",
  addressComponents: [
    component(["street_number"], "12"),
    component(["route"], "Maple Street", "Maple St"),
    component(["locality", "political"], "Riverton"),
    component(["administrative_area_level_1", "political"], "Kentucky", "KY"),
    component(["country", "political"], "United States", "US"),
    component(["postal_code"], "40218"),
    component(["postal_code_suffix"], "1234"),
  ],
  location: { latitude: 38.19, longitude: -85.67 },
}
const refused = (status: number, code: string, message: string) => ({
  status,
  body: { error: { code: status, message, status: code } },
})

/** Google Places (New): requires a key and a field mask, and suggests places and searches. */
export const startGooglePlaces = (key: string): Promise<PlaceServer> =>
  start(({ call, headers }) => {
    if (headers["x-goog-api-key"] !== key) {
      return refused(403, "PERMISSION_DENIED", "The caller does not have permission")
    }
    if (call === "POST /v1/places:autocomplete") {
      const text = { text: "12 Maple Street", matches: [{ endOffset: 6 }] }
      const structuredFormat = { mainText: text, secondaryText: { text: "Riverton, KY, USA" } }
      const suggestions = [
        { placePrediction: { place: `places/${PLACE.id}`, placeId: PLACE.id, structuredFormat } },
        { queryPrediction: { text: { text: "maple syrup" } } },
      ]
      return { status: 200, body: { suggestions } }
    }
    if (headers["x-goog-fieldmask"] === undefined) {
      return refused(400, "INVALID_ARGUMENT", "FieldMask is a required parameter.")
    }
    if (call === `GET /v1/places/${PLACE.id}`) return { status: 200, body: PLACE }
    if (call === "GET /v1/places/gone") {
      return refused(404, "NOT_FOUND", "The Place ID is no longer valid.")
    }
    return refused(400, "INVALID_ARGUMENT", 'Not a valid Place ID: "x"')
  })

/** Photon: GeoJSON, with the longitude first. */
export const startPhoton = (): Promise<PlaceServer> =>
  start(({ call }) => {
    if (call !== "GET /api") return { status: 404, body: "Not found" }
    const feature = (properties: object, coordinates: readonly number[]) => ({
      type: "Feature",
      geometry: { type: "Point", coordinates },
      properties: {
        osm_id: 1,
        osm_type: "N",
        countrycode: "US",
        country: "United States",
        ...properties,
      },
    })
    const house = {
      housenumber: "12",
      street: "Maple Street",
      postcode: "40218",
      city: "Riverton",
      state: "Kentucky",
      type: "house",
    }
    const street = { name: "Maple Street", city: "Riverton", state: "Kentucky", type: "street" }
    const features = [feature(house, [-85.67, 38.19]), feature(street, [-85.6, 38.1])]
    return { status: 200, body: { type: "FeatureCollection", features } }
  })
