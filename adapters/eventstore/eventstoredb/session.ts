import { StreamsClient } from "@eventstore/db-client/generated/streams_grpc_pb.js"
import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { CallOptions } from "@grpc/grpc-js"
import { Metadata } from "@grpc/grpc-js"
import { withTimeout } from "../../machine/promises.ts"
import type { ReadFirstEvent, Position, StoredEvent } from "../port.ts"
import {
  mayContainEvent,
  START,
  Unavailable,
  AccessDenied,
  CorruptStream,
  NO_STREAM,
  AppendTooLarge,
  UnknownOutcome,
  WrongRevision,
} from "../port.ts"
import type { EventStoreDbAddress } from "./connection-string.ts"
import type { KnownPositions } from "./cluster-node.ts"
import { ClusterNode } from "./cluster-node.ts"
import {
  readEndRequest,
  readStreamRequest,
  settingsStream,
  toStoredEvent,
  findHidingSetting,
} from "./read-requests.ts"
import { GossipClient } from "@eventstore/db-client/generated/gossip_grpc_pb.js"
import gossip from "@eventstore/db-client/generated/gossip_pb.js"
import type { ClusterInfo } from "@eventstore/db-client/generated/gossip_pb.js"
import shared from "@eventstore/db-client/generated/shared_pb.js"
import { pause } from "../follow.ts"
import type { Status } from "@eventstore/db-client/generated/status_pb.js"

/** What each call begins with: the metadata, and the credentials without a deadline of gRPC's. */
type CallArguments = [Metadata, CallOptions]

/** A call of the server that gives events or answers until it ends. */
type StreamCall = ReturnType<StreamsClient["read"]> | ReturnType<StreamsClient["batchAppend"]>

/** Makes a call; its listeners have to be there when this returns. */
type MakeCall<C extends StreamCall> = (grpc: StreamsClient, ...parameters: CallArguments) => C

/** How a session is opened. */
interface SessionOptions {
  readonly address: EventStoreDbAddress
  /** A node that has just failed, `host:port`: the search for the leader does not begin with it. */
  readonly avoidedHost: string | null
  /** How long finding the leader, and its first answer, may take. */
  readonly connectTimeoutMs: number
  readonly knownPositions: KnownPositions
  /** Told when a node has answered. */
  readonly onVerified: () => void
  /** Told when the node has turned out to be behind what was seen before, and why. */
  readonly onStale: (why: string) => void
  /** Told when it has disconnected. */
  readonly onDisposed: (session: EventStoreDbSession) => void
}

/** A connection to a node. */
interface NodeConnection {
  readonly grpc: StreamsClient
  readonly node: ClusterNode
  /** Its first answer: it leads, and is as far as what this process has seen. */
  readonly verified: Promise<void>
}

/**
 * One connection at a time to the node that leads. It finds that node, again whenever the connection broke or the
 * leader moved. Nothing is asked of a node that has not shown, in a first answer, that it leads and is as far as what
 * this process has seen.
 *
 * The calls are those of the vendor's protocol, by the stubs in its package. The client in there is of no use:
 *
 * - its appends wait for their answers in a map that all clients of a process share, and once another server was
 *   lost they got no answer and no error;
 * - its reads parse the JSON of events, and what was written could not be given back to the byte;
 * - its reads of all streams know no filter;
 * - it gives neither its connection nor the moment at which it turns to another node.
 */
export class EventStoreDbSession {
  readonly #options: SessionOptions
  readonly #retired = new AbortController()
  readonly #disposed = new AbortController()
  readonly #calls = new Set<StreamCall>()
  #connection: NodeConnection | null = null
  #connecting: Promise<NodeConnection> | null = null
  /** The node that it is, or was, connected to. */
  #host: string | null = null
  /** The leader as a node has named it that does not lead. */
  #namedLeader: string | null = null

  /** It does not connect yet. */
  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Aborts when the server did not answer in time: what still runs here should go elsewhere. */
  get retired(): AbortSignal {
    return this.#retired.signal
  }

  /** The node that it is, or was, connected to, `host:port`; null where there was none yet. */
  get host(): string | null {
    return this.#host
  }

