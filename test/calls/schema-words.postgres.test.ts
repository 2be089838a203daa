/** What callers are told of values that do not fit: sentences for people, whatever the schema is. */
import { PROGRAM } from "../../src/slices.ts"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { inWords } from "../../src/frame/calls/schema-words.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)

describe("a body that is no object", () => {
  // Where another protocol is spoken, that says what a body is.
  it.for(
    PROGRAM.routes.filter(({ body, errorForm }) => body !== undefined && errorForm === undefined),
  )("is told so by $method $url", async ({ method, url }) => {
    for (const body of ["[]", "[1]", '"text"', "7", "true"]) {
      const headers = { "content-type": "application/json", "idempotency-key": `${url} ${body}` }
      const answer = await world.call(company.key, method, url, { body, headers })
      expect([body, answer.status, answer.body]).toEqual([
        body,
        400,
        {
          error: "validation",
          message: "The request is not valid: body: The body must be an object.",
          fields: { body: "The body must be an object." },
        },
      ])
    }
  })
})

describe("a value that does not fit", () => {
  const cases: readonly (readonly [z.ZodType, unknown, string])[] = [
    [z.string(), 1, "Must be text."],
    [z.string(), undefined, "Is required."],
    [z.number(), "1", "Must be a number."],
    [z.int(), 1.5, "Must be a whole number."],
    [z.boolean(), null, "Must be true or false."],
    [z.array(z.string()), {}, "Must be a list."],
    [z.object({}), [], "Must be an object."],
    [z.enum(["a", "b"]), "c", "Must be one of a, b."],
    [z.literal("a"), "c", "Must be a."],
    [z.string().max(2), "abc", "Must be at most 2 characters long."],
    [z.string().min(2), "a", "Must be at least 2 characters long."],
    [z.array(z.int()).max(1), [1, 2], "Must be at most 1 entries long."],
    [z.number().positive(), 0, "Must be more than 0."],
    [z.number().lt(3), 3, "Must be less than 3."],
    [z.number().multipleOf(2), 3, "Must be a multiple of 2."],
    [z.strictObject({}), { a: 1, b: 2 }, "Must have no field a, b."],
    [z.string().regex(/a/), "b", "Does not have the form that is asked for here."],
    [z.union([z.int(), z.null()]), "b", "Does not have the form that is asked for here."],
    [z.map(z.string(), z.string()), {}, "Must be of another kind."],
  ]

  it.for(cases)("is told in words: %#", ([schema, value, words]) => {
    const parsed = z.object({ field: schema }).safeParse({ field: value }, { error: inWords })
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([words])
  })

  it("is told in the schema's own words where it has some", () => {
    const schema = z.object({ field: z.string("Must be a name.") })
    const parsed = schema.safeParse({ field: 1 }, { error: inWords })
    expect(parsed.error?.issues[0]?.message).toBe("Must be a name.")
  })
})
