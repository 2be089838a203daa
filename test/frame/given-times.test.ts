/** Times in the input of callers and operators. */
import { expect, it } from "vitest"
import { jsonSchemaOf } from "../../src/frame/http/documents/named-schemas.ts"
import { sinceTimeSchema } from "../../src/frame/kernel/schema.ts"
import { timeInput } from "../../src/frame/operator/inputs.ts"

it.each([
  ["2026-11-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z"],
  ["2026-11-01t00:00:00z", "2026-11-01T00:00:00.000Z"],
  ["2026-11-01t02:00:00.5+02:00", "2026-11-01T00:00:00.500Z"],
])("a time may have lower-case letters: %s", (text, instant) => {
  expect(sinceTimeSchema.parse(text).toISOString()).toBe(instant)
  expect(new Date(timeInput.parse(text)).toISOString()).toBe(instant)
})

it.each(["2026-11-01", "2026-11-01 00:00:00Z", "2026-11-01T00:00:00", "2026-02-30T00:00:00z", ""])(
  "an invalid time is rejected: %j",
  (text) => {
    expect(sinceTimeSchema.safeParse(text).error?.issues[0]?.message).toContain("ISO 8601")
    expect(timeInput.safeParse(text).error?.issues[0]?.message).toContain("must be a time")
  },
)

it("a time is a date-time in the document", () => {
  expect(jsonSchemaOf(sinceTimeSchema, "input")).toMatchObject({
    type: "string",
    format: "date-time",
  })
})