  /**
   * Makes a call, and tells which node it is made to. It requires the leader: a follower may be
   * behind, and what is decided must not rest on it.
   *
   * @throws Unavailable, AccessDenied
   */
  async call<C extends StreamCall>(
    make: MakeCall<C>,
  ): Promise<{ readonly call: C; readonly node: ClusterNode }> {
    const link = await this.#withTimeout(this.#connectToLeader())
    return { call: this.#startCall(link, make), node: link.node }
  }

  /**
   * The newest event's place, the server's own included: the server looks for nothing to find it.
   * `START` where there is none. A server that does not say it in so many milliseconds is given up.
   *
   * @throws Unavailable, AccessDenied
   */
  async readEnd(
    withinMs: number,
  ): Promise<{ readonly readEnd: Position; readonly node: ClusterNode }> {
    const asked = this.#connectToLeader().then(async ({ node }) => ({
      node,
      readEnd: await node.readEnd(),
    }))
    return this.#withTimeout(asked, withinMs)
  }

  /** An answer is overdue: new calls go elsewhere; once those under way have ended it disconnects. */
  retire(): void {
    this.#retired.abort()
    if (this.#calls.size === 0) this.dispose()
  }

  /** Breaks off what is under way and disconnects. */
  dispose(): void {
    if (this.#disposed.signal.aborted) return
    this.#disposed.abort()
    for (const call of this.#calls) call.cancel()
    this.#connection?.grpc.close()
    this.#options.onDisposed(this)
  }

  /** Finds the leader, and hears from it, unless it did before. */
  async #connectToLeader(): Promise<NodeConnection> {
    for (let tries = 1; ; tries += 1) {
      const link = this.#connection ?? (await this.#connectOnce())
      try {
        await link.verified
        this.#options.onVerified()
        return link
      } catch (error) {
        this.#dropConnection(link, error)
        if (!(error instanceof NotLeader) || tries > MAX_REDIRECTS) throw error
      }
    }
  }

  /** A new connection, one for all who want it. @throws what the search for the leader does */
  async #connectOnce(): Promise<NodeConnection> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null))
    return this.#connecting
  }

  async #connect(): Promise<NodeConnection> {
    const { address, avoidedHost, knownPositions, onStale } = this.#options
    const { signal } = this.#disposed
    const [first = ""] = address.hosts
    const search = () => findLeader(address, this.#host ?? avoidedHost, signal)
    const host = this.#namedLeader ?? (address.isCluster ? await search() : first)
    signal.throwIfAborted()
    this.#namedLeader = null
    this.#host = host
    const grpc = new StreamsClient(host, address.channelCredentials, address.channelOptions)
    const node = new ClusterNode(knownPositions, {
      readEnd: async () =>
        this.#withTimeout(
          this.#readFirst({ grpc }, readEndRequest()).then((found) => found?.position ?? START),
        ),
      mayContain: async (event) =>
        this.#withTimeout(mayContainEvent(this.#readFirstFrom({ grpc }), event)),
      onStale: (why) => {
        this.retire()
        onStale(why)
      },
    })
    const verified = node.verifyHistory()
    // Callers that wait for it get the error; there may be none left.
    verified.catch(() => undefined)
    this.#connection = { grpc, node, verified }
    return this.#connection
  }

  /** Takes no more calls to a node: the next one looks for the leader. */
  #dropConnection({ grpc }: Pick<NodeConnection, "grpc">, why: unknown): void {
    if (this.#connection?.grpc !== grpc) return
    this.#connection = null
    if (why instanceof NotLeader) this.#namedLeader = why.leader
    grpc.close()
  }

  #startCall<C extends StreamCall>({ grpc }: Pick<NodeConnection, "grpc">, make: MakeCall<C>): C {
    const { address } = this.#options
    const metadata = new Metadata()
    metadata.set("requires-leader", "true")
    if (address.connectionName !== undefined) {
      metadata.set("connection-name", address.connectionName)
    }
    const options: CallOptions = { deadline: Infinity }
    if (address.callCredentials !== undefined) options.credentials = address.callCredentials
    const call = make(grpc, metadata, options)
    this.#calls.add(call)
    call.once("error", (cause: Error) => {
      const refused = storeErrorFromGrpc(cause)
      if (refused instanceof NotLeader || isUnreachable(cause))
        this.#dropConnection({ grpc }, refused)
    })
    // The last event of every call, however it ends.
    call.once("status", () => {
      this.#calls.delete(call)
      if (this.#calls.size === 0 && this.#retired.signal.aborted) this.dispose()
    })
    return call
  }

  /** The first event that a read gives; null where it gives none. */
  async #readFirst(
    link: Pick<NodeConnection, "grpc">,
    request: ReadReq,
  ): Promise<StoredEvent | null> {
    const { promise, resolve, reject } = Promise.withResolvers<StoredEvent | null>()
    this.#startCall(link, (grpc, ...parameters) => {
      const call = grpc.read(request, ...parameters)
      call.on("data", (answer: ReadResp) => {
        const record = answer.getEvent()?.getEvent()
        if (record !== undefined) resolve(toStoredEvent(record))
      })
      call.on("error", (cause: Error) => reject(storeErrorFromGrpc(cause)))
      call.on("end", () => resolve(null))
      return call
    })
    return promise
  }

  #readFirstFrom(link: Pick<NodeConnection, "grpc">): ReadFirstEvent {
    return async (stream, from) => {
      const first = await this.#readFirst(link, readStreamRequest(stream, { from, limit: 1 }))
      if (first !== null || from > 0) return first
      const newest = { direction: "backwards", limit: 1 } as const
      const settings = await this.#readFirst(
        link,
        readStreamRequest(settingsStream(stream), newest),
      )
      requireNotHidden(stream, settings ?? undefined)
      return null
    }
  }

  /** What is asked of the server before a call can begin. @throws Unavailable, AccessDenied */
  async #withTimeout<T>(asked: Promise<T>, withinMs = this.#options.connectTimeoutMs): Promise<T> {
    try {
      const answer = await withTimeout(withinMs, asked, TIMED_OUT)
      if (answer !== TIMED_OUT) return answer
    } catch (error) {
      throw storeErrorFromGrpc(error)
    }
    this.retire()
    throw new Unavailable(`the event store did not answer within ${withinMs} ms`)
  }
}

