/** Ids and sealed texts in schemas: of what rows of work carry, and of what comes from outside. */
import { z } from "zod"
import {
  parseCompanyId,
  parseKeyId,
  parseMessageId,
  parseNumberId,
  parsePersonId,
  parsePurchaseId,
  parseSealed,
} from "../../../domain/kernel/ids.ts"

function schemaOf<T extends string>(parse: (text: string) => T | null): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== null)
}

/** Ids, by what they name. */
export const id = {
  company: schemaOf(parseCompanyId),
  person: schemaOf(parsePersonId),
  key: schemaOf(parseKeyId),
  purchase: schemaOf(parsePurchaseId),
  message: schemaOf(parseMessageId),
  number: schemaOf(parseNumberId),
}

/** Text that was sealed. */
export const sealed = schemaOf(parseSealed)
