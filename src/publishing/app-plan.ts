/** How a version of a company's app is started. */
import type { AppStartPlan, AppVersion } from "../../adapters/sandbox/preview-host/port.ts"
import type { Ports } from "../frame/ports.ts"
import { previewSiteOf } from "./preview-site.ts"
import { openArtifact } from "./artifacts.ts"

/** The plan of a version whose artifact is kept. @throws Error where it is not */
export async function appPlanOf(
  ports: Pick<Ports, "baseUrl" | "blobs" | "runner" | "sealing" | "settings">,
  { companyId, publishId }: AppVersion,
  isNew: boolean,
): Promise<AppStartPlan> {
  const artifact = await openArtifact(ports, companyId, publishId)
  if (artifact === null) throw new Error(`what was built of ${publishId} is not there`)
  const { url } = await previewSiteOf(ports, companyId)
  const { recipe } = artifact.manifest
  return { companyId, publishId, recipe, url, files: () => artifact.content.read(), isNew }
}
