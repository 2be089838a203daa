import { domainToASCII } from "node:url"
import { z } from "zod"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { parseMailbox } from "../../domain/email/mailbox.ts"

const MAILBOX_MESSAGE =
  "Must be one address, for example ada@example.com or Ada Lovelace <ada@example.com>."

const parseUnicodeMailbox = (text: string): Mailbox | null => parseMailbox(text, domainToASCII)

/** Parses a stored mailbox. @throws Error if it is invalid */
export function parseStoredMailbox(text: string): Mailbox {
  const found = parseUnicodeMailbox(text)
  if (found === null) throw new Error("a stored address is invalid")
  return found
}

/** The schema of a mailbox. */
export const mailboxSchema = z.string().transform((text, context): Mailbox => {
  const found = parseUnicodeMailbox(text)
  if (found !== null) return found
  context.addIssue({ code: "custom", message: MAILBOX_MESSAGE })
  return z.NEVER
})
