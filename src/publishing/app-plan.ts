/** The plan for starting a version of a company's app. */
import type { AppStartPlan, AppVersion } from "../../adapters/sandbox/preview-host/port.ts"
import type { Ports } from "../frame/ports.ts"
import { previewSiteOf } from "./preview-site.ts"
import { openArtifact } from "./artifacts.ts"

/** Builds the plan of a version from its stored artifact. @throws Error if there is none */
export async function appPlanOf(
  ports: Pick<Ports, "baseUrl" | "blobs" | "runner" | "sealing" | "settings">,
  { companyId, publishId }: AppVersion,
  isNew: boolean,
): Promise<AppStartPlan> {
  const artifact = await openArtifact(ports, companyId, publishId)
  if (artifact === null) throw new Error(`the artifact of ${publishId} is missing`)
  const { url } = await previewSiteOf(ports, companyId)
  const { recipe } = artifact.manifest
  return { companyId, publishId, recipe, url, files: () => artifact.content.read(), isNew }
}
