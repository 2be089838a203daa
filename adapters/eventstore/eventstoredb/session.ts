import { setImmediate as nextTurn } from "node:timers/promises"

import type { EventStoreDBClient } from "@eventstore/db-client"
import { StreamsClient, StreamsService } from "@eventstore/db-client/generated/streams_grpc_pb.js"
import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import { within } from "../../postgres/within.ts"
import {
  type FirstFrom,
  mayHold,
  type Position,
  START,
  type StoredEvent,
  Unavailable,
} from "../port.ts"
import { clientFor } from "./connection-string.ts"
import { checkNotHidden, MOST_REDIRECTS, NotLeader, refusal } from "./failures.ts"
import type { KnownPlaces } from "./known-places.ts"
import { type Channel, Node } from "./node.ts"
import { endRequest, streamRequest } from "./read-requests.ts"
import { storedEvent } from "./records.ts"
import { settingsStream } from "./stream-settings.ts"

/** How long a client may take to end its calls, in milliseconds: once it never did. */
const DISPOSE_TIMEOUT_MS = 1_000

/** What each call begins with: the metadata with the credentials, and no deadline of gRPC's. */
type CallArguments = ReturnType<EventStoreDBClient["callArguments"]>

/** A call of the server that gives events or answers until it ends. */
type Call = ReturnType<StreamsClient["read"]> | ReturnType<StreamsClient["batchAppend"]>

/** Makes a call; its listeners have to be there when this returns. */
type MakeCall<C extends Call> = (grpc: StreamsClient, ...parameters: CallArguments) => C

/** How a session is opened. */
export interface SessionOptions {
  readonly url: string
  /** A node that has just failed, `host:port`: the search for the leader does not begin with it. */
  readonly avoid: string | null
  /** How long finding the leader, and its first answer, may take. */
  readonly connectTimeoutMs: number
  readonly known: KnownPlaces
  /** Told when a node has answered. */
  readonly onReached: () => void
  /** Told when the node has turned out to be behind what was seen before, and why. */
  readonly onBehind: (why: string) => void
  /** Told when it has disconnected. */
  readonly onDisposed: (session: Session) => void
}

/**
 * One client of the vendor, with one connection at a time. It finds the server, again whenever the
 * connection broke or the leader moved; the calls on it are our own, made of its generated protocol:
 *
 * - its own appends wait for their answers in a map that all clients of a process share, and once
 *   another server was lost they got no answer and no error;
 * - its own reads parse the JSON of events, and what was written could not be given back to the byte;
 * - its own reads of all streams know no filter.
 *
 * Nothing is asked of a node that has not shown, in a first answer, that it leads and is as far as what
 * this process has seen.
 */
export class Session {
  readonly #client: EventStoreDBClient
  readonly #options: SessionOptions
  readonly #retired = new AbortController()
  #channel: Channel | null = null
  #node: { readonly node: Node; readonly reached: Promise<void> } | null = null
  #calls = 0
  #disposed: Promise<void> | null = null

  /** It does not connect yet. @throws RangeError for a wrong connection string */
  constructor(options: SessionOptions) {
    this.#options = options
    this.#client = clientFor(options.url, options.avoid)
    this.#mend(this.#client)
  }

  /** Aborts when the server did not answer in time: what still runs here should go elsewhere. */
  get retired(): AbortSignal {
    return this.#retired.signal
  }

  /** The node that it is, or was, connected to, `host:port`; null where there was none yet. */
  get host(): string | null {
    return this.#channel?.getTarget().replace(/^dns:/, "") ?? null
  }

  /** Asks the server, unless it is known, whether it takes appends. @throws Unavailable, AccessDenied */
  async checkAppends(): Promise<void> {
    let isSupported: boolean
    try {
      isSupported = await this.#inTime(this.#client["supports"](StreamsService.batchAppend))
    } catch (error) {
      // The client keeps the first answer, also where that was a failure: it would stay for ever.
      this.retire()
      throw error
    }
    if (!isSupported) throw new Unavailable("the event store is older than 21.10: no batch appends")
  }

  /**
   * Makes a call, and tells which node it is made to. It requires the leader: a follower may be
   * behind, and what is decided must not rest on it.
   *
   * @throws Unavailable, AccessDenied
   */
  async call<C extends Call>(
    make: MakeCall<C>,
  ): Promise<{ readonly call: C; readonly node: Node }> {
    let isAbandoned = false
    const begin = async () => {
      const node = await this.#reach()
      const call = await this.#begin(make)
      if (isAbandoned) call.cancel()
      return { call, node }
    }
    try {
      return await this.#inTime(begin())
    } catch (error) {
      isAbandoned = true
      throw error
    }
  }

