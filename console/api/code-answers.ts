/** What operations on code, previews and boxes answer, as far as pages show it. */
import type { Schema } from "./api-client.ts"

/** A company's repository as it stands. */
export interface RepositoryDetails {
  readonly isThere: boolean
  /** The default branch. */
  readonly branch: string
  readonly refs: readonly Ref[]
}

/** A branch or tag, and where it points. */
export interface Ref {
  readonly kind: "branch" | "tag"
  readonly name: string
  readonly id: string
}

/** A page of pushes, the newest first. */
export interface PushList {
  readonly pushes: readonly PushRecord[]
  readonly next: number | null
}

/** A push, and what became of it. */
export interface PushRecord {
  readonly revision: number
  readonly at: string
  readonly pushId: string
  readonly status: "accepted" | "landed" | "other" | "refused"
  readonly code: string | null
  readonly personId: string | null
  readonly keyId: string | null
  readonly objects: number
  readonly bytes: number
  /** Its refs; of a refused one what was told of it. Null once erased. */
  readonly lines: readonly string[] | null
}

/** The company's preview. */
export interface PreviewDetails {
  readonly url: string
  readonly live: { readonly publishId: string; readonly kind: string } | null
  readonly apps: readonly { readonly publishId: string; readonly status: string }[] | null
  /** Of its database and storage. */
  readonly bytes: number | null
}

/** What a publish wrote, as far as it is kept. */
export interface PublishLog {
  readonly error: string | null
  readonly build: string | null
  readonly start: string | null
  readonly app: { readonly status: string; readonly log: string } | null
}

/** All boxes of the company. */
export interface BoxList {
  readonly boxes: readonly Box[]
}

/** A box, and whose it is where that is known. */
export type Box = Schema<"Box"> & {
  readonly personId?: string | null
  readonly keyId?: string | null
}
