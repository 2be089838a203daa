/** What a model gives a tool: what of it the tool's route cannot see, and how it stands in a query. */
import { nearestName } from "../frame/kernel/nearest.ts"
import type { Json } from "../frame/http/documents/named-schemas.ts"

/** An argument of a tool. */
export interface Argument {
  readonly name: string
  readonly place: "path" | "query" | "body"
  /** What the route calls it. */
  readonly field: string
  /** Its form as JSON Schema, without references. */
  readonly schema: Json
  readonly isRequired: boolean
  /** Whether its route takes null for a value of its own. */
  readonly isNullable: boolean
}

type Given = Readonly<Record<string, unknown>>

/**
 * What is given. A null that the route does not take, and the false of a flag, leave an argument out: clients
 * that fill in each argument say it so.
 */
export function givenIn(taken: readonly Argument[], sent: Given): Given {
  const isLeftOut = (name: string, value: unknown) => {
    const argument = taken.find((one) => one.name === name)
    if (argument === undefined) return false
    return value === null ? !argument.isNullable : value === false && isFlag(argument.schema)
  }
  return Object.fromEntries(Object.entries(sent).filter((one) => !isLeftOut(...one)))
}

const isFlag = ({ enum: values }: Json): boolean => Array.isArray(values) && values.includes("1")

/** A name that can be told again as it is; any other stands under `arguments`. */
const PLAIN = /^(?!__proto__$)[\w.-]{1,64}$/

/**
 * What is wrong with arguments, by their names, as far as the values of a call do not show it: what stands
 * in a path or a query is text, whatever it was, and JSON writes no endless number. All else is for the
 * route to say.
 */
export function argumentFaults(taken: readonly Argument[], given: Given): Record<string, string> {
  const names = taken.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const told = unknown.map((name) => {
    const nearest = PLAIN.test(name) ? nearestName(name, names) : null
    const words =
      nearest === null ? `, which takes ${listed(names)}` : `; the nearest is ${nearest}`
    return PLAIN.test(name)
      ? [name, `Is no argument of this tool${words}.`]
      : ["arguments", `Have a name that this tool does not know${words}.`]
  })
  const own = taken.flatMap((argument) => {
    const fault = faultOf(argument, Object.hasOwn(given, argument.name), given[argument.name])
    return fault === null ? [] : [[argument.name, fault]]
  })
  return Object.fromEntries([...own, ...told]) as Record<string, string>
}

const listed = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.join(", ")

function faultOf({ place, schema }: Argument, isGiven: boolean, value: unknown): string | null {
  if (!isGiven) return place === "path" ? "Is required." : null
  if (place === "body") return isWritten(value) ? null : "Must be a number that is not endless."
  if (typeof value === "string") return null
  // A flag is said by 1 or true as well: it stands in the query as the same text.
  const isSaid = isFlag(schema) && queryValue(value) === "1"
  return isSaid ? null : isFlag(schema) ? "Must be 1." : "Must be text."
}

/** Whether JSON can write a value down again: a number such as 1e999 is read as an endless one. */
function isWritten(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value !== "object" || value === null || Object.values(value).every(isWritten)
}

/** How an argument stands in a path or a query. */
export function queryValue(value: unknown): string {
  return value === true ? "1" : String(value)
}
