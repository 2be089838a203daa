/** A company's preview goes with the company. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** Takes the database and the storage of a preview away; again after a crash. Its artifacts are blobs. */
export async function erasePreview(
  { previewHost }: Pick<Ports, "previewHost">,
  companyId: CompanyId,
): Promise<void> {
  await previewHost.erase(companyId)
}
