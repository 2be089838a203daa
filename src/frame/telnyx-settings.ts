/** Settings of the Telnyx account that texts, registrations and calls share. */
import { z } from "zod"
import type { Ports } from "./ports.ts"
import type { ProviderContext } from "./provider.ts"
import { defineSettings } from "./settings.ts"

const URL_FORM = "must be an address such as https://api.telnyx.com/v2"

/** The settings of the Telnyx account and its API. */
export const telnyxSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    TELNYX_KEY: z
      .string()
      .regex(/^KEY\w{8,}$/, "must be an API key of Telnyx: KEY…")
      .optional(),
    TELNYX_PUBLIC_KEY: z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, "must be the account's public key: 32 bytes in base64")
      .optional(),
    TELNYX_CONNECTION: z.string().regex(/^\d+$/, "must be the id of a connection").optional(),
    TELNYX_URL: z
      .url({ protocol: /^https?$/, error: URL_FORM })
      .default("https://api.telnyx.com/v2"),
  }),
  secret: ["TELNYX_KEY"],
  faults: (given) => {
    const names = ["TELNYX_KEY", "TELNYX_PUBLIC_KEY"] as const
    const missing = names.filter((name) => given[name] === undefined)
    if (missing.length === names.length) return []
    const faults = missing.map((name) => `Telnyx needs ${name} too.`)
    const hasNoBaseUrl = given["BASE_URL"] === undefined
    return hasNoBaseUrl
      ? [...faults, "Telnyx calls this server back: set BASE_URL to its public address."]
      : faults
  },
})

/** Returns the connection to the Telnyx account; null if none is configured. */
export function telnyxAccount(outside: ProviderContext, ports: () => Pick<Ports, "baseUrl">) {
  const read = outside.settings(telnyxSettings)
  const { TELNYX_KEY: key, TELNYX_PUBLIC_KEY: publicKey, TELNYX_URL: url } = read
  if (key === undefined || publicKey === undefined) return null
  return {
    key,
    publicKey,
    url,
    connectionId: read.TELNYX_CONNECTION ?? null,
    baseUrl: () => ports().baseUrl(),
    keyedHash: (text: string) => outside.sealing.installationTag(text),
  }
}
