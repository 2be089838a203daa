/** Requests for addresses, and what the bill shows of them. */
import { anyTable } from "../support/read-models.ts"
import type { FastifyInstance } from "fastify"
import type {
  PlaceAddress,
  PlacesProvider,
  PlaceSuggestion,
} from "../../adapters/providers/places/port.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { callApp } from "../support/world.ts"

/** The path of all address lookups. */
export const PLACES_PATH = "/api/v1/places"
/** Price of one request for suggestions. */
export const SUGGESTION_MICROS = 3_000
const DETAILS_MICROS = 20_000
/** A caller's session token. */
export const SESSION_TOKEN = "session-1"
/** A place that the simulator knows. */
const PLACE = "demo_7300_12"

/** The program's app on these ports, without rate limits. */
export const unlimitedAppOf = (ports: Ports): Promise<FastifyInstance> =>
  buildApp(ports, PROGRAM.entries, PROGRAM.retiredPaths, { rateLimits: "off" })

type At = Pick<World, "app">

/** Requests suggestions. */
export const requestSuggestions = ({ app }: At, { key }: Pick<Company, "key">, body: object = {}) =>
  callApp(app, key, "POST", PLACES_PATH, {
    body: { action: "suggest", input: "12 map", sessionToken: SESSION_TOKEN, ...body },
  })

/** Requests the address of a place. */
export const requestDetails = (
  { app }: At,
  { key }: Pick<Company, "key">,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<ApiAnswer> =>
  callApp(app, key, "POST", PLACES_PATH, {
    body: { action: "details", placeId: PLACE, sessionToken: SESSION_TOKEN, ...body },
    headers,
  })

/** Charges and refunds of the bill, in order. */
export async function billLinesOf(
  world: World,
  { key }: Pick<Company, "key">,
): Promise<readonly string[]> {
  await world.operate("wait")
  const { body } = await world.call(key, "GET", "/api/v1/billing/lines")
  return body.lines
    .filter(({ kind }: { kind: string }) => kind === "charge" || kind === "give_back")
    .map((line: { kind: string; amountMicros: number }) => `${line.kind} ${line.amountMicros}`)
}

/** The company's pending charges. */
export async function pendingChargesOf(
  world: World,
  { companyId }: Company,
): Promise<readonly object[]> {
  return (await world.operate("charge pending", { company: companyId })).charges
}

/** An address that does not exist. */
export const SAMPLE_ADDRESS: PlaceAddress = {
  line1: "12 Maple Street",
  city: "Riverton",
  state: "KY",
  zip: "00018",
  country: "US",
  lat: -48.8,
  lng: -123.3,
  formatted: "12 Maple Street, Riverton, KY 00018, US",
}

/** A provider that answers as the test sets it, and records its queries. */
export interface ControlledPlaces extends PlacesProvider {
  readonly queries: string[]
  nextAddress: () => Promise<PlaceAddress | null>
  nextSuggestions: () => Promise<readonly PlaceSuggestion[]>
}

/** A provider that answers with `SAMPLE_ADDRESS` until the test changes it. */
export function newControlledPlaces(hasSessions = false): ControlledPlaces {
  const places: ControlledPlaces = {
    hasSessions,
    queries: [],
    nextAddress: async () => SAMPLE_ADDRESS,
    nextSuggestions: async () => [{ placeId: "a", main: "12 Maple Street", secondary: "Riverton" }],
    suggest: (input, { session }) => {
      places.queries.push(`suggest ${input} ${session}`)
      return places.nextSuggestions()
    },
    findAddress: (placeId, { session }) => {
      places.queries.push(`details ${placeId} ${session}`)
      return places.nextAddress()
    },
  }
  return places
}

/** Lines of the bill for an address that was charged. */
export const CHARGED_LINES = [`charge -${DETAILS_MICROS}`]
/** Lines of the bill for an address that was charged and refunded. */
export const REFUNDED_LINES = [...CHARGED_LINES, `give_back ${DETAILS_MICROS}`]

/** A pick that is being looked up, as it is stored. */
interface PickLease {
  readonly leasedTo: number
}

/** When the leases of a company's picks end, in UTC milliseconds of the database; `isOver` ends them now. */
export async function pickLeasesOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  isOver = false,
): Promise<readonly number[]> {
  const picks = ports.ttlStore.of<PickLease>({ slice: "places", kind: "pick" })
  const rows = await anyTable(ports.readAll)
    .withSchema("ledger")
    .selectFrom("expiring_records")
    .select("name")
    .where("company_id", "=", companyId)
    .where("kind", "=", "pick")
    .execute()
  const leases: number[] = []
  for (const { name } of rows) {
    await picks.update(companyId, name, (known) => {
      if (known === null) throw new Error(`there is no pick ${name}`)
      leases.push(known.content.leasedTo)
      return isOver ? { ...known, content: { ...known.content, leasedTo: 0 } } : known
    })
  }
  return leases
}
