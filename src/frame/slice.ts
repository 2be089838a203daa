/**
 * A slice of the program, as data: everything that one feature contributes. The program is assembled from
 * the list of its slices; no other file needs to know them.
 */
import type { Migrations, SliceTable } from "../../adapters/postgres/installation/port.ts"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import type { Projection, ReadModel, ProjectedFact } from "../../projections/kernel/projection.ts"
import {
  JOBS_PROJECTION,
  jobsProjection,
  DELAYED_JOBS_PROJECTION,
} from "../../projections/kernel/jobs.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Route } from "./routes/declare/route.ts"
import type { EntryPoint } from "./routes/api-call.ts"
import type { RouteVariants, PageRoute } from "./routes/declare/route-variants.ts"
import { isRouteVariants, routesIn } from "./routes/declare/route-variants.ts"
import type { Reaction } from "./effects/reaction.ts"
import { jobsEndedBy, factTypesRead, jobsFor } from "./effects/reaction.ts"
import { isPaidRoute } from "./effects/paid-route.ts"
import type { Reconciliation } from "./effects/reconcile.ts"
import { reconciliationFor, reconciler } from "./effects/reconcile.ts"
import type { Probe } from "./http/health.ts"
import type { HostAlias, HostRoute } from "./http/host-routes.ts"
import type { Metric } from "./http/metrics.ts"
import type { DoctorContext, DoctorFinding } from "./operator/cli/doctor-finding.ts"
import type { OperatorCommand } from "./operator/commands.ts"
import type { AdminOperation } from "./operator/operation.ts"
import type { Ports } from "./ports.ts"
import type { Provider } from "./provider.ts"
import type { Daemon } from "./daemon.ts"
import type { SettingsSpec } from "./settings.ts"
import type { StreamKinds, Streams } from "./writer/streams.ts"
import { combineStreams } from "./writer/streams.ts"

/** A slice's contributions; most slices have only a few. */
export interface Slice {
  readonly name: string
  readonly streams?: StreamKinds
  /** In the order of the API documents. */
  readonly routes?: readonly (Route | RouteVariants)[]
  /** Routes that derive from those of all slices, such as a tool endpoint; they follow the slice's own. */
  readonly deriveRoutes?: (routes: readonly Route[]) => readonly Route[]
  /** Descriptions of its route groups in Markdown, by group; each is a page of the API documents. */
  readonly groups?: Readonly<Record<string, string>>
  /** Paths that answer 410 to every method, before the key is checked. */
  readonly retiredPaths?: readonly string[]
  readonly readModels?: readonly ReadModel[]
  readonly reactions?: readonly Reaction[]
  /** How pending charges that no paid route makes end, by the prefix of the ids they name. */
  readonly reconciliations?: readonly Reconciliation[]
  /** Settings of its providers and its rules. */
  readonly settings?: readonly SettingsSpec[]
  /** Migrations of its tables; each name begins with the slice's: `leads-0001-forms`. */
  readonly migrations?: Migrations
  readonly tables?: readonly SliceTable[]
  /** Erases a company's data outside the program's PostgreSQL database; runs again after a crash. */
  readonly erase?: (ports: Ports, companyId: CompanyId) => Promise<void>
  /** Backs up data outside the program's PostgreSQL database and event store, by way of blobs. */
  readonly backup?: SliceBackup
  /** Deletes expired data; runs every ten minutes. */
  readonly sweep?: (ports: Ports) => Promise<void>
  readonly providers?: readonly Provider[]
  /** Routes that its providers call. */
  readonly webhooks?: readonly Route[]
  /** Routes for browsers and other non-API clients; not part of the API documents. */
  readonly pages?: readonly PageRoute[]
  /** Ways to authenticate other than by an API key. */
  readonly entryPoints?: readonly EntryPoint[]
  /** Handlers for host names of its own, such as previews. */
  readonly hostRoutes?: (ports: Ports) => readonly HostRoute[]
  /** Host names that map to a path of the API. */
  readonly aliases?: (ports: Ports) => readonly HostAlias[]
  readonly daemons?: readonly Daemon[]
  /** Checks for `/readyz`. */
  readonly probes?: readonly Probe[]
  /** Checks for `doctor`. */
  readonly doctorCheck?: (installation: DoctorContext) => Promise<readonly DoctorFinding[]>
  /** Metrics for `/metrics`. */
  readonly metrics?: readonly Metric[]
  /** Operator commands, in the order of the help text. */
  readonly commands?: readonly OperatorCommand[]
  /** Operator commands that derive from the simulators of all slices; they come last. */
  readonly deriveCommands?: (simulators: readonly Simulator[]) => readonly OperatorCommand[]
  /** Descriptions of the groups of two-word commands, by the first word. */
  readonly topics?: Readonly<Record<string, string>>
}

