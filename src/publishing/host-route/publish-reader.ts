/** Reads live publishes and their artifacts for the host route. */
import type { Blob } from "../../../adapters/postgres/blobs/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ArtifactManifest } from "../artifacts.ts"

/** An artifact as stored. */
export interface Artifact {
  readonly manifest: ArtifactManifest
  readonly content: Blob
}

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
