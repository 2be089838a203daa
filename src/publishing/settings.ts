/** What of publishing an operator sets. */
import { resolve } from "node:path"
import { z } from "zod"
import { domainNameSchema, isUrlInDomain, isHostInDomain } from "../frame/kernel/sites.ts"
import { defineSettings } from "../frame/settings.ts"

const BASE_URL_FAULT =
  "PREVIEW_DOMAIN is for what companies publish: BASE_URL must not be of it, or that could read the API's cookies."

/** The domain of companies' previews, and where they keep what they keep. */
export const publishingSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    PREVIEW_DOMAIN: domainNameSchema("preview.example.com").default("preview.localhost"),
    PREVIEW_DIR: z.string().min(1).optional(),
  }),
  faults: (given) => {
    const { PREVIEW_DOMAIN: domain = "preview.localhost", BASE_URL: base } = given
    const { BOX_DOMAIN: boxes = "box.localhost" } = given
    const isCrossed = isHostInDomain(domain, boxes) || isHostInDomain(boxes, domain)
    return [
      ...(isUrlInDomain(base, domain) ? [BASE_URL_FAULT] : []),
      ...(isCrossed ? ["PREVIEW_DOMAIN and BOX_DOMAIN must not be of one another."] : []),
    ]
  },
})

/** The folder of the databases and storages of all previews: in the data folder where none is named. */
export function resolvePreviewDir(
  { PREVIEW_DIR }: { readonly PREVIEW_DIR?: string | undefined },
  dataDir: string,
): string {
  return PREVIEW_DIR === undefined ? resolve(dataDir, "previews") : resolve(PREVIEW_DIR)
}
