/** Operations on companies' previews. */
import { z } from "zod"
import { publishStreamOf } from "../../../domain/publishing/aggregates.ts"
import { livePublishOf } from "../../../domain/publishing/publishing.ts"
import { requireAccepted, companyInput, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"
import { previewSiteOf } from "../preview-site.ts"

const show = operation({
  name: "preview show",
  summary: "show a company's preview: its address, the live publish, and the status of its app",
  notes: ["An app sleeps after 15 minutes without a visit and starts with the next visit."],
  example: "preview show --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Create test environments" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const { url } = await previewSiteOf(ports, companyId)
    const live = await ports.runner.readLatest(publishStreamOf(companyId), livePublishOf)
    const status = await ports.previewHost.readStatus(companyId)
    const apps =
      status?.versions.map((app) => ({ publishId: app.publishId, status: app.status })) ?? null
    const bytes = await ports.previewHost.measureBytes(companyId)
    return { companyId, url, live, apps, bytes }
  },
})

const reset = operation({
  name: "preview reset",
  summary: "empty the database and the storage of a company's preview",
  example: 'preview reset --company acme --reason "restart the tests"',
  changes: true,
  irreversible: { field: "company", says: "the preview's database and storage are deleted" },
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    // The fact first: after a crash in between, the next try empties the preview.
    requireAccepted(
      await ports.runner.execute(publishStreamOf(companyId), { type: "ResetPreview" }, cause),
    )
    await ports.previewHost.erase(companyId)
    return { companyId, bytes: await ports.previewHost.measureBytes(companyId) }
  },
})

export const previewOperations: readonly AdminOperation[] = [show, reset]
