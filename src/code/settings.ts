/** What of the companies' code an operator sets: where it is kept, and where people find it. */
import { resolve } from "node:path"
import { z } from "zod"
import type { HostAlias } from "../frame/http/host-routes.ts"
import { defineSettings } from "../frame/settings.ts"

const CODE_URL_MESSAGE = "must be a host name's address, such as https://code.example.com"

/** Where the repositories are, and a host name of their own. */
export const codeSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    CODE_DIR: z.string().min(1).optional(),
    CODE_URL: z
      .url({ protocol: /^https?$/, error: CODE_URL_MESSAGE, abort: true })
      .refine((text) => /^[a-z]+:\/\/[^/?#@]+\/?$/i.test(text), CODE_URL_MESSAGE)
      .optional(),
  }),
  faults: (given) => {
    const [own, code] = [given["BASE_URL"], given["CODE_URL"]].map((text = "") => hostIn(text))
    const isOne = code !== null && code === own
    return isOne ? ["CODE_URL is a host name of its own: leave it out for /git of BASE_URL."] : []
  },
})

/** The folder of the repositories, absolute: in the data folder where none is named. */
export function resolveCodeDir(
  { CODE_DIR }: { readonly CODE_DIR?: string | undefined },
  dataDir: string,
): string {
  return CODE_DIR === undefined ? resolve(dataDir, "code") : resolve(CODE_DIR)
}

/** The host name of an address, in small letters; null for what is none. */
const hostIn = (text: string): string | null =>
  URL.canParse(text) ? new URL(text).hostname.toLowerCase() : null

/** The host name that leads to the repositories alone, where there is one. */
export function codeAlias({
  CODE_URL,
}: {
  readonly CODE_URL?: string | undefined
}): readonly HostAlias[] {
  const own = hostIn(CODE_URL ?? "")
  return own === null ? [] : [{ pathFor: (host) => (host === own ? "/git" : null) }]
}
