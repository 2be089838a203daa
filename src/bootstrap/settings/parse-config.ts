/** Parses the program's settings from the environment, once; all faults are reported together. */
import { isIP } from "node:net"
import { resolve } from "node:path"
import { z } from "zod"
import type { ShownSetting } from "../../frame/operator/protocol.ts"
import { rateSettings } from "../../frame/routes/checks/rate-limits.ts"
import {
  eventStoreAddressFault,
  maskEventStoreAddress,
} from "../../frame/kernel/event-store-address.ts"
import type { InjectedFaults } from "./injected-faults.ts"
import { readInjectedFaults } from "./injected-faults.ts"
import type { Provider, SimulatedProviders } from "../../frame/provider.ts"
import type { Environment, SettingsReader, SettingsSpec } from "../../frame/settings.ts"
import { settingsReader } from "../../frame/settings.ts"
import { realProviderConflicts, simulatedProviders, simulatedSetting } from "./simulated.ts"
import type { TraceCollector } from "./traces.ts"
import { traceSettings } from "./traces.ts"
import { nearestName } from "../../frame/kernel/nearest.ts"

/** Prefixes that only this program's settings have. */
const OWN_PREFIXES = ["LEDGER_", "CARDS_", "CARRIER_", "MAILER_", "SMTP_"]

/** Settings that only tests read. */
const TEST_SETTINGS: ReadonlySet<string> = new Set([
  "LEDGER_DEEP",
  "LEDGER_RUNS",
  "LEDGER_SEED",
  "LEDGER_FAILPOINTS",
  "LEDGER_CLOCK_FAULT",
  "LEDGER_STRAY_FAULT",
])

/** The program's configuration. */
export interface Config {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  /** Absolute path of the data folder. */
  readonly dataDir: string
  /** Null: the embedded PostgreSQL. */
  readonly databaseUrl: string | null
  /** EventStoreDB or KurrentDB; null: the event store inside PostgreSQL. */
  readonly eventStoreUrl: string | null
  /** The maximum number of connections of this process to PostgreSQL. */
  readonly databaseConnections: number
  readonly clock: "system" | "test"
  readonly logLevel: "silent" | "error" | "warn" | "info" | "debug"
  /** Public address; null: the address it listens on. */
  readonly baseUrl: string | null
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  /** 32 bytes; null: created at first use and stored in PostgreSQL. */
  readonly masterKey: Buffer | null
  /** Off for volume tests and benchmarks. */
  readonly rateLimits: "on" | "off"
  /** The share of successful requests that are logged, 0 to 1. */
  readonly logSampleRate: number
  /** The trace collector; null for none. */
  readonly traces: TraceCollector | null
  readonly simulatedProviders: SimulatedProviders
  /** Whether any provider takes money, reaches people or accepts requests from outside. */
  readonly hasRealProviders: boolean
  /** Warnings about unknown settings, a sentence each. */
  readonly warnings: readonly string[]
  /** Injected faults; none outside of tests. */
  readonly faults: InjectedFaults
  /** The settings of the slices. */
  readonly settings: SettingsReader
}

/** The environment has invalid settings. The message has one line for each. */
class ConfigFault extends Error {
  override readonly name = "StartupFault"
}

const port = z.coerce
  .number("must be a port number from 0 to 65535")
  .int("must be a port number from 0 to 65535")
  .min(0, "must be a port number from 0 to 65535")
  .max(65_535, "must be a port number from 0 to 65535")

/** The embedded PostgreSQL accepts 100 connections and serves this process only. */
const EMBEDDED_CONNECTIONS = 60
/** Four processes fit into PostgreSQL's default of 100 connections. */
export const SHARED_CONNECTIONS = 24
const CONNECTIONS_MESSAGE = "must be a number of connections from 16 to 1000"

const address = (protocols: RegExp, words: string) => z.url({ protocol: protocols, error: words })

const eventStore = z.string().superRefine((text, context) => {
  const fault = eventStoreAddressFault(text)
  if (fault !== null) context.addIssue(fault)
})

