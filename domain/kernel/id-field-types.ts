/** Field types of ids and sealed text. */
import type { FieldType } from "./event-format.ts"
import { FormatFault } from "./event-format.ts"
import type { Parser, SealedText } from "./ids.ts"
import {
  parseCompanyId,
  parseHolderId,
  parseKeyId,
  parsePersonId,
  parsePurchaseId,
  parseSealedText,
} from "./ids.ts"

/**
 * Builds the field type of the texts that a parser accepts. They are written unescaped, because no parser accepts a
 * character that needs escaping. Writing and reading throw FormatFault for other texts.
 *
 * @param name the noun of an error message, such as "a person's id"
 */
export function idFieldType<T extends string>(name: string, parse: Parser<T>): FieldType<T> {
  const parsed = (raw: unknown): T => {
    const value = typeof raw === "string" ? parse(raw) : null
    if (value !== null) return value
    throw new FormatFault(`expected ${name}, found ${JSON.stringify(raw)}`)
  }
  const { prefixes } = parse
  return { schema: { prefixes }, write: (value) => `"${parsed(value)}"`, read: parsed }
}

/** Field types of ids; other text is rejected when writing and reading. */
export const id = {
  company: idFieldType("a company's id", parseCompanyId),
  person: idFieldType("a person's id", parsePersonId),
  key: idFieldType("a key's id", parseKeyId),
  purchase: idFieldType("a purchase's id", parsePurchaseId),
  /** A limit's holder other than the company. */
  holder: idFieldType("a person's or a key's id", parseHolderId),
}

/** Sealed text. Other text is rejected when writing and reading, so that none is stored in clear. */
export const sealedText: FieldType<SealedText> = idFieldType("sealed text", parseSealedText)
