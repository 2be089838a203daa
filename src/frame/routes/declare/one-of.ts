/** Several routes on one verb and path. */
import type { Route } from "./route.ts"
import { BODY_LIMIT_BYTES } from "./route.ts"
import type { Refusal } from "../answers/refusal.ts"

/** Several routes on one verb and path: which of them is meant stands in the body. */
export interface OneOf {
  readonly name: string
  readonly method: Route["method"]
  readonly url: string
  readonly shapes: readonly Route[]
  /** What all shapes have alike, and what is checked before the body is read. */
  readonly counted: boolean
  readonly passesLock: boolean
  readonly charged: boolean
  readonly bodyLimitBytes?: number
}

/**
 * Puts several shapes on one path. A body has the shape of a route where the literals of its schema
 * are those of the body; where a schema has none, where all its required fields are there.
 *
 * @throws RangeError where the shapes do not share what is checked before the body is read
 */
export function oneOf(name: string, url: string, shapes: readonly Route[]): OneOf {
  const [first] = shapes
  if (first === undefined) throw new RangeError(`${url} has no shape`)
  const { method, counted, passesLock = false } = first
  const isAlike = shapes.every(
    (shape) =>
      shape.url === url &&
      shape.method === method &&
      shape.counted === counted &&
      (shape.passesLock ?? false) === passesLock &&
      shape.auth !== false &&
      shape.once === undefined &&
      shape.body !== undefined,
  )
  if (!isAlike) throw new RangeError(`the shapes of ${url} differ in what stands before their body`)
  const limits = shapes.map(({ bodyLimitBytes }) => bodyLimitBytes ?? BODY_LIMIT_BYTES)
  return {
    name,
    method,
    url,
    shapes,
    counted,
    passesLock,
    charged: shapes.some(({ charged }) => charged === true),
    bodyLimitBytes: Math.max(...limits),
  }
}

/** Whether several routes share a verb and a path. */
export function isOneOf(entry: Route | OneOf): entry is OneOf {
  return "shapes" in entry
}

/** Who an entry is for; undefined for clients of the API. */
export function clientOf(entry: Route | OneOf): Route["client"] {
  return isOneOf(entry) ? undefined : entry.client
}

/** The routes behind an entry of a list. */
export function routesIn(entries: readonly (Route | OneOf)[]): readonly Route[] {
  return entries.flatMap((entry) => (isOneOf(entry) ? entry.shapes : [entry]))
}

/** Several routes on one verb and path: which of them is meant stands in the query, and so before anything else. */
export interface ByQuery {
  readonly method: Route["method"]
  readonly url: string
  /** What of the query says it. */
  readonly parameter: string
  /** By its value. */
  readonly routes: Readonly<Record<string, Route>>
  /** The refusal of any other. */
  readonly otherwise: Refusal
}

/** The route that a query means; null where it means none. */
export function meantBy({ parameter, routes }: ByQuery, query: unknown): Route | null {
  const value = (query as Readonly<Record<string, unknown>>)[parameter]
  return typeof value === "string" && Object.hasOwn(routes, value) ? (routes[value] ?? null) : null
}

/** What stands beside the API: one route, or several told apart by their query. */
export type Page = Route | ByQuery