const TIMED_OUT = Symbol("late")

/**
 * Asks the nodes of a cluster which of them leads, in any order, until one knows.
 *
 * @param avoid a node, `host:port`, that has just failed: it is asked last
 * @param signal ends the search
 * @returns the leader, `host:port`
 * @throws Error when no node names it after as many rounds as the address says
 */
async function findLeader(
  address: EventStoreDbAddress,
  avoid: string | null,
  signal: AbortSignal,
): Promise<string> {
  const { attempts, intervalMs } = address.discovery
  for (let round = 1; round <= attempts && !signal.aborted; round += 1) {
    for (const host of shuffledHosts(address.hosts, avoid)) {
      const leader = await askForLeader(host, address)
      if (leader !== null) return leader
      signal.throwIfAborted()
    }
    await pause(intervalMs, signal)
  }
  throw new Error(`no node of the cluster names a leader that lives (asked ${attempts} times)`)
}

function shuffledHosts(hosts: readonly string[], last: string | null): readonly string[] {
  const rank = (host: string): number => (host === last ? 1 : Math.random())
  return hosts
    .map((host) => ({ host, at: rank(host) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ host }) => host)
}

/** The leader as a node knows it; null where it does not, or does not answer. */
function askForLeader(
  host: string,
  { channelCredentials, channelOptions, discovery }: EventStoreDbAddress,
) {
  const client = new GossipClient(host, channelCredentials, channelOptions)
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const deadline = Date.now() + discovery.timeoutMs
  client.read(new shared.Empty(), new Metadata(), { deadline }, (error, cluster) => {
    client.close()
    resolve(error === null ? findLeaderIn(cluster) : null)
  })
  return promise
}

