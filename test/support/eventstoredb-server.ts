/** A simulated EventStoreDB server. */
import { randomUUID } from "node:crypto"

import { GossipService } from "@eventstore/db-client/generated/gossip_grpc_pb.js"
import gossip from "@eventstore/db-client/generated/gossip_pb.js"
import { ServerFeaturesService } from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js"
import features from "@eventstore/db-client/generated/serverfeatures_pb.js"
import shared from "@eventstore/db-client/generated/shared_pb.js"
import { StreamsService } from "@eventstore/db-client/generated/streams_grpc_pb.js"
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  status as Code,
} from "@grpc/grpc-js"

import type {
  ReceivedAppend,
  BatchAppendCall,
  ServerAppendFault,
} from "./eventstoredb-server/appending.ts"
import { answerBatchAppends } from "./eventstoredb-server/appending.ts"
import { type Certificate, selfSignedCertificate } from "./eventstoredb-server/certificate.ts"
import type { LogEvent } from "./eventstoredb-server/log.ts"
import { EventLogFile, EventLog } from "./eventstoredb-server/log.ts"
import { streamNameOf, grpcErrorOf } from "./eventstoredb-server/messages.ts"
import type { ReadCall } from "./eventstoredb-server/reading.ts"
import { answerRead, ServerSubscription } from "./eventstoredb-server/reading.ts"
import { ConnectionRelay } from "./eventstoredb-server/relay.ts"

export interface EventStoreDbServerOptions {
  /** The version to simulate; versions treat slow subscribers differently. By default 24.2. */
  readonly version?: "23.10" | "24.2"
  /** Uses TLS with a self-signed certificate. */
  readonly tls?: boolean
  /** Requires these credentials. */
  readonly credentials?: { readonly username: string; readonly password: string }
  /** Its port; by default a free one. */
  readonly port?: number
  /** A file for its records, so that they survive a kill; by default they are only in memory. */
  readonly logFile?: string
}

export interface GossipNode {
  readonly port: number
  readonly isLeader: boolean
}

const HOST = "127.0.0.1"

/**
 * A simulated EventStoreDB server in this process, built on the client's own protocol files. It behaves as real servers
 * were observed to behave (each behavior has a test), and fails on demand.
 */
export class EventStoreDbServer {
  readonly log: EventLog
  faultOf: (arrival: ReceivedAppend) => ServerAppendFault = () => "none"
  /** False while the server starts: it accepts calls and serves none. */
  isReady = true
  /** The leader's port if this node is a follower. */
  leaderPort: number | null = null
  /** The nodes in gossip; by default only this one. */
  nodes: readonly GossipNode[] | null = null
  /** True: subscriptions stay open and get no events. */
  isMute = false
  /** Streams whose `$acl` allows only admins to read them; reads of `$all` still return their events. */
  readonly denied = new Set<string>()
  readonly #options: EventStoreDbServerOptions
  readonly #certificate: Certificate | null
  readonly #file: EventLogFile | null
  readonly #server = new Server({ "grpc.max_receive_message_length": 32 * 1024 * 1024 })
  readonly #subscriptions = new Set<ServerSubscription>()
  readonly #counts = { batchAppends: 0, reads: 0, subscriptions: 0 }
  #relay: ConnectionRelay | null = null

