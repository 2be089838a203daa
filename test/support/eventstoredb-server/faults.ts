import shared from "@eventstore/db-client/generated/shared_pb.js"
import type { Status } from "@eventstore/db-client/generated/status_pb.js"

import { noOf } from "./messages.ts"

/** What is done to an append that reached the server. */
export type AppendFault =
  /** Nothing. */
  | "none"
  /** The connection breaks, before or after it is stored. */
  | "cut-unstored"
  | "cut-stored"
  /** It never gets an answer. */
  | "silent-unstored"
  | "silent-stored"
  /** The server says that it timed out by itself. */
  | "timeout-stored"
  | "timeout-unstored"
  /** The server says no, and stores nothing. */
  | Refusal

/** How a server says no without trying. */
type Refusal =
  | "not-ready"
  | "busy"
  | "no-leader"
  | "denied"
  | "too-large"
  | "deleted"
  | "bad-request"
  | "unknown"

/** The server's own limit for one append. */
export const MAX_APPEND_BYTES = 1024 * 1024

/** Whether this fault leaves the append stored. */
export function isStored(fault: AppendFault): boolean {
  return fault === "none" || fault.endsWith("-stored")
}

/** The server's answer for a fault that has one. */
export function answerOf(fault: AppendFault, stream: string): Status | null {
  switch (fault) {
    case "none":
    case "cut-unstored":
    case "cut-stored":
    case "silent-unstored":
    case "silent-stored":
      return null
    case "timeout-stored":
    case "timeout-unstored":
      return noOf("Timeout")
    case "not-ready":
      return noOf("").setMessage("Server Is Not Ready")
    case "busy":
      return noOf("").setMessage("Server Is Busy")
    case "no-leader":
      return noOf("").setMessage("No leader info available in response")
    case "denied":
      return noOf("AccessDenied")
    case "too-large":
      return tooLarge()
    case "deleted":
      return streamDeleted(stream)
    case "bad-request":
      return noOf("BadRequest", new shared.BadRequest().setMessage("no").serializeBinary())
    case "unknown":
      return noOf("Unknown")
  }
}

/** The answer to an append over the limit. */
export function tooLarge(): Status {
  const limit = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES)
  return noOf("MaximumAppendSizeExceeded", limit.serializeBinary())
}

/** The answer to an append to a stream that was deleted for good. */
export function streamDeleted(stream: string): Status {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
  const deleted = new shared.StreamDeleted().setStreamIdentifier(identifier)
  return noOf("StreamDeleted", deleted.serializeBinary())
}
