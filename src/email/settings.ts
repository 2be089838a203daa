import { z } from "zod"
import { domainToASCII } from "node:url"
import { parseMailbox } from "../../domain/email/mailbox.ts"
import { defineSettings } from "../frame/settings.ts"

const MAIL_URL =
  "must be smtps://name:password@host, smtp://host (with STARTTLS, except for this machine), or direct:"
const MAIL_FROM =
  "must be an address, for example ledger@example.com or Ledger <ledger@example.com>"
const BOUNCE_LISTEN = "must be an address and a port, for example 0.0.0.0:25"

/** The value of `MAIL_URL` for direct delivery to the recipients' servers. */
export const DIRECT_DELIVERY = "direct:"

function isMailUrl(text: string): boolean {
  if (text === DIRECT_DELIVERY) return true
  const url = URL.parse(text)
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return false
  return (url.pathname === "" || url.pathname === "/") && `${url.search}${url.hash}` === ""
}

const BOUNCE_ADDRESS = /^(?<host>\[[\da-f:.]+\]|[\w.-]+):(?<port>\d{1,5})$/i

function parseBounceAddress(text: string): { readonly host: string; readonly port: number } | null {
  const { host = "", port = "" } = BOUNCE_ADDRESS.exec(text)?.groups ?? {}
  if (host === "" || Number(port) > 65_535) return null
  return { host: host.replaceAll(/[[\]]/g, ""), port: Number(port) }
}

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
  // It may contain a password.
  secret: ["MAIL_URL"],
  faults: (given) =>
    given["MAIL_FROM"] !== undefined && given["MAIL_URL"] === undefined
      ? ["MAIL_FROM requires MAIL_URL. Set MAIL_URL, or remove MAIL_FROM."]
      : [],
})
