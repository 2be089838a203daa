/** Answers of the operations on code, previews and boxes, with the fields that pages show. */
import type { Schema } from "./api-client.ts"

/** A company's repository. */
export interface RepositoryDetails {
  readonly isThere: boolean
  readonly branch: string
  readonly refs: readonly Ref[]
}

/** A branch or tag and its commit. */
export interface Ref {
  readonly kind: "branch" | "tag"
  readonly name: string
  readonly id: string
}

/** A page of pushes, newest first. */
export interface PushList {
  readonly pushes: readonly PushRecord[]
  readonly next: number | null
}

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
  /** Its refs, or the message of its refusal; null after erasure. */
  readonly lines: readonly string[] | null
}

/** The company's preview. */
export interface PreviewDetails {
  readonly url: string
  readonly live: { readonly publishId: string; readonly kind: string } | null
  readonly apps: readonly { readonly publishId: string; readonly status: string }[] | null
  /** Size of its database and storage. */
  readonly bytes: number | null
}

/** The logs of a publish that still exist. */
export interface PublishLog {
  readonly error: string | null
  readonly build: string | null
  readonly start: string | null
  readonly app: { readonly status: string; readonly log: string } | null
}

export interface BoxList {
  readonly boxes: readonly Box[]
}

/** A box, with its person if known. */
export type Box = Schema<"Box"> & {
  readonly personId?: string | null
  readonly keyId?: string | null
}
