import { readFileSync } from "node:fs"
import { CallCredentials, Metadata, credentials } from "@grpc/grpc-js"
import type { ChannelCredentials, ChannelOptions } from "@grpc/grpc-js"
import { z } from "zod"

/** What a connection string says, with the usual where it is silent. */
export interface EventStoreDbAddress {
  /** Nodes, `host:port`; the one DNS name of a cluster stands for all of its nodes. */
  readonly hosts: readonly string[]
  /** Whether the leader is searched: there are several nodes. */
  readonly isCluster: boolean
  /** How the connection is encrypted. */
  readonly channelCredentials: ChannelCredentials
  readonly channelOptions: ChannelOptions
  /** The user's name and password; they are sent over an encrypted connection alone. */
  readonly callCredentials: CallCredentials | undefined
  /** As the server's log shows it; undefined where it has no name. */
  readonly connectionName: string | undefined
  /** How a leader is searched, milliseconds. */
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
const integerOption = (usual: number) =>
  z
    .string()
    .regex(/^-?\d{1,9}$/, "expected a whole number")
    .transform(Number)
    .default(usual)
const fileOption = z.string().transform(readFileOption).default(null)
/** Known to other clients, and of no use here: the leader is asked, and each call has limits of its own. */
const ignoredOption = z.string().optional()

/** The options that may stand in a connection string. */
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
  // Seconds. One frozen node may have no more of the time that a caller has for a connection.
  gossipTimeout: integerOption(1),
  defaultDeadline: ignoredOption,
  nodePreference: ignoredOption,
  throwOnAppendFailure: ignoredOption,
}
const OptionsSchema = z.object(OPTION_SCHEMAS)

/** The server takes events of up to 16 MiB inside. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024

/**
 * Reads a connection string: `esdb://` with one host, or with all nodes of a cluster, or `esdb+discover://` with the
 * one DNS name of a cluster; credentials and the authority of its certificate stand in it. What is wrong is said
 * without the string itself, for there may be a password in it.
 *
 * @throws RangeError when it cannot be read, or asks for what is not done
 */
export function parseConnectionString(url: string): EventStoreDbAddress {
  const form = /^\s*(esdb|esdb\+discover):\/\/(?:([^/?]*)@)?([^/?&]*)\/?(?:[?&](.*?))?\/?\s*$/s
  const [, scheme, userInfo, hostList = "", query = ""] = form.exec(url) ?? []
  if (scheme === undefined) throw invalidConnectionString("expected esdb:// or esdb+discover://")
  const hosts = hostList.split(",").map(parseHost)
  if (scheme === "esdb+discover" && hosts.length > 1) {
    throw new RangeError(
      "the connection string of the event store names several hosts behind esdb+discover://, of which " +
        `only the first would ever be asked: write esdb://${hostList} for a list of nodes, or ` +
        "esdb+discover:// with the one DNS name that stands for all of them",
    )
  }
  const options = parseOptions(query)
  if (!options.tlsVerifyCert) {
    throw new RangeError(
      "a certificate is always verified: name its authority with tlsCAFile, " +
        "or leave encryption out with tls=false",
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
      // Another connection would be no help where a dead one is shared.
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
  new RangeError(`the connection string of the event store is wrong: ${reason}`)

function parseHost(text: string): string {
  const [, host, port = "2113"] = /^\s*([^\s:]+)(?::([^:]*))?\s*$/.exec(text) ?? []
  if (host === undefined) throw invalidConnectionString("expected a host")
  if (!/^\d{1,5}$/.test(port)) throw invalidConnectionString("expected port number behind a host")
  return `${host}:${port}`
}

/** Their names are read without regard to case, hyphens and underscores. */
function parseOptions(query: string): z.infer<typeof OptionsSchema> {
  const flat = (name: string) => name.trim().toLowerCase().replace(/[_-]/g, "")
  const given = query
    .split(/[?&]/)
    .filter((part) => part !== "")
    .map((part) => {
      const [key = "", ...value] = part.split("=")
      const name = Object.keys(OPTION_SCHEMAS).find((known) => flat(known) === flat(key))
      if (name !== undefined) return [name, decodePercent(value.join("=").trim())]
      throw new RangeError(`the connection string of the event store has an unknown option: ${key}`)
    })
  const options = OptionsSchema.safeParse(Object.fromEntries(given))
  if (options.success) return options.data
  const [fault] = options.error.issues
  throw invalidConnectionString(`${fault?.message} for ${fault?.path.join()}`)
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidConnectionString("expected % and two hexadecimal digits")
  }
}

/** A negative time is never over. */
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
    const message = `a certificate cannot be read (${path}: ${(error as NodeJS.ErrnoException).code})`
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
