/** Looking addresses up, as a caller does, and what came of the money. */
import { anyTable } from "../support/read-models.ts"
import type { FastifyInstance } from "fastify"
import type { Address, Places, Suggestion } from "../../adapters/providers/places/port.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { callApp } from "../support/world.ts"

/** The one path. */
export const PLACES_URL = "/api/v1/places"
/** What a suggestion costs, and an address. */
export const SUGGESTION = 3_000
const DETAILS = 20_000
/** A session of a caller. */
export const TOKEN = "session-1"
/** A place that the built-in addresses know. */
const PLACE = "demo_7300_12"

/** An app of the program on some ports, where rates do not matter. */
export const appOf = (ports: Ports): Promise<FastifyInstance> =>
  buildApp(ports, PROGRAM.entries, PROGRAM.retired, { rateLimits: "off" })

type At = Pick<World, "app">

/** Asks for suggestions. */
export const suggest = ({ app }: At, { key }: Pick<Company, "key">, body: object = {}) =>
  callApp(app, key, "POST", PLACES_URL, {
    body: { action: "suggest", input: "12 map", sessionToken: TOKEN, ...body },
  })

/** Asks for the address of a place. */
export const details = (
  { app }: At,
  { key }: Pick<Company, "key">,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<ApiAnswer> =>
  callApp(app, key, "POST", PLACES_URL, {
    body: { action: "details", placeId: PLACE, sessionToken: TOKEN, ...body },
    headers,
  })

/** What was charged and what came back of it, by the bill, in its order. */
export async function lines(
  world: World,
  { key }: Pick<Company, "key">,
): Promise<readonly string[]> {
  await world.operate("wait")
  const { body } = await world.call(key, "GET", "/api/v1/billing/lines")
  return body.lines
    .filter(({ kind }: { kind: string }) => kind === "charge" || kind === "give_back")
    .map((line: { kind: string; amountMicros: number }) => `${line.kind} ${line.amountMicros}`)
}

/** The charges that have no end yet. */
export async function open(world: World, { companyId }: Company): Promise<readonly object[]> {
  return (await world.operate("charge pending", { company: companyId })).charges
}

/** An address that is nowhere. */
export const ADDRESS: Address = {
  line1: "12 Maple Street",
  city: "Riverton",
  state: "KY",
  zip: "00018",
  country: "US",
  lat: -48.8,
  lng: -123.3,
  formatted: "12 Maple Street, Riverton, KY 00018, US",
}

/** Addresses that answer as a test says, and count what they are asked. */
export interface PlacesInHand extends Places {
  readonly asked: string[]
  found: () => Promise<Address | null>
  suggested: () => Promise<readonly Suggestion[]>
}

/** Such addresses. */
export function placesInHand(hasSessions = false): PlacesInHand {
  const inHand: PlacesInHand = {
    hasSessions,
    asked: [],
    found: async () => ADDRESS,
    suggested: async () => [{ placeId: "a", main: "12 Maple Street", secondary: "Riverton" }],
    suggest: (input, { session }) => {
      inHand.asked.push(`suggest ${input} ${session}`)
      return inHand.suggested()
    },
    details: (placeId, { session }) => {
      inHand.asked.push(`details ${placeId} ${session}`)
      return inHand.found()
    },
  }
  return inHand
}

/** What the bill shows of an address that was charged, and of one that was given back. */
export const CHARGED = [`charge -${DETAILS}`]
/** The same, given back. */
export const GIVEN_BACK = [...CHARGED, `give_back ${DETAILS}`]

/** A pick that is being looked up, as it is kept. */
interface Loading {
  readonly leasedTo: number
}

/** The leases of a company's picks, by the store's own time, UTC milliseconds; each ends at once with `isOver`. */
export async function leasesOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  isOver = false,
): Promise<readonly number[]> {
  const picks = ports.kept.of<Loading>({ slice: "places", kind: "pick" })
  const rows = await anyTable(ports.readAll)
    .withSchema("ledger")
    .selectFrom("expiring_records")
    .select("name")
    .where("company_id", "=", companyId)
    .where("kind", "=", "pick")
    .execute()
  const leases: number[] = []
  for (const { name } of rows) {
    await picks.change(companyId, name, (known) => {
      if (known === null) throw new Error(`there is no pick ${name}`)
      leases.push(known.content.leasedTo)
      return isOver ? { ...known, content: { ...known.content, leasedTo: 0 } } : known
    })
  }
  return leases
}
