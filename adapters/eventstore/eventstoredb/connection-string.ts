import { readFileSync } from "node:fs"
import { CallCredentials, Metadata, credentials } from "@grpc/grpc-js"
import type { ChannelCredentials, ChannelOptions } from "@grpc/grpc-js"
import { z } from "zod"

/** A parsed connection string, with defaults for missing options. */
export interface EventStoreDbAddress {
  /** Nodes as `host:port`, or the one DNS name of a cluster. */
  readonly hosts: readonly string[]
  readonly isCluster: boolean
  readonly channelCredentials: ChannelCredentials
  readonly channelOptions: ChannelOptions
  /** User name and password, sent over encrypted connections only. */
  readonly callCredentials: CallCredentials | undefined
  /** The name that the server's log shows; undefined if it has none. */
  readonly connectionName: string | undefined
  readonly discovery: {
    readonly attempts: number
    readonly intervalMs: number
    readonly timeoutMs: number
  }
}

const booleanOption = z
  .enum(["true", "false"], "expected true or false")
  .transform((text) => text === "true")
  .default(true)
const integerOption = (defaultValue: number) =>
  z
    .string()
    .regex(/^-?\d{1,9}$/, "expected a whole number")
    .transform(Number)
    .default(defaultValue)
const fileOption = z.string().transform(readFileOption).default(null)
/** Options of other clients, accepted and ignored: only the leader is used, and each call has its own timeout. */
const ignoredOption = z.string().optional()

const OPTION_SCHEMAS = {
  tls: booleanOption,
  tlsVerifyCert: booleanOption,
  tlsCAFile: fileOption,
  userCertFile: fileOption,
  userKeyFile: fileOption,
  connectionName: z.string().optional(),
  keepAliveInterval: integerOption(10_000),
  keepAliveTimeout: integerOption(10_000),
  discoveryInterval: integerOption(100),
  maxDiscoverAttempts: integerOption(10),
  // Seconds. One frozen node must not use up the time that a caller has to connect.
  gossipTimeout: integerOption(1),
  defaultDeadline: ignoredOption,
  nodePreference: ignoredOption,
  throwOnAppendFailure: ignoredOption,
}
const OptionsSchema = z.object(OPTION_SCHEMAS)

/** The server accepts events of up to 16 MiB. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024

/**
 * Parses a connection string: `esdb://` with one host or all nodes of a cluster, or
 * `esdb+discover://` with the one DNS name of a cluster, and credentials and certificate authority.
 * Errors never contain the string, because it may contain a password.
 *
 * @throws RangeError if it is invalid or asks for an unsupported option
 */
export function parseConnectionString(url: string): EventStoreDbAddress {
  const form = /^\s*(esdb|esdb\+discover):\/\/(?:([^/?]*)@)?([^/?&]*)\/?(?:[?&](.*?))?\/?\s*$/s
  const [, scheme, userInfo, hostList = "", query = ""] = form.exec(url) ?? []
  if (scheme === undefined) throw invalidConnectionString("expected esdb:// or esdb+discover://")
  const hosts = hostList.split(",").map(parseHost)
  if (scheme === "esdb+discover" && hosts.length > 1) {
    throw new RangeError(
      "The event store's connection string names several hosts after esdb+discover://, but only " +
        `the first would be used. Use esdb://${hostList} for a list of nodes, or ` +
        "esdb+discover:// with the one DNS name of the cluster",
    )
  }
  const options = parseOptions(query)
  if (!options.tlsVerifyCert) {
    throw new RangeError(
      "The event store's certificate is always verified, so tlsVerifyCert=false is not supported. " +
        "Name the certificate's authority with tlsCAFile, or turn encryption off with tls=false",
    )
  }
  return {
    hosts,
    isCluster: scheme === "esdb+discover" || hosts.length > 1,
    channelCredentials: options.tls ? createTlsCredentials(options) : credentials.createInsecure(),
    channelOptions: {
      "grpc.keepalive_time_ms": orUnlimited(options.keepAliveInterval),
      "grpc.keepalive_timeout_ms": orUnlimited(options.keepAliveTimeout),
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      // Sharing a dead connection would defeat reconnecting.
      "grpc.use_local_subchannel_pool": 1,
    },
    callCredentials: userInfo === undefined || !options.tls ? undefined : parseUserInfo(userInfo),
    connectionName: options.connectionName,
    discovery: {
      attempts: options.maxDiscoverAttempts,
      intervalMs: options.discoveryInterval,
      timeoutMs: options.gossipTimeout * 1_000,
    },
  }
}

const invalidConnectionString = (reason: string): RangeError =>
  new RangeError(`The event store's connection string is invalid: ${reason}`)

function parseHost(text: string): string {
  const [, host, port = "2113"] = /^\s*([^\s:]+)(?::([^:]*))?\s*$/.exec(text) ?? []
  if (host === undefined) throw invalidConnectionString("expected a host")
  if (!/^\d{1,5}$/.test(port))
    throw invalidConnectionString("expected a port number after the host")
  return `${host}:${port}`
}

/** Option names ignore case, hyphens and underscores. */
function parseOptions(query: string): z.infer<typeof OptionsSchema> {
  const flat = (name: string) => name.trim().toLowerCase().replace(/[_-]/g, "")
  const entries = query
    .split(/[?&]/)
    .filter((part) => part !== "")
    .map((part) => {
      const [key = "", ...value] = part.split("=")
      const name = Object.keys(OPTION_SCHEMAS).find((known) => flat(known) === flat(key))
      if (name !== undefined) return [name, decodePercent(value.join("=").trim())]
      throw new RangeError(`The event store's connection string has an unknown option: ${key}`)
    })
  const options = OptionsSchema.safeParse(Object.fromEntries(entries))
  if (options.success) return options.data
  const [issue] = options.error.issues
  throw invalidConnectionString(`${issue?.message} for ${issue?.path.join()}`)
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidConnectionString("expected % and two hexadecimal digits")
  }
}

/** A negative time means no limit. */
const orUnlimited = (ms: number): number => (ms < 0 ? Number.MAX_VALUE : ms)

function createTlsCredentials(options: z.infer<typeof OptionsSchema>): ChannelCredentials {
  const { tlsCAFile, userKeyFile, userCertFile } = options
  if ((userKeyFile === null) !== (userCertFile === null)) {
    throw invalidConnectionString("expected userCertFile and userKeyFile together")
  }
  return credentials.createSsl(tlsCAFile, userKeyFile, userCertFile)
}

function readFileOption(path: string, { issues }: z.RefinementCtx): Buffer | null {
  try {
    return readFileSync(path)
  } catch (error) {
    const message = `the certificate file cannot be read (${path}: ${(error as NodeJS.ErrnoException).code})`
    issues.push({ code: "custom", input: path, message })
    return null
  }
}

function parseUserInfo(userInfo: string): CallCredentials {
  const [name = "", ...password] = userInfo.trim().split(":")
  const text = `${decodePercent(name)}:${decodePercent(password.join(":"))}`
  return CallCredentials.createFromMetadataGenerator((_, done) => {
    const metadata = new Metadata()
    metadata.set("authorization", `Basic ${Buffer.from(text).toString("base64")}`)
    done(null, metadata)
  })
}