const PROXIES_MESSAGE = "must be addresses or networks such as 10.0.0.0/8, 127.0.0.1"

/** Whether a text is an IP address or a network. */
function isNetwork(text: string): boolean {
  const [start = "", bits, ...rest] = text.split("/")
  const family = isIP(start)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const splitList = (text: string): readonly string[] => text.split(",").map((part) => part.trim())

const proxies = z.string().refine((text) => splitList(text).every(isNetwork), PROXIES_MESSAGE)

const ProgramSettings = z.object({
  HOST: z.string().min(1).default("127.0.0.1"),
  PORT: port.default(3000),
  LEDGER_DATA_DIR: z.string().min(1).default("./data"),
  DATABASE_URL: address(/^postgres(ql)?$/, "must be postgres://user@host/database").optional(),
  DATABASE_CONNECTIONS: z.coerce
    .number(CONNECTIONS_MESSAGE)
    .int(CONNECTIONS_MESSAGE)
    .min(16, CONNECTIONS_MESSAGE)
    .max(1_000, CONNECTIONS_MESSAGE)
    .optional(),
  LEDGER_EVENTSTORE_URL: eventStore.optional(),
  LEDGER_CLOCK: z.enum(["system", "test"], "must be system or test").default("system"),
  LOG_LEVEL: z
    .enum(
      ["silent", "error", "warn", "info", "debug"],
      "must be silent, error, warn, info or debug",
    )
    .default("info"),
  LOG_REQUESTS: z.coerce
    .number("must be a share from 0 to 1")
    .min(0, "must be a share from 0 to 1")
    .max(1, "must be a share from 0 to 1")
    .default(1),
  BASE_URL: address(/^https?$/, "must be an address such as https://api.example.com").optional(),
  LEDGER_MASTER_KEY: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, "must be 64 hexadecimal digits (32 bytes)")
    .optional(),
  TRUST_PROXY: proxies.optional(),
  ...rateSettings.schema.shape,
  ...traceSettings,
})

/** The settings and providers of a program's slices. */
interface SettingsSources {
  readonly settings: readonly SettingsSpec[]
  readonly providers: readonly Provider[]
}

type Env = Readonly<Record<string, string | undefined>>

/** All settings: the program's, then those of its slices. */
const settingsSchemaOf = ({ settings, providers }: SettingsSources): z.ZodObject =>
  ProgramSettings.extend({
    LEDGER_SIMULATED: simulatedSetting(providers).optional(),
    ...(Object.assign({}, ...settings.map(({ schema }) => schema.shape)) as z.ZodRawShape),
  })

/**
 * Parses the settings. An empty variable counts as unset. @throws ConfigFault naming every fault
 */
export function parseConfig(brought: SettingsSources, env: Env): Config {
  const given = nonEmptyOnly(env)
  const environment = settingsSchemaOf(brought)
  const parsed = environment.safeParse(given)
  const { faults, wrong } = readInjectedFaults(env)
  const conflicts = [
    ...conflictsIn(brought, given),
    ...realProviderConflicts(brought.providers, given),
  ]
  if (!parsed.success || wrong.length + conflicts.length > 0) {
    const issues = parsed.error?.issues ?? []
    const lines = issues.map((issue) => `${issue.path.join(".")} ${issue.message}.`)
    throw new ConfigFault([...lines, ...conflicts, ...wrong].join("\n"))
  }
  const settings = ProgramSettings.parse(given)
  const isShared = settings.DATABASE_URL !== undefined
  return {
    host: settings.HOST,
    port: settings.PORT,
    dataDir: resolve(settings.LEDGER_DATA_DIR),
    databaseUrl: withVerifiedTls(settings.DATABASE_URL) ?? null,
    eventStoreUrl: settings.LEDGER_EVENTSTORE_URL ?? null,
    databaseConnections:
      settings.DATABASE_CONNECTIONS ?? (isShared ? SHARED_CONNECTIONS : EMBEDDED_CONNECTIONS),
    clock: settings.LEDGER_CLOCK,
    logLevel: settings.LOG_LEVEL,
    logSampleRate: settings.LOG_REQUESTS,
    baseUrl: settings.BASE_URL?.replace(/\/+$/, "") ?? null,
    masterKey:
      settings.LEDGER_MASTER_KEY === undefined
        ? null
        : Buffer.from(settings.LEDGER_MASTER_KEY, "hex"),
    rateLimits: settings.RATE_LIMITS,
    trustProxy: settings.TRUST_PROXY === undefined ? [] : splitList(settings.TRUST_PROXY),
    traces:
      settings.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? null
        : {
            url: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
            sampleRatio: settings.OTEL_TRACES_SAMPLER_ARG,
          },
    simulatedProviders: simulatedProviders(brought.providers, given),
    hasRealProviders: brought.providers.some(
      ({ chosenBy }) => (chosenBy?.(given) ?? null) !== null,
    ),
    warnings: unknownSettingWarnings(given, new Set(Object.keys(environment.shape))),
    faults,
    settings: settingsReader(given),
  }
}

