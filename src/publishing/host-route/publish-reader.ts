/** What is live, as the door is given it: by what decides about publishes, and what keeps their artifacts. */
import type { Blob } from "../../../adapters/postgres/blobs/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ArtifactManifest } from "../artifacts.ts"

/** What was built. */
export interface Artifact {
  readonly manifest: ArtifactManifest
  readonly content: Blob
}

/** Finds what a company's preview serves. */
export interface PublishReader {
  /** What is live now; null for nothing. */
  readonly livePublish: (ports: Ports, companyId: CompanyId) => Promise<LivePublish | null>
  /** What was built for a publish; null where it is not kept any more. */
  readonly openArtifact: (
    ports: Ports,
    companyId: CompanyId,
    publishId: PublishId,
  ) => Promise<Artifact | null>
}
