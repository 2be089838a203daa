/** Reads live publishes and their artifacts for the host route. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Artifact } from "../artifacts.ts"

/** Finds the publish that a preview serves. */
export interface PublishReader {
  /** The live publish; null if there is none. */
  readonly livePublish: (ports: Ports, companyId: CompanyId) => Promise<LivePublish | null>
  /** The artifact of a publish; null if it no longer exists. */
  readonly openArtifact: (
    ports: Ports,
    companyId: CompanyId,
    publishId: PublishId,
  ) => Promise<Artifact | null>
}
