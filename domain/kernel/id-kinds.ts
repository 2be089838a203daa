/** The kinds of values that ids and sealed texts are, in the forms of facts. */
import type { Kind } from "./kind.ts"
import { FormatFault } from "./format.ts"
import type { Parser, Sealed } from "./ids.ts"
import {
  parseCompanyId,
  parseHolderId,
  parseKeyId,
  parseMessageId,
  parseNumberId,
  parsePersonId,
  parsePurchaseId,
  parseSealed,
} from "./ids.ts"

/** What a parser lets through is written as it is: it lets no character pass that needs an escape. */
function kindOf<T extends string>(name: string, parse: Parser<T>): Kind<T> {
  const parsed = (raw: unknown): T => {
    const value = typeof raw === "string" ? parse(raw) : null
    if (value !== null) return value
    throw new FormatFault(`expected ${name}, found ${JSON.stringify(raw)}`)
  }
  const { begins } = parse
  return { holds: { begins }, write: (value) => `"${parsed(value)}"`, read: parsed }
}

/** Ids, by what they name. Other text is refused in both directions. */
export const id = {
  company: kindOf("a company's id", parseCompanyId),
  person: kindOf("a person's id", parsePersonId),
  key: kindOf("a key's id", parseKeyId),
  purchase: kindOf("a purchase's id", parsePurchaseId),
  message: kindOf("a message's id", parseMessageId),
  number: kindOf("a number's id", parseNumberId),
  /** Of those whom a limit can bind beside the company. */
  holder: kindOf("a person's or a key's id", parseHolderId),
}

/** Text that was sealed. Other text is refused in both directions: none is stored in the clear. */
export const sealed: Kind<Sealed> = kindOf("sealed text", parseSealed)
