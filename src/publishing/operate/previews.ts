/** Companies' previews, as an operator sees them and empties them. */
import { z } from "zod"
import { publishesOf } from "../../../domain/publishing/aggregates.ts"
import { liveOf } from "../../../domain/publishing/publishing.ts"
import { accepted, company, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"
import { addressOf } from "../address.ts"

const show = operation({
  name: "preview show",
  summary: "show a company's preview: its address, what is live, and whether its app runs",
  notes: ["An app sleeps after 15 minutes without a visit, and starts with the next one."],
  example: "preview show --company acme",
  input: z.object({ company }),
  console: { permission: "Create test environments" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const { url } = await addressOf(ports, companyId)
    const live = await ports.runner.readLatest(publishesOf(companyId), liveOf)
    const standing = await ports.previewHost.look(companyId)
    const apps = standing?.versions.map(({ publishId, status }) => ({ publishId, status })) ?? null
    const bytes = await ports.previewHost.measure(companyId)
    return { companyId, url, live, apps, bytes }
  },
})

const reset = operation({
  name: "preview reset",
  summary: "empty the database and the storage of a company's preview",
  example: 'preview reset --company acme --reason "the tests begin anew"',
  changes: true,
  irreversible: { field: "company", says: "the preview's database and storage are gone" },
  input: z.object({ company }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    // The fact first: whoever dies in between has it emptied by the next try.
    accepted(await ports.runner.execute(publishesOf(companyId), { type: "ResetPreview" }, cause))
    await ports.previewHost.erase(companyId)
    return { companyId, bytes: await ports.previewHost.measure(companyId) }
  },
})

/** Operations on companies' previews. */
export const previewOperations: readonly AdminOperation[] = [show, reset]
