/** Checks our adapters' requests against the vendor's own API description. */
import { readFileSync } from "node:fs"

/** A field's limits; without any, every value is accepted. */
interface FieldLimit {
  /** In code points. */
  readonly maxLength?: number
  readonly enum?: readonly string[]
  readonly pattern?: string
}

type Fields = Readonly<Record<string, FieldLimit>>

interface Operation {
  readonly required?: readonly string[]
  /** Fields of the body; absent if there is none. */
  readonly body?: Fields
  readonly query?: Fields
}

export interface SentRequest {
  readonly method: string
  /** Path without the version. */
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
}

/** Loads `test/data/vendors/<vendor>.json`; the returned function lists what the vendor would reject. */
export function openVendorCheck(vendor: string): (sent: SentRequest) => readonly string[] {
  const url = new URL(`../data/vendors/${vendor}.json`, import.meta.url)
  const { operations } = JSON.parse(readFileSync(url, "utf8")) as {
    readonly operations: Readonly<Record<string, Operation>>
  }
  // Literal paths come before those with parameters.
  const known = Object.entries(operations)
    .toSorted(([a], [b]) => a.split("{").length - b.split("{").length)
    .map(([name, operation]) => {
      const form = name.replaceAll("/", "\\/").replaceAll("{id}", "[^/]+")
      return { name, operation, form: new RegExp(`^${form}$`) }
    })
  return ({ method, path, query, body }) => {
    const call = `${method} ${path}`
    const found = known.find(({ form }) => form.test(call))
    if (found === undefined) return [`${call} is not an operation of ${vendor}`]
    const { name, operation } = found
    const faults = (operation.required ?? [])
      .filter((field) => (body[field] ?? null) === null)
      .map((field) => `${field} is missing`)
    faults.push(...faultsOf(operation.body ?? {}, Object.entries(body)))
    faults.push(...faultsOf(operation.query ?? {}, [...query]))
    return faults.map((fault) => `${name}: ${fault}`)
  }
}

function faultsOf(
  fields: Fields,
  given: readonly (readonly [name: string, value: unknown])[],
): readonly string[] {
  return given.flatMap(([name, value]) => {
    const limit = fields[name]
    if (limit === undefined) return [`${name} is not a field of it`]
    const { maxLength, pattern } = limit
    if (value === null || value === undefined) return []
    const text = String(value)
    const length = [...text].length
    return [
      ...(maxLength !== undefined && length > maxLength
        ? [`${name} has ${length} characters; the limit is ${maxLength}`]
        : []),
      ...(limit.enum !== undefined && !limit.enum.includes(text)
        ? [`${name} must not be ${text}`]
        : []),
      ...(pattern !== undefined && !new RegExp(pattern, "u").test(text)
        ? [`${name} must match ${pattern}`]
        : []),
    ]
  })
}
