/** Query parameters that a route does not have: 400 with the nearest name (decisions.md §1). */
import type { ZodType } from "zod"
import { z } from "zod"
import { nearestName } from "../../kernel/nearest.ts"

/** A query of which the route looks at nothing: a provider may put into its own address what it likes. */
export const ANY_QUERY = z.looseObject({})

/** A name that can be told again as it is; any other stands under `query`. */
const PLAIN = /^(?!__proto__$)[\w.[\]-]{1,64}$/

/** What is wrong with the names in a query, by the name. */
export function unknownIn(schema: ZodType | undefined, query: unknown): Record<string, string> {
  if (schema === ANY_QUERY) return {}
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const names = Object.keys(query ?? {}).filter((name) => !known.includes(name))
  const told = names.map((name) =>
    PLAIN.test(name)
      ? [name, `Is no query parameter of this route${nearestWords(name, known)}`]
      : ["query", `Has a parameter that this route does not have${nearestWords(name, known)}`],
  )
  return Object.fromEntries(told) as Record<string, string>
}

function nearestWords(name: string, known: readonly string[]): string {
  const nearest = nearestName(name.slice(0, 64), known)
  if (nearest !== null) return `; the nearest is ${nearest}.`
  return known.length === 0 ? ", which takes none." : `, which takes ${known.join(", ")}.`
}
