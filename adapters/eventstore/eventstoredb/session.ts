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
  storeEndRequest,
  streamReadRequest,
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

/** Metadata and credentials of each call, without a gRPC deadline. */
type CallArguments = [Metadata, CallOptions]

/** A call of the server that streams events or answers until it ends. */
type StreamCall = ReturnType<StreamsClient["read"]> | ReturnType<StreamsClient["batchAppend"]>

/** Makes a call; its listeners must be attached when this returns. */
type MakeCall<C extends StreamCall> = (grpc: StreamsClient, ...parameters: CallArguments) => C

interface SessionOptions {
  readonly address: EventStoreDbAddress
  /** A node that just failed, `host:port`: the search for the leader starts with other nodes. */
  readonly avoidedHost: string | null
  readonly connectTimeoutMs: number
  readonly knownPositions: KnownPositions
  readonly onVerified: () => void
  /** Called with the reason when the node is behind the known positions. */
  readonly onStale: (why: string) => void
  readonly onDisposed: (session: EventStoreDbSession) => void
}

interface NodeConnection {
  readonly grpc: StreamsClient
  readonly node: ClusterNode
  /** Resolves when the node's first answer shows that it leads and has all known positions. */
  readonly verified: Promise<void>
}

/**
 * One connection at a time to the leader. It finds the leader, again whenever the connection broke or the leader
 * changed. A node gets requests only after its first answer shows that it leads and has everything this process
 * has seen.
 *
 * It uses the vendor's protocol through the generated stubs. The client in the same package is unsuitable:
 *
 * - its appends wait for answers in a map that all clients of a process share, and get neither answer nor error
 *   once another server was lost;
 * - its reads parse the JSON of events, so the original bytes are lost;
 * - its reads of all streams have no filter;
 * - it exposes neither its connection nor when it moves to another node.
 */
export class EventStoreDbSession {
  readonly #options: SessionOptions
  readonly #retired = new AbortController()
  readonly #disposed = new AbortController()
  readonly #calls = new Set<StreamCall>()
  #connection: NodeConnection | null = null
  #connecting: Promise<NodeConnection> | null = null
  #host: string | null = null
  /** The leader that a node named which does not lead. */
  #namedLeader: string | null = null

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Aborts when the server did not answer in time: calls in progress should use another session. */
  get retired(): AbortSignal {
    return this.#retired.signal
  }

  /** The node it is or was connected to, `host:port`; null before the first. */
  get host(): string | null {
    return this.#host
  }

