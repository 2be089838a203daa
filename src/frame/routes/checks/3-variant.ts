/** Chooses among several routes on one method and path by the body (docs/api.md, "Order of checks"). */
import { z } from "zod"
import type { Refusal } from "../answers/refusal.ts"
import type { Route } from "../declare/route.ts"
import type { RouteVariants } from "../declare/route-variants.ts"
import { bodyRefusal, invalidRefusal } from "./7-values.ts"

/** The fields that distinguish a variant, with their required values; undefined for any value. */
type VariantMarks = Readonly<Record<string, unknown>>

/** Returns the route for a body; a refusal if it matches no variant, or two. */
export function variantFor(
  entry: RouteVariants,
  value: unknown,
): { readonly route: Route } | { readonly refusal: Refusal } {
  const fault = bodyRefusal(value)
  if (fault !== null) return { refusal: fault }
  const body: unknown = value ?? {}
  if (!isObject(body)) return { refusal: invalidRefusal({ body: "The body must be an object." }) }
  const marked = entry.variants.map((route) => ({ route, marks: marksOf(route) }))
  const allMarks = new Set(marked.flatMap(({ marks }) => Object.keys(marks)))
  const fitting = marked.filter(({ marks }) => hasMarks(body, marks))
  const isTwo = fitting.some(({ marks }) => hasForeignMarks(body, marks, allMarks))
  const [one, other] = fitting
  if (one !== undefined && other === undefined && !isTwo) return { route: one.route }
  return { refusal: noVariantRefusal(marked, isTwo ? marked : fitting) }
}

function isObject(value: unknown): value is VariantMarks {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function hasMarks(body: VariantMarks, marks: VariantMarks): boolean {
  return Object.entries(marks).every(([name, wanted]) =>
    wanted === undefined ? body[name] !== undefined : body[name] === wanted,
  )
}

/** Whether a body has a distinguishing field of another variant. */
function hasForeignMarks(
  body: VariantMarks,
  marks: VariantMarks,
  allMarks: ReadonlySet<string>,
): boolean {
  return [...allMarks].some((name) => !(name in marks) && body[name] !== undefined)
}

/** Returns the literals of a route's body; without any, its required fields. */
function marksOf({ body, url }: Route): VariantMarks {
  if (!(body instanceof z.ZodObject)) throw new TypeError(`a variant of ${url} is not an object`)
  const fields = Object.entries(body.shape)
  const literals = fields.flatMap(([name, kind]) =>
    kind instanceof z.ZodLiteral && kind.values.size === 1 ? [[name, kind.value] as const] : [],
  )
  if (literals.length > 0) return Object.fromEntries(literals)
  const required = fields.filter(([, kind]) => !kind.safeParse(undefined).success)
  return Object.fromEntries(required.map(([name]) => [name, undefined]))
}

function noVariantRefusal(
  marked: readonly { readonly marks: VariantMarks }[],
  fitting: readonly { readonly marks: VariantMarks }[],
): Refusal {
  const listed = (fitting.length > 0 ? fitting : marked).map(({ marks }) => formatMarks(marks))
  const says = fitting.length > 0 ? "Must match only one of these" : "Must match one of these"
  return invalidRefusal({ body: `${says}: ${listed.join("; ")}.` })
}

function formatMarks(marks: VariantMarks): string {
  return Object.entries(marks)
    .map(([name, wanted]) => (wanted === undefined ? name : `${name}: ${JSON.stringify(wanted)}`))
    .join(", ")
}