/** Moves data outside PostgreSQL and the event store into backups and back. */
export interface SliceBackup {
  readonly stage: (
    ports: Ports,
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<void>
  readonly unstage: (ports: Ports) => Promise<void>
  readonly restore: (ports: Ports, progress: (message: string) => void) => Promise<void>
}

/** A program, assembled from its slices. */
export interface Program {
  readonly streams: Streams
  /** Finds the stream that holds the intent behind a charge; null if the charge itself is the intent. */
  readonly streamOfIntent: (companyId: CompanyId, resource: string) => string | null
  /** The router's entries: routes, and variants that share a path as one entry. */
  readonly entries: readonly (Route | RouteVariants)[]
  /** All routes, each variant separately. */
  readonly routes: readonly Route[]
  readonly groups: Readonly<Record<string, string>>
  readonly retiredPaths: readonly string[]
  /** By name. */
  readonly readModels: readonly (Projection & ReadModel)[]
  readonly reactions: readonly Reaction[]
  readonly migrations: Migrations
  readonly tables: readonly SliceTable[]
  readonly erasures: readonly NonNullable<Slice["erase"]>[]
  readonly backups: readonly SliceBackup[]
  readonly sweeps: readonly {
    readonly slice: string
    readonly sweep: NonNullable<Slice["sweep"]>
  }[]
  readonly settings: readonly SettingsSpec[]
  readonly providers: readonly Provider[]
  readonly webhooks: readonly Route[]
  readonly pages: readonly PageRoute[]
  readonly entryPoints: readonly EntryPoint[]
  readonly hostRoutes: (ports: Ports) => readonly HostRoute[]
  readonly aliases: (ports: Ports) => readonly HostAlias[]
  readonly daemons: readonly Daemon[]
  readonly probes: readonly Probe[]
  readonly doctorChecks: readonly NonNullable<Slice["doctorCheck"]>[]
  readonly metrics: readonly Metric[]
  /** All operator commands, in the order of the help text. */
  readonly commands: readonly OperatorCommand[]
  /** The commands that run in the server process. */
  readonly operations: readonly AdminOperation[]
  readonly topics: Readonly<Record<string, string>>
  /** Projections that turn facts into jobs. */
  readonly jobProjections: readonly Projection[]
  readonly companyJobKinds: {
    /** Kinds of jobs that are discarded with their company. */
    readonly ending: readonly string[]
    /** Kinds of jobs with personal data; their rows are deleted with their company. */
    readonly personal: readonly string[]
  }
}

/**
 * Assembles a program from its slices.
 *
 * @throws RangeError if two slices contribute the same name, a migration's name does not begin with its
 *   slice's, a route's name is not valid, or its group has no description
 */
export function assemble(slices: readonly Slice[]): Program {
  const listed = routesIn(slices.flatMap((one) => one.routes ?? []))
  const entries = slices.flatMap((one) => [
    ...(one.routes ?? []),
    ...(one.deriveRoutes?.(listed) ?? []),
  ])
  const retiredPaths = slices.flatMap((one) => one.retiredPaths ?? [])
  const streams = combineStreams(slices.map((one) => one.streams ?? {}))
  const readModels = slices
    .flatMap((one) => one.readModels ?? [])
    .map((one) => ({ ...one, ...streams.categoriesOf(new Set(one.on)) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const routes = routesIn(entries)
  const providers = slices.flatMap((one) => one.providers ?? [])
  const simulators = providers.flatMap(({ simulator }) => simulator ?? [])
  const commands = [
    ...slices.flatMap((one) => one.commands ?? []),
    ...slices.flatMap((one) => one.deriveCommands?.(simulators) ?? []),
  ]
  const settings = slices.flatMap((one) => one.settings ?? [])
  const tables = slices.flatMap((one) => one.tables ?? [])
  const { reconciled, reactions } = collectReactions(slices, routes)
  requireUnique({
    slice: slices.map(({ name }) => name),
    route: [...entries.map(({ method, url }) => `${method} ${url}`), ...retiredPaths],
    "name of a route": namesOf(entries),
    tool: listed.flatMap(({ tool }) => tool?.name ?? []),
    group: slices.flatMap((one) => Object.keys(one.groups ?? {})),
    "read model": readModels.map(({ name }) => name),
    reaction: reactions.map(({ kind }) => kind),
    "reconciled prefix": reconciled.map(({ prefix }) => prefix),
    setting: settings.flatMap(({ schema }) => Object.keys(schema.shape)),
    provider: providers.map(({ name }) => name),
    simulator: simulators.map(({ name }) => name),
    table: tables.map(({ table }) => table),
    command: commands.map(({ does, name }) => `${name} (${does})`),
  })
  const groups = Object.assign({}, ...slices.map((one) => one.groups ?? {})) as Program["groups"]
  requireNamed(entries, groups)
  const kindsThat = (holds: (one: Reaction) => boolean) =>
    reactions.filter(holds).map(({ kind }) => kind)
  return {
    streams,
    entries,
    routes,
    groups,
    retiredPaths,
    readModels,
    reactions,
    settings,
    providers,
    commands,
    tables,
    ...collectExtras(slices),
    migrations: migrationsOf(slices),
    erasures: slices.flatMap(({ erase }) => erase ?? []),
    backups: slices.flatMap(({ backup }) => backup ?? []),
    sweeps: slices.flatMap(({ name, sweep }) =>
      sweep === undefined ? [] : { slice: name, sweep },
    ),
    operations: commands.filter((command) => command.does === "operation"),
    topics: Object.assign({}, ...slices.map((one) => one.topics ?? {})),
    streamOfIntent: (companyId, resource) =>
      reconciliationFor(reconciled, resource)?.streamOf?.(companyId, resource) ?? null,
    jobProjections: ([JOBS_PROJECTION, DELAYED_JOBS_PROJECTION] as const).map((name) => {
      const its = reactions.filter(
        ({ isDelayed = false }) => isDelayed === (name === DELAYED_JOBS_PROJECTION),
      )
      const following = {
        jobsToEnqueue: (recorded: ProjectedFact) => jobsFor(its, recorded),
        jobsToCancel: (recorded: ProjectedFact) => jobsEndedBy(its, recorded),
      }
      return jobsProjection(name, following, streams.categoriesOf(factTypesRead(its)))
    }),
    companyJobKinds: {
      ending: kindsThat(({ isDiscardedOnErasure }) => isDiscardedOnErasure === true),
      personal: kindsThat(({ hasPersonalData }) => hasPersonalData === true),
    },
  }
}

/** Collects the reconciliations and all reactions, including those of paid routes and the reconciler. */
function collectReactions(slices: readonly Slice[], routes: readonly Route[]) {
  const paid = routes.filter(isPaidRoute).map((one) => one.paid)
  // Two routes may pay for the same kind of resource.
  const reconciled = [
    ...new Set(paid.map((one) => one.reconciled)),
    ...slices.flatMap((one) => one.reconciliations ?? []),
  ]
  const reactions = [
    ...slices.flatMap((one) => one.reactions ?? []),
    ...new Set(paid.flatMap(({ jobs }) => jobs)),
    reconciler(reconciled),
  ]
  return { reconciled, reactions }
}

/** Collects the contributions that are not part of the API. */
function collectExtras(slices: readonly Slice[]) {
  return {
    webhooks: slices.flatMap((one) => one.webhooks ?? []),
    pages: slices.flatMap((one) => one.pages ?? []),
    entryPoints: slices.flatMap((one) => one.entryPoints ?? []),
    hostRoutes: (ports: Ports) => slices.flatMap((one) => one.hostRoutes?.(ports) ?? []),
    aliases: (ports: Ports) => slices.flatMap((one) => one.aliases?.(ports) ?? []),
    daemons: slices.flatMap((one) => one.daemons ?? []),
    probes: slices.flatMap((one) => one.probes ?? []),
    doctorChecks: slices.flatMap((one) => one.doctorCheck ?? []),
    metrics: slices.flatMap((one) => one.metrics ?? []),
  }
}

/** @throws RangeError if a migration's name does not begin with its slice's */
function migrationsOf(slices: readonly Slice[]): Migrations {
  for (const { name, migrations = {} } of slices) {
    const misnamed = Object.keys(migrations).find((one) => !one.startsWith(`${name}-`))
    if (misnamed !== undefined)
      throw new RangeError(`the migration ${misnamed} must have a name that begins with ${name}-`)
  }
  return Object.assign({}, ...slices.map((one) => one.migrations ?? {})) as Migrations
}

const namesOf = (entries: readonly (Route | RouteVariants)[]): readonly string[] =>
  entries.flatMap((entry) => [
    entry.name,
    ...(isRouteVariants(entry) ? entry.variants.map(({ name }) => name) : []),
  ])

/** @throws RangeError if a route's name is not a function name, or its group has no description */
function requireNamed(
  entries: readonly (Route | RouteVariants)[],
  groups: Readonly<Record<string, string>>,
): void {
  const odd = namesOf(entries).find((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))
  if (odd !== undefined)
    throw new RangeError(`${odd} is not a valid route name; use camel case, such as sendText`)
  const undescribed = routesIn(entries).find(({ group }) => groups[group] === undefined)
  if (undescribed === undefined) return
  const { name, group } = undescribed
  throw new RangeError(`${name} is in the group ${group}, which no slice describes`)
}

function requireUnique(named: Readonly<Record<string, readonly string[]>>): void {
  for (const [what, names] of Object.entries(named)) {
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new RangeError(`two slices contribute the ${what} ${twice}`)
  }
}
