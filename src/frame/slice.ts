/**
 * A slice of the program, as data: everything that a kind of thing brings with it. The program is made
 * from the list of its slices, and nothing else has to know of them.
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

/** What a slice brings; most of it is absent in most slices. */
export interface Slice {
  readonly name: string
  readonly streams?: StreamKinds
  /** In the order of the documents. */
  readonly routes?: readonly (Route | RouteVariants)[]
  /** Routes over those of all slices, such as a door of their tools; behind its own. */
  readonly deriveRoutes?: (routes: readonly Route[]) => readonly Route[]
  /** What its groups of routes are for, by the group, in Markdown: a page each of the documents. */
  readonly groups?: Readonly<Record<string, string>>
  /** Paths that answer 410 to every verb, before a key is looked at. */
  readonly retiredPaths?: readonly string[]
  readonly readModels?: readonly ReadModel[]
  readonly reactions?: readonly Reaction[]
  /** How pending charges end that no paid route makes, by the prefix of their things' ids. */
  readonly reconciliations?: readonly Reconciliation[]
  /** What its providers and its rules read from the environment. */
  readonly settings?: readonly SettingsSpec[]
  /** How its tables are made, each by a name that begins with the slice's: `leads-0001-forms`. */
  readonly migrations?: Migrations
  readonly tables?: readonly SliceTable[]
  /** Takes out what there is of a company outside of the program's PostgreSQL; done again after a crash. */
  readonly erase?: (ports: Ports, companyId: CompanyId) => Promise<void>
  /**
   * What there is of it outside of the program's PostgreSQL and its events, in backups: it goes into blobs
   * and comes back from them.
   */
  readonly backup?: SliceBackup
  /** Lets go of what is kept for a time only; done every ten minutes. */
  readonly sweep?: (ports: Ports) => Promise<void>
  /** What it asks outside. */
  readonly providers?: readonly Provider[]
  /** What its providers call back. */
  readonly webhooks?: readonly Route[]
  /** What browsers and other clients open and send beside the API: in no document of it. */
  readonly pages?: readonly PageRoute[]
  /** Other ways to the API than by a key. */
  readonly entryPoints?: readonly EntryPoint[]
  /** What it serves at host names of its own instead of the API. */
  readonly hostRoutes?: (ports: Ports) => readonly HostRoute[]
  /** Host names of its own that lead to a path of the API. */
  readonly aliases?: (ports: Ports) => readonly HostAlias[]
  /** What it runs beside the API. */
  readonly daemons?: readonly Daemon[]
  /** What `/readyz` looks at. */
  readonly probes?: readonly Probe[]
  /** What `doctor` looks at. */
  readonly doctorCheck?: (installation: DoctorContext) => Promise<readonly DoctorFinding[]>
  /** What `/metrics` tells. */
  readonly metrics?: readonly Metric[]
  /** What an operator can do, in the order of help. */
  readonly commands?: readonly OperatorCommand[]
  /** Operations over the simulators of all slices; they come last. */
  readonly deriveCommands?: (simulators: readonly Simulator[]) => readonly OperatorCommand[]
  /** What the commands are about whose names have two words, by the first of them. */
  readonly topics?: Readonly<Record<string, string>>
}

/** How something that stands outside of PostgreSQL and the event store comes into backups, and back. */
export interface SliceBackup {
  readonly stage: (
    ports: Ports,
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<void>
  readonly unstage: (ports: Ports) => Promise<void>
  readonly restore: (ports: Ports, progress: (message: string) => void) => Promise<void>
}

/** A program, put together from its slices. */
export interface Program {
  readonly streams: Streams
  /** The stream that holds the intent a charge is for; null where the charge is its own. */
  readonly streamOfIntent: (companyId: CompanyId, resource: string) => string | null
  /** What the router knows: routes, and several shapes on one path as one. */
  readonly entries: readonly (Route | RouteVariants)[]
  /** Every route, shapes apart. */
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
  /** Whatever an operator can do, in the order of help. */
  readonly commands: readonly OperatorCommand[]
  /** What of it is done where the stores are. */
  readonly operations: readonly AdminOperation[]
  readonly topics: Readonly<Record<string, string>>
  /** The rows that follow from facts. */
  readonly jobProjections: readonly Projection[]
  readonly companyJobKinds: {
    /** The kinds of work that end with their company. */
    readonly ending: readonly string[]
    /** The kinds whose rows carry what a person wrote or is: they are deleted with their company. */
    readonly personal: readonly string[]
  }
}

/**
 * Puts a program together.
 *
 * @throws RangeError where two slices bring the same thing, a migration has no name of its slice's, a
 * route has no name for clients, or its group no page
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
    "prefix of what is charged": reconciled.map(({ prefix }) => prefix),
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

/** How pending charges end, and every job; of paid routes, of slices, and the reconciler over them all. */
function collectReactions(slices: readonly Slice[], routes: readonly Route[]) {
  const paid = routes.filter(isPaidRoute).map((one) => one.paid)
  // Two routes may pay for one kind of thing.
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

/** What stands beside the API. */
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

/** @throws RangeError where one is not named by its slice */
function migrationsOf(slices: readonly Slice[]): Migrations {
  for (const { name, migrations = {} } of slices) {
    const strange = Object.keys(migrations).find((one) => !one.startsWith(`${name}-`))
    if (strange !== undefined)
      throw new RangeError(`${strange} is no name of a migration of ${name}`)
  }
  return Object.assign({}, ...slices.map((one) => one.migrations ?? {})) as Migrations
}

/** What clients call the routes by, and each shape of those that have several. */
const namesOf = (entries: readonly (Route | RouteVariants)[]): readonly string[] =>
  entries.flatMap((entry) => [
    entry.name,
    ...(isRouteVariants(entry) ? entry.variants.map(({ name }) => name) : []),
  ])

/** @throws RangeError where a route is not named as clients name functions, or its group says nothing */
function requireNamed(
  entries: readonly (Route | RouteVariants)[],
  groups: Readonly<Record<string, string>>,
): void {
  const odd = namesOf(entries).find((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))
  if (odd !== undefined) throw new RangeError(`${odd} is no name of a route, such as sendText`)
  const strange = routesIn(entries).find(({ group }) => groups[group] === undefined)
  if (strange === undefined) return
  const { name, group } = strange
  throw new RangeError(`${name} is of the group ${group}, and no slice says what that is for`)
}

function requireUnique(named: Readonly<Record<string, readonly string[]>>): void {
  for (const [what, names] of Object.entries(named)) {
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new RangeError(`two slices bring the ${what} ${twice}`)
  }
}
