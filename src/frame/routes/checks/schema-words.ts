/** What is wrong with a value, for people, where its schema says nothing of its own. */
import type { core } from "zod"

type Issue = core.$ZodRawIssue

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
}

/** A sentence about any issue that a schema can find. */
export function inWords(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type": {
      // Only the whole of a body has no path: a query is an object whatever is sent.
      if ((issue.path ?? []).length === 0) return `The body must be ${kind(issue.expected)}.`
      if (issue.input === undefined) return "Is required."
      return `Must be ${kind(issue.expected)}.`
    }
    case "invalid_value":
      return `Must be ${oneOf(issue.values)}.`
    case "too_big": {
      const { origin, maximum, inclusive } = issue
      return `Must be ${inclusive === false ? "less than" : "at most"} ${amount(maximum, origin)}.`
    }
    case "too_small": {
      const { origin, minimum, inclusive } = issue
      return `Must be ${inclusive === false ? "more than" : "at least"} ${amount(minimum, origin)}.`
    }
    case "not_multiple_of":
      return `Must be a multiple of ${issue.divisor}.`
    case "unrecognized_keys":
      return `Must have no field ${issue.keys.join(", ")}.`
    default:
      return "Does not have the form that is asked for here."
  }
}

function kind(expected: string): string {
  return KINDS[expected] ?? "of another kind"
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map(String)
  return words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`
}

const UNITS: Readonly<Record<string, string>> = {
  string: " characters long",
  array: " entries long",
  set: " entries long",
}

function amount(bound: number | bigint, origin: string): string {
  return `${bound}${UNITS[origin] ?? ""}`
}
