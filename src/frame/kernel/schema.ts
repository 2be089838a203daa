/** Pieces that the schemas of requests and answers share. */
import { z } from "zod"

/** Text of at most `most` characters (code points) that can be stored: no lone surrogate, no NUL. */
export function shortText(most: number) {
  return z
    .string()
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine((value) => !value.includes("\0"), "Must not contain the character U+0000.")
    .refine((value) => [...value].length <= most, `Must be at most ${most} characters.`)
    .meta({ maxLength: most })
}

/** Integer micro-dollars as answers give them. */
export const micros = z.int().meta({ description: "Millionths of a US dollar" })

/** An instant as answers give it: ISO 8601 in UTC. */
export const isoTime = z.iso.datetime().meta({ description: "ISO 8601 in UTC" })

/** The query parameter `since`: only rows created after this instant. */
export const sinceTime = z.iso
  .datetime({ offset: true, error: "Must be an ISO 8601 time such as 2026-11-01T00:00:00.000Z." })
  .transform((value) => new Date(value))
