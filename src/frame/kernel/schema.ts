/** Pieces that the schemas of requests and answers share. */
import { z } from "zod"
import { ROLES } from "../../../domain/access/permissions.ts"
import type { Parser } from "../../../domain/kernel/ids.ts"
import { parseSealed } from "../../../domain/kernel/ids.ts"

/** Text that was sealed. */
export const sealed = idSchema(parseSealed)

/** Text of at most `most` characters (code points) that can be stored: no lone surrogate, no NUL. */
export function shortText(most: number, base = z.string()) {
  return base
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine((value) => !value.includes("\0"), "Must not contain the character U+0000.")
    .refine((value) => [...value].length <= most, `Must be at most ${most} characters.`)
    .meta({ maxLength: most })
}

/** White space, control characters, and whatever shows nothing: zero-width ones, marks of direction, fillers. */
const SHOWS_NOTHING = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Whether a text shows nothing. */
export function isBlank(text: string): boolean {
  return text.replaceAll(SHOWS_NOTHING, "") === ""
}

/** The same as `shortText`, with something to see in it. */
export function filledText(most: number) {
  return shortText(most).refine((text) => !isBlank(text), "Must not be empty.")
}

/**
 * `shortText` of several lines that end in a line feed alone. Line endings are unified before the text is
 * measured, stored or signed: SMTP clients rewrite them, and a rewritten body breaks its DKIM signature.
 */
export const textOfLines = (most: number) =>
  shortText(
    most,
    z.string().overwrite((value) => value.replaceAll(/\r\n?/g, "\n")),
  )

/** Integer micro-dollars as answers give them. */
export const micros = z.int().meta({ id: "Micros", description: "Millionths of a US dollar" })

/** Dollars as answers give them. */
export const exactDollars = z
  .number()
  .meta({ id: "Dollars", description: "US dollars, exact to the millionth" })

/** An instant as answers give it: ISO 8601 in UTC. */
export const isoTime = z.iso.datetime().meta({ id: "Instant", description: "ISO 8601 in UTC" })

/** The id of something, as answers give it. */
export const idOf = (what: string) => z.string().describe(`Id of ${what}`)

/** The same where there may be none: the words stand beside the null as well. */
export const idOrNull = (what: string) => z.string().nullable().describe(`Id of ${what}`)

/** What a person is in the company. */
export const roleName = z.enum(ROLES).meta({
  id: "Role",
  description: "What a person is in the company: owner and admin may do everything",
})

/** A time as callers write it: ISO 8601 with an offset, its letters in either case (RFC 3339 §5.6). */
export const givenTime = (error: string) =>
  z
    .string(error)
    .toUpperCase()
    .check(z.iso.datetime({ offset: true, error }))

/** A time in a query. */
export const queryTime = givenTime(
  "Must be an ISO 8601 time such as 2026-11-01T00:00:00.000Z; in a query + is sent as %2B.",
).transform((value) => new Date(value))

/** The query parameter `since`: only rows created after this instant. */
export const sinceTime = queryTime.describe("Only what was made after this instant")

/** What a parser reads: the ids of one kind. */
export function idSchema<T extends string>(parse: Parser<T>): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== null)
}
