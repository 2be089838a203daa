/** Several routes on one verb and path. */
import type { Route } from "./route.ts"
import { BODY_LIMIT_BYTES } from "./route.ts"
import type { Refusal } from "../answers/refusal.ts"

/** Several routes on one verb and path: which of them is meant stands in the body. */
export interface RouteVariants {
  readonly name: string
  readonly method: Route["method"]
  readonly url: string
  readonly variants: readonly Route[]
  /** What all shapes have alike, and what is checked before the body is read. */
  readonly isCounted: boolean
  readonly isAllowedWhenLocked: boolean
  readonly isCharged: boolean
  readonly bodyLimitBytes?: number
}

/**
 * Puts several shapes on one path. A body has the shape of a route where the literals of its schema
 * are those of the body; where a schema has none, where all its required fields are there.
 *
 * @throws RangeError where the shapes do not share what is checked before the body is read
 */
export function routeVariants(
  name: string,
  url: string,
  variants: readonly Route[],
): RouteVariants {
  const [first] = variants
  if (first === undefined) throw new RangeError(`${url} has no shape`)
  const { method, isCounted, isAllowedWhenLocked = false } = first
  const isAlike = variants.every(
    (shape) =>
      shape.url === url &&
      shape.method === method &&
      shape.isCounted === isCounted &&
      (shape.isAllowedWhenLocked ?? false) === isAllowedWhenLocked &&
      shape.auth !== false &&
      shape.permanentIdempotency === undefined &&
      shape.body !== undefined,
  )
  if (!isAlike) throw new RangeError(`the shapes of ${url} differ in what stands before their body`)
  const limits = variants.map(({ bodyLimitBytes }) => bodyLimitBytes ?? BODY_LIMIT_BYTES)
  return {
    name,
    method,
    url,
    variants,
    isCounted,
    isAllowedWhenLocked,
    isCharged: variants.some(({ isCharged }) => isCharged === true),
    bodyLimitBytes: Math.max(...limits),
  }
}

/** Whether several routes share a verb and a path. */
export function isRouteVariants(entry: Route | RouteVariants): entry is RouteVariants {
  return "variants" in entry
}

/** Who an entry is for; undefined for clients of the API. */
export function nonApiClientOf(entry: Route | RouteVariants): Route["nonApiClient"] {
  return isRouteVariants(entry) ? undefined : entry.nonApiClient
}

/** The routes behind an entry of a list. */
export function routesIn(entries: readonly (Route | RouteVariants)[]): readonly Route[] {
  return entries.flatMap((entry) => (isRouteVariants(entry) ? entry.variants : [entry]))
}

/** Several routes on one verb and path: which of them is meant stands in the query, and so before anything else. */
export interface QueryVariants {
  readonly method: Route["method"]
  readonly url: string
  /** What of the query says it. */
  readonly parameter: string
  /** By its value. */
  readonly routes: Readonly<Record<string, Route>>
  /** The refusal of any other. */
  readonly unmatchedRefusal: Refusal
}

/** The route that a query means; null where it means none. */
export function variantByQuery({ parameter, routes }: QueryVariants, query: unknown): Route | null {
  const value = (query as Readonly<Record<string, unknown>>)[parameter]
  return typeof value === "string" && Object.hasOwn(routes, value) ? (routes[value] ?? null) : null
}

/** What stands beside the API: one route, or several told apart by their query. */
export type PageRoute = Route | QueryVariants
