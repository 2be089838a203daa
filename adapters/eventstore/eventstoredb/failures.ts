import type { Status } from "@eventstore/db-client/generated/status_pb.js"
import shared from "@eventstore/db-client/generated/shared_pb.js"

import {
  AccessDenied,
  DamagedStream,
  NO_STREAM,
  TooLarge,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "../port.ts"
import { hidingSetting } from "./read-requests.ts"

/** What gRPC says about a call that failed. A failed search for the cluster's nodes is a plain error. */
interface CallFailure extends Error {
  readonly code?: number
  readonly details?: string
  readonly metadata?: { readonly getMap: () => Readonly<Record<string, unknown>> }
}

const ABORTED = 10
const PERMISSION_DENIED = 7
const UNAVAILABLE = 14
const UNAUTHENTICATED = 16

/** The node that was asked is not the leader of its cluster, and did not even try. */
export class NotLeader extends Unavailable {
  /** The leader as that node knows it, `host:port`. */
  readonly leader: string

  constructor(cause: CallFailure) {
    super("the event store's node does not lead its cluster", { cause })
    const said = cause.metadata?.getMap() ?? {}
    this.leader = `${String(said["leader-endpoint-host"])}:${String(said["leader-endpoint-port"])}`
  }
}

/** So often a node may name another one as the leader, until that is a failure. */
export const MOST_REDIRECTS = 3

/** What a failed call means when nothing was stored by it: it only read, or it never began. */
export function refusal(error: unknown): Unavailable | AccessDenied | DamagedStream {
  const isRefusal = error instanceof Unavailable || error instanceof AccessDenied
  if (isRefusal || error instanceof DamagedStream) return error
  const { code, details, message, metadata } = error as CallFailure
  const exception = metadata?.getMap()["exception"]
  const isDenied = code === PERMISSION_DENIED || code === UNAUTHENTICATED
  if (isDenied || exception === "access-denied") {
    return new AccessDenied("the event store refuses these credentials", { cause: error })
  }
  if (exception === "stream-deleted") return deleted(String(metadata?.getMap()["stream-name"]))
  if (exception === "not-leader") return new NotLeader(error as CallFailure)
  const reason = (details || message).replace(EMPTY_NOTE, "")
  return new Unavailable(`the event store is unavailable: ${reason}`, { cause: error })
}

/** The end of a message of gRPC that has nothing to add about how a name was resolved. */
const EMPTY_NOTE = / Resolution note: ?$/

/** Whether a call failed because its node cannot be reached or does not serve at the moment. */
export function isUnreachable(error: Error): boolean {
  return (error as CallFailure).code === UNAVAILABLE
}

/**
 * Whether the server ended a subscription only because it was not read fast enough. That is normal:
 * one append of some hundred events does it to a subscriber that had nothing to do.
 */
export function isTooSlow(error: Error): boolean {
  return (error as CallFailure).code === ABORTED
}

/** Answers of a server that did not even try: it is starting, busy, or lost its leader. */
const NOT_TRIED = /^(Server Is Not Ready|Server Is (Too )?Busy|No leader info|Unknown NotHandled)/

/** What the server's no to an append means. */
export function appendRefusal(status: Status, stream: string, expectedRevision: number): Error {
  const details = status.getDetails()
  const name = details?.getTypeName() ?? ""
  const bytes = details?.getValue_asU8() ?? new Uint8Array()
  switch (name) {
    case "event_store.client.WrongExpectedVersion":
      return wrongRevision(bytes, stream, expectedRevision)
    case "event_store.client.MaximumAppendSizeExceeded": {
      const limit = shared.MaximumAppendSizeExceeded.deserializeBinary(bytes).getMaxappendsize()
      return new TooLarge(`stream ${stream}: the event store takes ${limit} bytes in one append`)
    }
    case "event_store.client.AccessDenied":
      return new AccessDenied(`stream ${stream}: the event store refuses these credentials`)
    case "event_store.client.StreamDeleted":
      return deleted(stream)
    case "event_store.client.BadRequest": {
      const reason = shared.BadRequest.deserializeBinary(bytes).getMessage()
      return new RangeError(`stream ${stream}: the event store cannot keep this: ${reason}`)
    }
  }
  const message = status.getMessage() || name
  return NOT_TRIED.test(message)
    ? new Unavailable(`the event store is unavailable: ${message}`)
    : new UnknownOutcome(`stream ${stream}: the event store answered ${message}`)
}

function wrongRevision(bytes: Uint8Array, stream: string, expected: number): WrongRevision {
  const found = shared.WrongExpectedVersion.deserializeBinary(bytes)
  if (found.hasCurrentStreamRevision()) {
    return new WrongRevision(stream, expected, Number(found.getCurrentStreamRevision()))
  }
  return new WrongRevision(stream, expected, found.hasCurrentNoStream() ? NO_STREAM : null)
}

/**
 * Sees that a stream of which nothing is shown was never there: one that is hidden would be begun a second
 * time.
 *
 * @param settings the newest event of its settings, where there is one
 * @throws DamagedStream where they hide it
 */
export function checkNotHidden(stream: string, settings: { readonly data: string } | undefined) {
  const hides = hidingSetting(settings?.data ?? "")
  if (hides !== null) throw deleted(stream, `nothing: its settings hide it (${hides})`)
}

/** A stream that is gone: the server says that it was deleted, or was told to show nothing of it. */
function deleted(stream: string, how = "it was deleted in the event store"): DamagedStream {
  return new DamagedStream({ stream, revision: 0, expected: "its first fact", found: how })
}