  /**
   * Makes a call and returns it with its node. It requires the leader: a follower may be behind,
   * and decisions must not use old data.
   *
   * @throws Unavailable, AccessDenied
   */
  async call<C extends StreamCall>(
    make: MakeCall<C>,
  ): Promise<{ readonly call: C; readonly node: ClusterNode }> {
    const connection = await this.#withTimeout(this.#connectToLeader())
    return { call: this.#startCall(connection, make), node: connection.node }
  }

  /**
   * Returns the position of the newest event, including the server's own, which the server finds without a search;
   * `START` if there is none. A server that does not answer within `withinMs` is given up.
   *
   * @throws Unavailable, AccessDenied
   */
  async readEnd(
    withinMs: number,
  ): Promise<{ readonly readEnd: Position; readonly node: ClusterNode }> {
    const request = this.#connectToLeader().then(async ({ node }) => ({
      node,
      readEnd: await node.readEnd(),
    }))
    return this.#withTimeout(request, withinMs)
  }

  /**
   * Sends new calls elsewhere, because an answer is overdue; disconnects when the calls in progress have ended.
   */
  retire(): void {
    this.#retired.abort()
    if (this.#calls.size === 0) this.dispose()
  }

  dispose(): void {
    if (this.#disposed.signal.aborted) return
    this.#disposed.abort()
    for (const call of this.#calls) call.cancel()
    this.#connection?.grpc.close()
    this.#options.onDisposed(this)
  }

  async #connectToLeader(): Promise<NodeConnection> {
    for (let attempt = 1; ; attempt += 1) {
      const connection = this.#connection ?? (await this.#connectOnce())
      try {
        await connection.verified
        this.#options.onVerified()
        return connection
      } catch (error) {
        this.#dropConnection(connection, error)
        if (!(error instanceof NotLeader) || attempt > MAX_REDIRECTS) throw error
      }
    }
  }

  /** Opens a connection that concurrent callers share. @throws the errors of the search for the leader */
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
          this.#readFirst({ grpc }, storeEndRequest()).then((found) => found?.position ?? START),
        ),
      mayContain: async (event) =>
        this.#withTimeout(mayContainEvent(this.#readFirstFrom({ grpc }), event)),
      onStale: (why) => {
        this.retire()
        onStale(why)
      },
    })
    const verified = node.verifyHistory()
    // Waiting callers get the error; there may be none.
    verified.catch(() => undefined)
    this.#connection = { grpc, node, verified }
    return this.#connection
  }

  /** Closes the connection to a node: the next call finds the leader. */
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
    // gRPC emits `status` last, however the call ends.
    call.once("status", () => {
      this.#calls.delete(call)
      if (this.#calls.size === 0 && this.#retired.signal.aborted) this.dispose()
    })
    return call
  }

  async #readFirst(
    connection: Pick<NodeConnection, "grpc">,
    request: ReadReq,
  ): Promise<StoredEvent | null> {
    const { promise, resolve, reject } = Promise.withResolvers<StoredEvent | null>()
    this.#startCall(connection, (grpc, ...parameters) => {
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

  #readFirstFrom(connection: Pick<NodeConnection, "grpc">): ReadFirstEvent {
    return async (stream, from) => {
      const first = await this.#readFirst(connection, streamReadRequest(stream, { from, limit: 1 }))
      if (first !== null || from > 0) return first
      const newest = { direction: "backwards", limit: 1 } as const
      const settings = await this.#readFirst(
        connection,
        streamReadRequest(settingsStream(stream), newest),
      )
      requireNotHidden(stream, settings ?? undefined)
      return null
    }
  }

  /** Bounds a request that precedes a call. @throws Unavailable, AccessDenied */
  async #withTimeout<T>(
    request: Promise<T>,
    withinMs = this.#options.connectTimeoutMs,
  ): Promise<T> {
    try {
      const answer = await withTimeout(withinMs, request, TIMED_OUT)
      if (answer !== TIMED_OUT) return answer
    } catch (error) {
      throw storeErrorFromGrpc(error)
    }
    this.retire()
    throw new Unavailable(`The event store did not answer within ${withinMs} ms`)
  }
}

const TIMED_OUT = Symbol("late")

/**
 * Asks the nodes of a cluster, in random order, which of them leads.
 *
 * @param avoid a node, `host:port`, that just failed: it is asked last
 * @param signal ends the search
 * @returns the leader, `host:port`
 * @throws Error if no node names a leader in as many rounds as the connection string sets
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
  throw new Error(`No node of the event store's cluster names a live leader (${attempts} attempts)`)
}

function shuffledHosts(hosts: readonly string[], last: string | null): readonly string[] {
  const rank = (host: string): number => (host === last ? 1 : Math.random())
  return hosts
    .map((host) => ({ host, at: rank(host) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ host }) => host)
}

/** Returns the leader that a node names; null if it names none or does not answer. */
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

/** The gRPC error of a failed call. A failed search for the leader is a plain error. */
interface CallFailure extends Error {
  readonly code?: number
  readonly details?: string
  readonly metadata?: { readonly getMap: () => Readonly<Record<string, unknown>> }
}

const ABORTED = 10
const PERMISSION_DENIED = 7
const UNAVAILABLE = 14
const UNAUTHENTICATED = 16

/** The node is not the leader of its cluster, and stored nothing. */
export class NotLeader extends Unavailable {
  /** The leader that the node names, `host:port`. */
  readonly leader: string

