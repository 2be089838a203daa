/** Mailboxes as callers write them, checked. */
import { domainToASCII } from "node:url"
import { z } from "zod"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { parseMailbox } from "../../domain/email/mailbox.ts"

const MAILBOX_MESSAGE =
  "Must be one address such as ada@example.com, or Ada Lovelace <ada@example.com>."

/** The mailbox that a text is; null where it is none. */
const parseUnicodeMailbox = (text: string): Mailbox | null => parseMailbox(text, domainToASCII)

/** The mailbox that a text is which was kept. @throws Error where it is none */
export function parseStoredMailbox(text: string): Mailbox {
  const found = parseUnicodeMailbox(text)
  if (found === null) throw new Error("an address that was kept is none")
  return found
}

/** A mailbox in a schema. */
export const mailboxSchema = z.string().transform((text, context): Mailbox => {
  const found = parseUnicodeMailbox(text)
  if (found !== null) return found
  context.addIssue({ code: "custom", message: MAILBOX_MESSAGE })
  return z.NEVER
})
