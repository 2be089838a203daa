/** Ids and sealed texts in schemas: of what rows of work carry, and of what comes from outside. */
import { z } from "zod"
import type { Parser } from "../../../domain/kernel/ids.ts"
import { parseSealed } from "../../../domain/kernel/ids.ts"

/** What a parser reads: the ids of one kind. */
export function idSchema<T extends string>(parse: Parser<T>): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== null)
}

/** Text that was sealed. */
export const sealed = idSchema(parseSealed)
