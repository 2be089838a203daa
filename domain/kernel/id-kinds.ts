/** The kinds of values that ids and sealed texts are, in the forms of facts. */
import type { Kind } from "./kind.ts"
import { FormatFault } from "./format.ts"
import type { Sealed } from "./ids.ts"
import {
  parseCompanyId,
  parseKeyId,
  parseMessageId,
  parseNumberId,
  parsePersonId,
  parsePurchaseId,
  parseSealed,
} from "./ids.ts"

/** What a parser lets through is written as it is: it lets no character pass that needs an escape. */
function kindOf<T extends string>(
  name: string,
  parse: (text: string) => T | null,
  ...begins: readonly string[]
): Kind<T> {
  const parsed = (raw: unknown): T => {
    const value = typeof raw === "string" ? parse(raw) : null
    if (value !== null) return value
    throw new FormatFault(`expected ${name}, found ${JSON.stringify(raw)}`)
  }
  return { holds: { begins }, write: (value) => `"${parsed(value)}"`, read: parsed }
}

/** Ids, by what they name. Other text is refused in both directions. */
export const id = {
  company: kindOf("a company's id", parseCompanyId, "co_"),
  person: kindOf("a person's id", parsePersonId, "per_"),
  key: kindOf("a key's id", parseKeyId, "key_"),
  purchase: kindOf("a purchase's id", parsePurchaseId, "pur_"),
  message: kindOf("a message's id", parseMessageId, "msg_"),
  number: kindOf("a number's id", parseNumberId, "num_"),
  /** Of those whom a limit can bind beside the company. */
  holder: kindOf(
    "a person's or a key's id",
    (text) => parsePersonId(text) ?? parseKeyId(text),
    "per_",
    "key_",
  ),
}

/** Text that was sealed. Other text is refused in both directions: none is stored in the clear. */
export const sealed: Kind<Sealed> = kindOf("sealed text", parseSealed, "s1.")