/**
 * The driver treats the weaker TLS modes as `verify-full` and logs a warning that this will change,
 * so they are replaced here.
 */
const withVerifiedTls = (url: string | undefined): string | undefined =>
  url?.includes("uselibpqcompat=true") === true
    ? url
    : url?.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full")

/** Settings that exclude each other, as the slices declare. */
const conflictsIn = ({ settings }: SettingsSources, given: Environment): readonly string[] =>
  settings.flatMap(({ faults }) => faults?.(given) ?? [])

/** The effective settings with their sources; secrets are masked. @throws ConfigFault */
export function effectiveSettings(brought: SettingsSources, env: Env): readonly ShownSetting[] {
  // Conflicts are reported as at a start.
  parseConfig(brought, env)
  const given = nonEmptyOnly(env)
  const environment = settingsSchemaOf(brought)
  const effective = environment.parse(given)
  const secret = new Set(brought.settings.flatMap((one) => one.secret ?? []))
  return Object.keys(environment.shape).map((name) => ({
    name,
    value: maskValue(name, effective[name], secret),
    source: given[name] === undefined ? "default" : "environment",
  }))
}

/** Addresses that may contain a password. */
const URLS_WITH_PASSWORDS = new Set(["DATABASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"])

function maskValue(name: string, value: unknown, secret: ReadonlySet<string>): string {
  if (value === undefined) return "(unset)"
  if (name === "LEDGER_MASTER_KEY" || secret.has(name)) return "***"
  if (name === "LEDGER_EVENTSTORE_URL") return maskEventStoreAddress(String(value))
  if (!URLS_WITH_PASSWORDS.has(name)) return String(value)
  const url = new URL(String(value))
  if (url.password !== "") url.password = "***"
  return url.toString()
}

function nonEmptyOnly(env: Env): Environment {
  const entries = Object.entries(env).filter(([, value]) => (value ?? "").trim() !== "")
  return Object.fromEntries(entries) as Record<string, string>
}

/**
 * Warns about each variable of the environment that looks like a setting of this program, by its
 * prefix or spelling, and is not one.
 */
export function unknownSettingWarnings(
  given: Environment,
  known: ReadonlySet<string>,
): readonly string[] {
  return Object.keys(given).flatMap((name) => {
    if (known.has(name) || TEST_SETTINGS.has(name)) return []
    const nearest = nearestName(name, known)
    const isOwn = OWN_PREFIXES.some((prefix) => name.startsWith(prefix))
    if (!isOwn && (nearest === null || !isLikelyMisspelling(name, nearest))) return []
    const hint =
      nearest === null ? "company-ledger config lists the settings" : `did you mean ${nearest}?`
    return [`Unknown setting ${name}: ${hint}`]
  })
}

/** Whether a name is a misspelling of the nearest setting: short names are near to many. */
function isLikelyMisspelling(name: string, nearest: string): boolean {
  if (!nearest.includes("_")) return false
  return name.includes("_") || name.toUpperCase() === nearest.replaceAll("_", "")
}