function findLeaderIn(cluster: ClusterInfo): string | null {
  const { LEADER } = gossip.MemberInfo.VNodeState
  const leader = cluster
    .getMembersList()
    .find((member) => member.getIsAlive() && member.getState() === LEADER)
  const at = leader?.getHttpEndPoint()
  return at === undefined ? null : `${at.getAddress()}:${at.getPort()}`
}

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
export const MAX_REDIRECTS = 3

/** What a failed call means when nothing was stored by it: it only read, or it never began. */
export function storeErrorFromGrpc(error: unknown): Unavailable | AccessDenied | CorruptStream {
  const isRefusal = error instanceof Unavailable || error instanceof AccessDenied
  if (isRefusal || error instanceof CorruptStream) return error
  const { code, details, message, metadata } = error as CallFailure
  const exception = metadata?.getMap()["exception"]
  const isDenied = code === PERMISSION_DENIED || code === UNAUTHENTICATED
  if (isDenied || exception === "access-denied") {
    return new AccessDenied("the event store refuses these credentials", { cause: error })
  }
  if (exception === "stream-deleted")
    return streamDeletedError(String(metadata?.getMap()["stream-name"]))
  if (exception === "not-leader") return new NotLeader(error as CallFailure)
  const reason = (details || message).replace(EMPTY_NOTE, "")
  return new Unavailable(`the event store is unavailable: ${reason}`, { cause: error })
}

/** The end of a message of gRPC that has nothing to add about how a name was resolved. */
const EMPTY_NOTE = / Resolution note: ?$/

/** Whether a call failed because its node cannot be reached or does not serve at the moment. */
function isUnreachable(error: Error): boolean {
  return (error as CallFailure).code === UNAVAILABLE
}

/**
 * Whether the server ended a subscription only because it was not read fast enough. That is normal:
 * one append of some hundred events does it to a subscriber that had nothing to do.
 */
export function isConsumerTooSlow(error: Error): boolean {
  return (error as CallFailure).code === ABORTED
}

/** Answers of a server that did not even try: it is starting, busy, or lost its leader. */
const NOT_ATTEMPTED =
  /^(Server Is Not Ready|Server Is (Too )?Busy|No leader info|Unknown NotHandled)/

/** What the server's no to an append means. */
export function appendErrorFromStatus(
  status: Status,
  stream: string,
  expectedRevision: number,
): Error {
  const details = status.getDetails()
  const name = details?.getTypeName() ?? ""
  const bytes = details?.getValue_asU8() ?? new Uint8Array()
  switch (name) {
    case "event_store.client.WrongExpectedVersion":
      return wrongRevisionError(bytes, stream, expectedRevision)
    case "event_store.client.MaximumAppendSizeExceeded": {
      const limit = shared.MaximumAppendSizeExceeded.deserializeBinary(bytes).getMaxappendsize()
      return new AppendTooLarge(
        `stream ${stream}: the event store takes ${limit} bytes in one append`,
      )
    }
    case "event_store.client.AccessDenied":
      return new AccessDenied(`stream ${stream}: the event store refuses these credentials`)
    case "event_store.client.StreamDeleted":
      return streamDeletedError(stream)
    case "event_store.client.BadRequest": {
      const reason = shared.BadRequest.deserializeBinary(bytes).getMessage()
      return new RangeError(`stream ${stream}: the event store cannot keep this: ${reason}`)
    }
  }
  const message = status.getMessage() || name
  return NOT_ATTEMPTED.test(message)
    ? new Unavailable(`the event store is unavailable: ${message}`)
    : new UnknownOutcome(`stream ${stream}: the event store answered ${message}`)
}

function wrongRevisionError(bytes: Uint8Array, stream: string, expected: number): WrongRevision {
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
 * @throws CorruptStream where they hide it
 */
export function requireNotHidden(stream: string, settings: { readonly data: string } | undefined) {
  const hides = findHidingSetting(settings?.data ?? "")
  if (hides !== null) throw streamDeletedError(stream, `nothing: its settings hide it (${hides})`)
}

/** A stream that is gone: the server says that it was deleted, or was told to show nothing of it. */
function streamDeletedError(
  stream: string,
  how = "it was deleted in the event store",
): CorruptStream {
  return new CorruptStream({ stream, revision: 0, expected: "its first fact", found: how })
}
