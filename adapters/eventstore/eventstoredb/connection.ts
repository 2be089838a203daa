import type { EventStoreDBClient } from "@eventstore/db-client"
import { StreamsClient, StreamsService } from "@eventstore/db-client/generated/streams_grpc_pb.js"

import { Unavailable } from "../port.ts"
import { clientFor } from "./connection-string.ts"
import { refusal } from "./failures.ts"

/** How long a client may take to end its calls, in milliseconds: once it never did. */
const DISPOSE_TIMEOUT_MS = 1_000

/** What each call begins with: the metadata with the credentials, and no deadline of gRPC's. */
type CallArguments = ReturnType<EventStoreDBClient["callArguments"]>

/** The client's connection to a server. */
type Channel = Awaited<ReturnType<EventStoreDBClient["getChannel"]>>

/** A call of the server that gives events or answers until it ends. */
type Call = ReturnType<StreamsClient["read"]> | ReturnType<StreamsClient["batchAppend"]>

/**
 * One client of the vendor, with one connection at a time. It finds the server, again whenever the
 * connection broke or the leader moved; the calls on it are our own, made of its generated protocol:
 *
 * - its own appends wait for their answers in a map that all clients of a process share, and once
 *   another server was lost they got no answer and no error;
 * - its own reads parse the JSON of events, and what was written could not be given back to the byte;
 * - its own reads of all streams know no filter.
 */
export class Session {
  readonly #client: EventStoreDBClient
  readonly #retired = new AbortController()
  readonly #connectTimeoutMs: number
  readonly #onDisposed: (session: Session) => void
  #channel: Channel | null = null
  #calls = 0
  #disposed: Promise<void> | null = null

  /** `onDisposed` is told when it has disconnected. @throws RangeError for a wrong connection string */
  constructor(url: string, connectTimeoutMs: number, onDisposed: (session: Session) => void) {
    this.#client = clientFor(url)
    this.#connectTimeoutMs = connectTimeoutMs
    this.#onDisposed = onDisposed
    this.#mend(this.#client)
  }

  /** Aborts when the server did not answer in time: what still runs here should go elsewhere. */
  get retired(): AbortSignal {
    return this.#retired.signal
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
   * Makes a call. Its listeners have to be there when `make` returns. It requires the leader: a
   * follower may be behind, and what is decided must not rest on it.
   *
   * @throws Unavailable, AccessDenied
   */
  async call<C extends Call>(
    make: (grpc: StreamsClient, ...parameters: CallArguments) => C,
  ): Promise<C> {
    let isAbandoned = false
    const begin = this.#client["GRPCStreamCreator"](StreamsClient, "call", (grpc) => {
      const call = make(
        grpc,
        ...this.#client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }),
      )
      this.#calls += 1
      // The last event of every call, however it ends.
      call.once("status", () => this.#ended())
      if (isAbandoned) call.cancel()
      return call
    })
    try {
      return await this.#inTime(begin())
    } catch (error) {
      isAbandoned = true
      throw error
    }
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

  #ended(): void {
    this.#calls -= 1
    if (this.#calls === 0 && this.#retired.signal.aborted) void this.dispose()
  }

  async #dispose(): Promise<void> {
    await withinTime(this.#client.dispose(), DISPOSE_TIMEOUT_MS)
    this.#channel?.close()
    this.#onDisposed(this)
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
  async #inTime<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await withinTime(asked, this.#connectTimeoutMs)
      if (answer !== LATE) return answer
    } catch (error) {
      throw refusal(error)
    }
    this.retire()
    throw new Unavailable(`the event store did not answer within ${this.#connectTimeoutMs} ms`)
  }
}

/** Has one client at a time, and another one when the server does not answer that one any more. */
export class Connection {
  readonly #url: string
  readonly #connectTimeoutMs: number
  readonly #sessions = new Set<Session>()
  #session: Session

  /**
   * Does not connect yet. `connectTimeoutMs` bounds how long a server may take to be found.
   *
   * @throws RangeError when the connection string is wrong
   */
  constructor(url: string, connectTimeoutMs: number) {
    this.#url = url
    this.#connectTimeoutMs = connectTimeoutMs
    this.#session = this.#open()
  }

  /** The client to make new calls with. */
  get session(): Session {
    if (this.#session.retired.aborted) this.#session = this.#open()
    return this.#session
  }

  /** Breaks off what is under way and disconnects. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.dispose()))
  }

  #open(): Session {
    const forget = (disposed: Session): void => void this.#sessions.delete(disposed)
    const session = new Session(this.#url, this.#connectTimeoutMs, forget)
    this.#sessions.add(session)
    return session
  }
}

const LATE = Symbol("late")

/** What a promise comes to, unless it takes longer. */
async function withinTime<T>(promise: Promise<T>, timeoutMs: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