  /**
   * The newest event's place, the server's own included: the server looks for nothing to find it.
   * `START` where there is none. A server that does not say it in so many milliseconds is given up.
   *
   * @throws Unavailable, AccessDenied
   */
  async end(withinMs: number): Promise<{ readonly end: Position; readonly node: Node }> {
    const asked = this.#reach().then(async (node) => ({ node, end: await node.end() }))
    return this.#inTime(asked, withinMs)
  }

  /** An answer is overdue: new calls go elsewhere; once those under way have ended it disconnects. */
  retire(): void {
    this.#retired.abort()
    if (this.#calls === 0) void this.dispose()
  }

  /** Breaks off what is under way and disconnects, within a second. */
  dispose(): Promise<void> {
    return (this.#disposed ??= this.#dispose())
  }

  /** Finds the leader, and hears from it, unless it did before. */
  async #reach(): Promise<Node> {
    for (let tries = 1; ; tries += 1) {
      const channel = await this.#client["getChannel"]()
      if (this.#node?.node.channel !== channel) {
        const node = new Node(channel, this.#options.known, {
          end: async () => this.#inTime(this.#first(endRequest()).then(placeOr(START))),
          mayHold: async (event) => this.#inTime(mayHold(this.#firstFrom, event)),
          onBehind: (why) => {
            this.retire()
            this.#options.onBehind(why)
          },
        })
        this.#node = { node, reached: node.greet() }
      }
      const { node, reached } = this.#node
      try {
        await reached
        this.#options.onReached()
        return node
      } catch (error) {
        if (this.#node?.node === node) this.#node = null
        if (!(error instanceof NotLeader) || tries > MOST_REDIRECTS) throw error
        // The client turns to the leader when it hears of this, which is later in this turn.
        await nextTurn()
      }
    }
  }

  async #begin<C extends Call>(make: MakeCall<C>): Promise<C> {
    return this.#client["GRPCStreamCreator"](StreamsClient, "call", (grpc) => {
      const call = make(
        grpc,
        ...this.#client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }),
      )
      this.#calls += 1
      // The last event of every call, however it ends.
      call.once("status", () => this.#ended())
      return call
    })()
  }

  /** The first event that a read gives; null where it gives none. */
  async #first(request: ReadReq): Promise<StoredEvent | null> {
    const { promise, resolve, reject } = Promise.withResolvers<StoredEvent | null>()
    await this.#begin((grpc, ...parameters) => {
      const call = grpc.read(request, ...parameters)
      call.on("data", (answer: ReadResp) => {
        const record = answer.getEvent()?.getEvent()
        if (record !== undefined) resolve(storedEvent(record))
      })
      call.on("error", (cause: Error) => reject(refusal(cause)))
      call.on("end", () => resolve(null))
      return call
    })
    return promise
  }

  readonly #firstFrom: FirstFrom = async (stream, from) => {
    const first = await this.#first(streamRequest(stream, { from, limit: 1 }))
    if (first !== null || from > 0) return first
    const newest = { direction: "backwards", limit: 1 } as const
    const settings = await this.#first(streamRequest(settingsStream(stream), newest))
    checkNotHidden(stream, settings ?? undefined)
    return null
  }

  #ended(): void {
    this.#calls -= 1
    if (this.#calls === 0 && this.#retired.signal.aborted) void this.dispose()
  }

  async #dispose(): Promise<void> {
    await within(DISPOSE_TIMEOUT_MS, this.#client.dispose(), undefined)
    this.#channel?.close()
    this.#options.onDisposed(this)
  }

  /** What the client leaves open, or leaves to chance. */
  #mend(client: EventStoreDBClient): void {
    // It never closes its last connection.
    const connect = client["getChannel"]
    client["getChannel"] = async () => {
      this.#channel = await connect()
      if (this.#disposed !== null) this.#channel.close()
      return this.#channel
    }
    // After a failed call it looks for the server while nobody waits for the outcome, so that a failure
    // of that, unhandled, would end the process. The next call fails of the same and says so.
    const findAnother = client["handleError"]
    client["handleError"] = (...failed) => findAnother(...failed).catch(() => undefined)
  }

  /** What is asked of the server before a call can begin. @throws Unavailable, AccessDenied */
  async #inTime<T>(asked: Promise<T>, withinMs = this.#options.connectTimeoutMs): Promise<T> {
    try {
      const answer = await within(withinMs, asked, LATE)
      if (answer !== LATE) return answer
    } catch (error) {
      throw refusal(error)
    }
    this.retire()
    throw new Unavailable(`the event store did not answer within ${withinMs} ms`)
  }
}

const placeOr =
  (nothing: Position) =>
  (event: StoredEvent | null): Position =>
    event?.position ?? nothing

const LATE = Symbol("late")
