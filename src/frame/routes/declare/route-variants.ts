/** Several routes on one method and path. */
import type { Route } from "./route.ts"
import { BODY_LIMIT_BYTES } from "./route.ts"
import type { Refusal } from "../answers/refusal.ts"

/** Several routes on one method and path, chosen by the body. */
export interface RouteVariants {
  readonly name: string
  readonly method: Route["method"]
  readonly url: string
  readonly variants: readonly Route[]
  /** Properties that all variants share, because they are checked before the body is read. */
  readonly isCounted: boolean
  readonly isAllowedWhenLocked: boolean
  readonly isCharged: boolean
  readonly bodyLimitBytes?: number
}

/**
 * Combines several routes on one path. A body matches a variant by the literals of its schema; without literals,
 * by its required fields.
 *
 * @throws RangeError if the variants differ in what is checked before the body is read
 */
export function routeVariants(
  name: string,
  url: string,
  variants: readonly Route[],
): RouteVariants {
  const [first] = variants
  if (first === undefined) throw new RangeError(`${url} has no variants`)
  const { method, isCounted, isAllowedWhenLocked = false } = first
  const isAlike = variants.every(
    (variant) =>
      variant.url === url &&
      variant.method === method &&
      variant.isCounted === isCounted &&
      (variant.isAllowedWhenLocked ?? false) === isAllowedWhenLocked &&
      variant.auth !== false &&
      variant.permanentIdempotency === undefined &&
      variant.body !== undefined,
  )
  if (!isAlike)
    throw new RangeError(`the variants of ${url} differ in what is checked before the body is read`)
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

/** Whether an entry is several routes on one method and path. */
export function isRouteVariants(entry: Route | RouteVariants): entry is RouteVariants {
  return "variants" in entry
}

/** Returns an entry's kind of client; undefined for clients of the API. */
export function nonApiClientOf(entry: Route | RouteVariants): Route["nonApiClient"] {
  return isRouteVariants(entry) ? undefined : entry.nonApiClient
}

/** Returns the routes of a list's entries. */
export function routesIn(entries: readonly (Route | RouteVariants)[]): readonly Route[] {
  return entries.flatMap((entry) => (isRouteVariants(entry) ? entry.variants : [entry]))
}

/** Several routes on one method and path, chosen by the query before any check. */
export interface QueryVariants {
  readonly method: Route["method"]
  readonly url: string
  /** The query parameter that chooses. */
  readonly parameter: string
  /** The routes by its value. */
  readonly routes: Readonly<Record<string, Route>>
  /** The refusal of any other value. */
  readonly unmatchedRefusal: Refusal
}

/** Returns the route that a query chooses; null if none. */
export function variantByQuery({ parameter, routes }: QueryVariants, query: unknown): Route | null {
  const value = (query as Readonly<Record<string, unknown>>)[parameter]
  return typeof value === "string" && Object.hasOwn(routes, value) ? (routes[value] ?? null) : null
}

/** A route outside the API document, or several chosen by their query. */
export type PageRoute = Route | QueryVariants
