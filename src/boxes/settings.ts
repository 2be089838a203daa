/** Settings of boxes. */
import { createHash } from "node:crypto"
import { isIP } from "node:net"
import { resolve } from "node:path"
import { z } from "zod"
import { domainNameSchema, isUrlInDomain } from "../frame/kernel/sites.ts"
import { defineSettings } from "../frame/settings.ts"

const BLOCK_MESSAGE =
  "must be IP addresses or networks separated by commas, such as 203.0.113.7,198.51.100.0/24"

/** Whether a text is an IP address, or a network in CIDR notation. */
function isNetwork(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/")
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** The box host, the networks it blocks, and the domain of preview links. */
export const boxSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    BOX_HOST: z
      .enum(["bubblewrap", "simulator"], "must be bubblewrap or simulator")
      .default("bubblewrap"),
    BOX_DOMAIN: domainNameSchema("box.example.com").default("box.localhost"),
    LEDGER_BOX_DIR: z.string().min(1).max(60, "must have at most 60 characters").optional(),
    LEDGER_BOX_ROOT: z.string().min(1).optional(),
    LEDGER_BOX_BLOCK: z
      .string()
      .transform((text) => text.split(",").map((one) => one.trim()))
      .refine((networks) => networks.every(isNetwork), BLOCK_MESSAGE)
      .default([]),
  }),
  faults: ({ BOX_DOMAIN: domain, BASE_URL: base }) =>
    domain !== undefined && isUrlInDomain(base, domain)
      ? [
          "BASE_URL must not be in BOX_DOMAIN: programs in boxes could read the API's cookies. Use another domain for one of them.",
        ]
      : [],
})

/** The folder of an installation's boxes. Its path is short, because it holds sockets, and box users can read it. */
export function resolveBoxRunDir(
  { LEDGER_BOX_DIR }: { readonly LEDGER_BOX_DIR?: string | undefined },
  dataDir: string,
): string {
  if (LEDGER_BOX_DIR !== undefined) return resolve(LEDGER_BOX_DIR)
  const name = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 8)
  return `/var/tmp/ledger-boxes-${process.getuid?.() ?? 0}-${name}`
}
