/** What was built of a commit, and how it is served: the manifest of an artifact. */
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"

/** A file of a static site. */
export interface ArtifactFile {
  /** Where its bytes begin in the artifact's content. */
  readonly from: number
  /** Bytes. */
  readonly size: number
  /** The SHA-256 of its bytes, hexadecimal. */
  readonly hash: string
}

/**
 * An artifact. The content of a static site is its files' bytes, one behind the other; that of an app the tar
 * archive that the build gave, which only sandboxes unpack.
 */
export interface Manifest {
  readonly recipe: Recipe
  /** By their paths, `about/index.html`; null for an app. */
  readonly files: ReadonlyMap<string, ArtifactFile> | null
}
