/** What of mail an operator sets: who takes it, whom the program's own is from, and where what comes back. */
import { z } from "zod"
import { domainToASCII } from "node:url"
import { parseMailbox } from "../../domain/email/mailbox.ts"
import { defineSettings } from "../frame/settings.ts"

const MAIL_URL =
  "must be smtps://name:password@host, smtp://host (with STARTTLS, unless it is this machine), or direct:"
const MAIL_FROM = "must be an address such as ledger@example.com, or Name <address>"
const BOUNCE_LISTEN = "must be an address and a port, such as 0.0.0.0:25"

/** To send straight to the recipients' own servers. */
export const DIRECT_DELIVERY = "direct:"

/** A relay's address says where it is and who we are there, and nothing else. */
function isMailUrl(text: string): boolean {
  if (text === DIRECT_DELIVERY) return true
  const url = URL.parse(text)
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return false
  return (url.pathname === "" || url.pathname === "/") && `${url.search}${url.hash}` === ""
}

const BOUNCE_ADDRESS = /^(?<host>\[[\da-f:.]+\]|[\w.-]+):(?<port>\d{1,5})$/i

/** Where something listens, or null where a text does not say that. */
function parseBounceAddress(text: string): { readonly host: string; readonly port: number } | null {
  const { host = "", port = "" } = BOUNCE_ADDRESS.exec(text)?.groups ?? {}
  if (host === "" || Number(port) > 65_535) return null
  return { host: host.replaceAll(/[[\]]/g, ""), port: Number(port) }
}

/** What of mail an operator sets. */
export const mailSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    MAIL_URL: z.string().refine(isMailUrl, MAIL_URL).optional(),
    MAIL_FROM: z
      .string()
      .refine((text) => parseMailbox(text, domainToASCII) !== null, MAIL_FROM)
      .optional(),
    BOUNCE_LISTEN: z
      .string()
      .refine((text) => parseBounceAddress(text) !== null, BOUNCE_LISTEN)
      .transform((text) => parseBounceAddress(text))
      .optional(),
  }),
  // It may hold a password.
  secret: ["MAIL_URL"],
  faults: (given) =>
    given["MAIL_FROM"] !== undefined && given["MAIL_URL"] === undefined
      ? ["MAIL_FROM is whom the program's own mails are from: set MAIL_URL, or leave it out."]
      : [],
})
