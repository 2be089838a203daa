/** The kinds of values that ids and sealed texts are, in the forms of facts. */
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
 * The kind of what a parser reads, such as the ids of a slice's own things. Written as it is: a parser
 * lets no character pass that needs an escape.
 *
 * @param name what it is, as a fault says it: "a person's id". Writing and reading throw FormatFault for others
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

/** Ids, by what they name. Other text is refused in both directions. */
export const id = {
  company: idFieldType("a company's id", parseCompanyId),
  person: idFieldType("a person's id", parsePersonId),
  key: idFieldType("a key's id", parseKeyId),
  purchase: idFieldType("a purchase's id", parsePurchaseId),
  /** Of those whom a limit can bind beside the company. */
  holder: idFieldType("a person's or a key's id", parseHolderId),
}

/** Text that was sealed. Other text is refused in both directions: none is stored in the clear. */
export const sealedText: FieldType<SealedText> = idFieldType("sealed text", parseSealedText)
