/** Companies' previews, as an operator sees them and empties them. */
import { z } from "zod"
import { publishStreamOf } from "../../../domain/publishing/aggregates.ts"
import { livePublishOf } from "../../../domain/publishing/publishing.ts"
import { requireAccepted, companyInput, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"
import { previewSiteOf } from "../preview-site.ts"

const show = operation({
  name: "preview show",
  summary: "show a company's preview: its address, what is live, and whether its app runs",
  notes: ["An app sleeps after 15 minutes without a visit, and starts with the next one."],
  example: "preview show --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Create test environments" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const { url } = await previewSiteOf(ports, companyId)
    const live = await ports.runner.readLatest(publishStreamOf(companyId), livePublishOf)
    const standing = await ports.previewHost.readStatus(companyId)
    const apps = standing?.versions.map(({ publishId, status }) => ({ publishId, status })) ?? null
    const bytes = await ports.previewHost.measureBytes(companyId)
    return { companyId, url, live, apps, bytes }
  },
})

const reset = operation({
  name: "preview reset",
  summary: "empty the database and the storage of a company's preview",
  example: 'preview reset --company acme --reason "the tests begin anew"',
  changes: true,
  irreversible: { field: "company", says: "the preview's database and storage are gone" },
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    // The fact first: whoever dies in between has it emptied by the next try.
    requireAccepted(
      await ports.runner.execute(publishStreamOf(companyId), { type: "ResetPreview" }, cause),
    )
    await ports.previewHost.erase(companyId)
    return { companyId, bytes: await ports.previewHost.measureBytes(companyId) }
  },
})

/** Operations on companies' previews. */
export const previewOperations: readonly AdminOperation[] = [show, reset]
