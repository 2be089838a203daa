/**
 * Every answer has the fields that the specification names (`test/data/answer-fields.json`, copied from its
 * parts "Resources and their fields" and "Endpoints").
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { PROGRAM } from "../../src/slices.ts"
import type { SpecRoute } from "../support/route-rows.ts"
import { linesOf } from "../support/route-rows.ts"

/** Names of fields; a part says which fields it has itself: inline, or by the name of a record. */
type Fields = string | readonly (string | Readonly<Record<string, Fields>>)[]

const read = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../data/${file}`, import.meta.url), "utf8"))
const { records, answers } = read("answer-fields.json") as {
  readonly records: Readonly<Record<string, Fields>>
  readonly answers: Readonly<Record<string, Fields>>
}
const SPEC = read("routes.json") as readonly SpecRoute[]

interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** The objects that a value may be, through lists, unions and references. */
function objectsOf(schema: Schema, root: Schema): readonly Schema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [], items, properties } = schema
  const named = $ref === undefined ? undefined : root.$defs?.[$ref.replace("#/$defs/", "")]
  const parts = [named, items, ...anyOf, ...oneOf, ...allOf].filter((one) => one !== undefined)
  const own = properties === undefined ? [] : [schema]
  return [...own, ...parts.flatMap((one) => objectsOf(one, root))]
}

/** The named fields that no object of an answer has, as paths. */
function missingIn(fields: Fields, objects: readonly Schema[], root: Schema): readonly string[] {
  const listed = typeof fields === "string" ? records[fields] : fields
  if (listed === undefined || typeof listed === "string") throw new Error(`no record ${fields}`)
  const schemasOf = (name: string) => objects.flatMap(({ properties }) => properties?.[name] ?? [])
  return listed.flatMap((one) => {
    if (typeof one === "string") return schemasOf(one).length === 0 ? [one] : []
    return Object.entries(one).flatMap(([name, inner]) => {
      const found = schemasOf(name)
      if (found.length === 0) return [name]
      const within = found.flatMap((schema) => objectsOf(schema, root))
      return missingIn(inner, within, root).map((path) => `${name}.${path}`)
    })
  })
}

const missing = (reply: z.ZodType, fields: Fields): readonly string[] => {
  const root = z.toJSONSchema(reply, { io: "output", unrepresentable: "any" }) as Schema
  return missingIn(fields, objectsOf(root, root), root)
}

/** The routes of the specification; what it does not know is ours alone. */
const ROUTES = PROGRAM.routes.filter((route) => linesOf(route, SPEC).length > 0)

describe("an answer has each field of the specification", () => {
  it.for(ROUTES.map((route) => [route.name, route] as const))("%s", ([name, route]) => {
    const fields = answers[name]
    // A new route of the specification needs its line in the table.
    expect(fields).toBeDefined()
    expect(missing(route.reply as z.ZodType, fields ?? [])).toEqual([])
  })

  it("and the table names no other route", () => {
    const names = ROUTES.map(({ name }) => name)
    expect(Object.keys(answers).toSorted()).toEqual(names.toSorted())
  })

  it("is seen to fail where one is left out", () => {
    const lead = z.object({ id: z.string(), utm: z.object({}) })
    expect(missing(z.object({ leads: z.array(lead) }), [{ leads: ["id", "formName"] }])).toEqual([
      "leads.formName",
    ])
    expect(missing(z.object({}), [{ leads: "Lead" }, "at"])).toEqual(["leads", "at"])
  })
})