  private constructor(options: EventStoreDbServerOptions) {
    this.#options = options
    this.#file = options.logFile === undefined ? null : new EventLogFile(options.logFile)
    this.log = new EventLog(this.#file)
    this.#certificate = options.tls === true ? selfSignedCertificate() : null
    this.#server.addService(StreamsService, {
      read: (call: ReadCall) => void this.#read(call),
      batchAppend: (call: BatchAppendCall) => this.#batchAppend(call),
    })
    this.#server.addService(ServerFeaturesService, { getSupportedMethods: this.#features })
    this.#server.addService(GossipService, { read: this.#gossip })
    // Every server writes to system streams of its own.
    this.appendSystemEvents(3)
  }

  /** Starts a server on a free port. */
  static async start(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
    const server = new EventStoreDbServer(options)
    await server.#listen()
    return server
  }

  get url(): string {
    const { credentials, tls } = this.#options
    const user =
      credentials === undefined
        ? ""
        : `${credentials.username}:${encodeURIComponent(credentials.password)}@`
    return `esdb://${user}${tls === true ? "localhost" : HOST}:${this.port}?tls=${tls === true}`
  }

  get port(): number {
    return this.relay.port
  }

  get relay(): ConnectionRelay {
    if (this.#relay === null) throw new Error("the server is not started")
    return this.#relay
  }

  /** The certificate that clients must trust, as PEM; empty without TLS. */
  get certificate(): string {
    return this.#certificate?.certificate ?? ""
  }

  /** Number of calls of each kind so far. */
  get counts(): Readonly<Record<"batchAppends" | "reads" | "subscriptions", number>> {
    return { ...this.#counts }
  }

  get subscribers(): number {
    return this.#subscriptions.size
  }

  /** Drops all subscribers as if they were too slow; returns their number. */
  dropSubscribers(): number {
    const dropped = [...this.#subscriptions]
    for (const subscription of dropped) subscription.drop()
    return dropped.length
  }

  /** Writes events to the server's own statistics stream. */
  appendSystemEvents(count: number): void {
    const events = Array.from({ length: count }, () => systemEvent("$statsCollected"))
    this.log.append("$stats-127.0.0.1:2113", "any", events)
  }

  async stop(): Promise<void> {
    await this.#relay?.refuse()
    this.#server.forceShutdown()
    this.#file?.close()
  }

  async #listen(): Promise<void> {
    const credentials =
      this.#certificate === null
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(null, [
            {
              cert_chain: Buffer.from(this.#certificate.certificate),
              private_key: Buffer.from(this.#certificate.privateKey),
            },
          ])
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${HOST}:0`, credentials, (error, bound) => {
        if (error === null) resolve(bound)
        else reject(error)
      })
    })
    this.#relay = await ConnectionRelay.open(port, this.#options.port)
  }

  async #read(call: ReadCall): Promise<void> {
    const refused = this.#refusal(call.metadata) ?? (this.isReady ? null : NOT_READY)
    if (refused !== null) {
      call.emit("error", refused)
      return
    }
    if (call.request.getOptions()?.hasSubscription() !== true) {
      this.#counts.reads += 1
      if (this.denied.has(streamNameOf(call.request.getOptions()?.getStream())))
        call.emit("error", DENIED)
      else await answerRead(call, this.log)
      return
    }
    this.#counts.subscriptions += 1
    const whenTooSlow = this.#options.version === "23.10" ? "drop" : "catch-up"
    const subscription = new ServerSubscription(call, this.log, {
      whenTooSlow,
      isMute: () => this.isMute,
    })
    this.#subscriptions.add(subscription)
    await subscription.run()
    this.#subscriptions.delete(subscription)
  }

  #batchAppend(call: BatchAppendCall): void {
    this.#counts.batchAppends += 1
    const refused = this.#refusal(call.metadata)
    if (refused !== null) {
      call.emit("error", refused)
      return
    }
    answerBatchAppends(call, {
      log: this.log,
      faultOf: (arrival) => (this.isReady ? this.faultOf(arrival) : "not-ready"),
      cut: () => this.relay.cut(),
      refusal: () => this.#refusal(call.metadata),
    })
  }

  /** The error for a call that the server rejects; null if it serves the call. */
  #refusal(metadata: Metadata): Partial<ServiceError> | null {
    const { credentials } = this.#options
    if (credentials !== undefined) {
      const expected = Buffer.from(`${credentials.username}:${credentials.password}`).toString(
        "base64",
      )
      if (metadata.get("authorization")[0] !== `Basic ${expected}`) {
        return DENIED
      }
    }
    if (this.leaderPort === null || metadata.get("requires-leader").length === 0) return null
    return grpcErrorOf(Code.NOT_FOUND, "Leader info available", {
      exception: "not-leader",
      "leader-endpoint-host": HOST,
      "leader-endpoint-port": String(this.leaderPort),
    })
  }

  readonly #features = (_: unknown, respond: Responder): void => {
    const methods = ["Read", "Append", "BatchAppend"].map((name) =>
      new features.SupportedMethod()
        .setServiceName("event_store.client.streams.Streams")
        .setMethodName(name),
    )
    respond(
      null,
      new features.SupportedMethods()
        .setMethodsList(methods)
        .setEventStoreServerVersion(this.#options.version === "23.10" ? "23.10.8" : "24.2.0"),
    )
  }

  readonly #gossip = (_: unknown, respond: Responder): void => {
    const nodes = this.nodes ?? [{ port: this.port, isLeader: this.leaderPort === null }]
    const members = nodes.map(({ port, isLeader }) =>
      new gossip.MemberInfo()
        .setInstanceId(new shared.UUID().setString(randomUUID()))
        .setTimeStamp("0")
        .setIsAlive(true)
        .setState(isLeader ? LEADER : FOLLOWER)
        .setHttpEndPoint(new gossip.EndPoint().setAddress(HOST).setPort(port)),
    )
    respond(null, new gossip.ClusterInfo().setMembersList(members))
  }
}

type Responder = (error: null, answer: object) => void

const LEADER = gossip.MemberInfo.VNodeState.LEADER
const FOLLOWER = gossip.MemberInfo.VNodeState.FOLLOWER

const DENIED = grpcErrorOf(Code.PERMISSION_DENIED, "Access Denied", { exception: "access-denied" })
const NOT_READY = grpcErrorOf(Code.UNAVAILABLE, "Server Is Not Ready")

function systemEvent(type: string): LogEvent {
  const data = Buffer.from("{}")
  return { id: randomUUID(), type, contentType: "application/json", data, metadata: data }
}
