/** Settings of publishing. */
import { resolve } from "node:path"
import { z } from "zod"
import { domainNameSchema, isUrlInDomain, isHostInDomain } from "../frame/kernel/sites.ts"
import { defineSettings } from "../frame/settings.ts"

const BASE_URL_FAULT =
  "BASE_URL must not be in PREVIEW_DOMAIN: published apps could read the API's cookies. Use another domain for one of them."

/** The domain of companies' previews, and the folder of their data. */
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
      ...(isCrossed
        ? ["PREVIEW_DOMAIN and BOX_DOMAIN must not be the same domain, or one within the other."]
        : []),
    ]
  },
})

/** The folder of the databases and storages of all previews; by default in the data folder. */
export function resolvePreviewDir(
  { PREVIEW_DIR }: { readonly PREVIEW_DIR?: string | undefined },
  dataDir: string,
): string {
  return PREVIEW_DIR === undefined ? resolve(dataDir, "previews") : resolve(PREVIEW_DIR)
}
