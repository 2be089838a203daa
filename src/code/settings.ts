/** Settings of the companies' code. */
import { resolve } from "node:path"
import { z } from "zod"
import type { HostAlias } from "../frame/http/host-routes.ts"
import { defineSettings } from "../frame/settings.ts"

const CODE_URL_MESSAGE = "must be the address of a host, such as https://code.example.com"

/** The folder of the repositories, and an optional host name of their own. */
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
    const [base, code] = [given["BASE_URL"], given["CODE_URL"]].map((text = "") => hostIn(text))
    const isSame = code !== null && code === base
    return isSame
      ? [
          "CODE_URL must have another host name than BASE_URL. Leave it out to use /git of BASE_URL.",
        ]
      : []
  },
})

/** The absolute folder of the repositories; by default in the data folder. */
export function resolveCodeDir(
  { CODE_DIR }: { readonly CODE_DIR?: string | undefined },
  dataDir: string,
): string {
  return CODE_DIR === undefined ? resolve(dataDir, "code") : resolve(CODE_DIR)
}

/** The host name of a URL, in lower case; null if it is not a URL. */
const hostIn = (text: string): string | null =>
  URL.canParse(text) ? new URL(text).hostname.toLowerCase() : null

/** Serves the repositories at the root of their own host name, if there is one. */
export function codeAlias({
  CODE_URL,
}: {
  readonly CODE_URL?: string | undefined
}): readonly HostAlias[] {
  const codeHost = hostIn(CODE_URL ?? "")
  return codeHost === null ? [] : [{ pathFor: (host) => (host === codeHost ? "/git" : null) }]
}