  constructor(cause: CallFailure) {
    super("The event store's node does not lead its cluster", { cause })
    const metadata = cause.metadata?.getMap() ?? {}
    this.leader = `${String(metadata["leader-endpoint-host"])}:${String(metadata["leader-endpoint-port"])}`
  }
}

/** How many times a call follows to another leader until it fails. */
export const MAX_REDIRECTS = 3

/** Translates a failed call that stored nothing: a read, or an append that was not sent. */
export function storeErrorFromGrpc(error: unknown): Unavailable | AccessDenied | CorruptStream {
  const isTranslated = error instanceof Unavailable || error instanceof AccessDenied
  if (isTranslated || error instanceof CorruptStream) return error
  const { code, details, message, metadata } = error as CallFailure
  const exception = metadata?.getMap()["exception"]
  const isDenied = code === PERMISSION_DENIED || code === UNAUTHENTICATED
  if (isDenied || exception === "access-denied") {
    return new AccessDenied(
      "The event store rejected the credentials: check user, password and permissions",
      { cause: error },
    )
  }
  if (exception === "stream-deleted")
    return streamDeletedError(String(metadata?.getMap()["stream-name"]))
  if (exception === "not-leader") return new NotLeader(error as CallFailure)
  const reason = (details || message).replace(EMPTY_NOTE, "")
  return new Unavailable(`The event store is unavailable: ${reason}`, { cause: error })
}

/** gRPC appends an empty note to some messages. */
const EMPTY_NOTE = / Resolution note: ?$/

function isUnreachable(error: Error): boolean {
  return (error as CallFailure).code === UNAVAILABLE
}

/**
 * Whether the server ended a subscription because it was read too slowly. One append of several
 * hundred events causes this for an idle subscriber.
 */
export function isConsumerTooSlow(error: Error): boolean {
  return (error as CallFailure).code === ABORTED
}

/** Answers of a server that stored nothing: it is starting, busy, or has no leader. */
const NOT_ATTEMPTED =
  /^(Server Is Not Ready|Server Is (Too )?Busy|No leader info|Unknown NotHandled)/

/** Translates the server's rejection of an append. */
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
        `stream ${stream}: the append is over the event store's limit of ${limit} bytes`,
      )
    }
    case "event_store.client.AccessDenied":
      return new AccessDenied(
        `stream ${stream}: the event store rejected the credentials; check their permissions`,
      )
    case "event_store.client.StreamDeleted":
      return streamDeletedError(stream)
    case "event_store.client.BadRequest": {
      const reason = shared.BadRequest.deserializeBinary(bytes).getMessage()
      return new RangeError(`stream ${stream}: the event store cannot store this append: ${reason}`)
    }
  }
  const message = status.getMessage() || name
  return NOT_ATTEMPTED.test(message)
    ? new Unavailable(`The event store is unavailable: ${message}`)
    : new UnknownOutcome(
        `stream ${stream}: the event store answered with an unknown error: ${message}`,
      )
}

function wrongRevisionError(bytes: Uint8Array, stream: string, expected: number): WrongRevision {
  const found = shared.WrongExpectedVersion.deserializeBinary(bytes)
  if (found.hasCurrentStreamRevision()) {
    return new WrongRevision(stream, expected, Number(found.getCurrentStreamRevision()))
  }
  return new WrongRevision(stream, expected, found.hasCurrentNoStream() ? NO_STREAM : null)
}

/**
 * Checks that an empty stream never existed: a hidden stream would be started a second time.
 *
 * @param settings the newest event of its settings, if any
 * @throws CorruptStream if they hide it
 */
export function requireNotHidden(stream: string, settings: { readonly data: string } | undefined) {
  const hides = findHidingSetting(settings?.data ?? "")
  if (hides !== null) throw streamDeletedError(stream, `nothing: its settings hide it (${hides})`)
}

function streamDeletedError(
  stream: string,
  reason = "it was deleted in the event store",
): CorruptStream {
  return new CorruptStream({ stream, revision: 0, expected: "its first fact", found: reason })
}
