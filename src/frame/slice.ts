/**
 * A slice of the program, as data: everything that a kind of thing brings with it. The program is made
 * from the list of its slices, and nothing else has to know of them.
 */
import type { Migrations, OwnTable } from "../../adapters/postgres/installation/port.ts"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import type { Projection, ReadModel, Recorded } from "../../projections/kernel/projection.ts"
import { FOLLOW_UPS, followUps, LATE_FOLLOW_UPS } from "../../projections/kernel/follow-ups.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Route } from "./routes/declare/route.ts"
import type { WayIn } from "./routes/call.ts"
import type { OneOf, Page } from "./routes/declare/one-of.ts"
import { isOneOf, routesIn } from "./routes/declare/one-of.ts"
import type { Reaction } from "./effects/reaction.ts"
import { endedBy, factsLookedAt, itemsOf } from "./effects/reaction.ts"
import { isPaid } from "./effects/paid.ts"
import type { Reconciled } from "./effects/reconcile.ts"
import { reconciledBy, reconciler } from "./effects/reconcile.ts"
import type { Probe } from "./http/health.ts"
import type { Alias, Door } from "./http/hosts.ts"
import type { Measure } from "./http/metrics.ts"
import type { Examined, Finding } from "./operator/cli/finding.ts"
import type { Command } from "./operator/commands.ts"
import type { AdminOperation } from "./operator/operation.ts"
import type { Ports } from "./ports.ts"
import type { Provider } from "./provider.ts"
import type { Daemon } from "./daemon.ts"
import type { Settings } from "./settings.ts"
import type { StreamKinds, Streams } from "./writer/streams.ts"
import { streamsOf } from "./writer/streams.ts"

/** What a slice brings; most of it is absent in most slices. */
export interface Slice {
  readonly name: string
  readonly streams?: StreamKinds
  /** In the order of the documents. */
  readonly routes?: readonly (Route | OneOf)[]
  /** Routes over those of all slices, such as a door of their tools; behind its own. */
  readonly routesOver?: (routes: readonly Route[]) => readonly Route[]
  /** What its groups of routes are for, by the group, in Markdown: a page each of the documents. */
  readonly groups?: Readonly<Record<string, string>>
  /** Paths that answer 410 to every verb, before a key is looked at. */
  readonly retired?: readonly string[]
  readonly readModels?: readonly ReadModel[]
  readonly reactions?: readonly Reaction[]
  /** How pending charges end that no paid route makes, by the prefix of their things' ids. */
  readonly reconciled?: readonly Reconciled[]
  /** What its providers and its rules read from the environment. */
  readonly settings?: readonly Settings[]
  /** How its tables are made, each by a name that begins with the slice's: `leads-0001-forms`. */
  readonly migrations?: Migrations
  readonly tables?: readonly OwnTable[]
  /** Takes out what there is of a company outside of the program's PostgreSQL; done again after a crash. */
  readonly erase?: (ports: Ports, companyId: CompanyId) => Promise<void>
  /**
   * What there is of it outside of the program's PostgreSQL and its events, in backups: it goes into blobs
   * and comes back from them.
   */
  readonly inBackups?: InBackups
  /** Lets go of what is kept for a time only; done every ten minutes. */
  readonly sweep?: (ports: Ports) => Promise<void>
  /** What it asks outside. */
  readonly providers?: readonly Provider[]
  /** What its providers call back. */
  readonly webhooks?: readonly Route[]
  /** What browsers and other clients open and send beside the API: in no document of it. */
  readonly pages?: readonly Page[]
  /** Other ways to the API than by a key. */
  readonly waysIn?: readonly WayIn[]
  /** What it serves at host names of its own instead of the API. */
  readonly doors?: (ports: Ports) => readonly Door[]
  /** Host names of its own that lead to a path of the API. */
  readonly aliases?: (ports: Ports) => readonly Alias[]
  /** What it runs beside the API. */
  readonly daemons?: readonly Daemon[]
  /** What `/readyz` looks at. */
  readonly probes?: readonly Probe[]
  /** What `doctor` looks at. */
  readonly examine?: (installation: Examined) => Promise<readonly Finding[]>
  /** What `/metrics` tells. */
  readonly measures?: readonly Measure[]
  /** What an operator can do, in the order of help. */
  readonly operations?: readonly Command[]
  /** Operations over the simulators of all slices; they come last. */
  readonly operationsOver?: (simulators: readonly Simulator[]) => readonly Command[]
  /** What the commands are about whose names have two words, by the first of them. */
  readonly topics?: Readonly<Record<string, string>>
}

/** How something that stands outside of PostgreSQL and the event store comes into backups, and back. */
export interface InBackups {
  readonly putIn: (
    ports: Ports,
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<void>
  readonly takeOut: (ports: Ports) => Promise<void>
  readonly putBack: (ports: Ports, progress: (message: string) => void) => Promise<void>
}

/** A program, put together from its slices. */
export interface Program {
  readonly streams: Streams
  /** The stream that holds the intent a charge is for; null where the charge is its own. */
  readonly streamOfIntent: (companyId: CompanyId, resource: string) => string | null
  /** What the router knows: routes, and several shapes on one path as one. */
  readonly entries: readonly (Route | OneOf)[]
  /** Every route, shapes apart. */
  readonly routes: readonly Route[]
  readonly groups: Readonly<Record<string, string>>
  readonly retired: readonly string[]
  /** By name. */
  readonly readModels: readonly (Projection & ReadModel)[]
  readonly reactions: readonly Reaction[]
  readonly migrations: Migrations
  readonly tables: readonly OwnTable[]
  readonly erasures: readonly NonNullable<Slice["erase"]>[]
  readonly inBackups: readonly InBackups[]
  readonly sweeps: readonly {
    readonly slice: string
    readonly sweep: NonNullable<Slice["sweep"]>
  }[]
  readonly settings: readonly Settings[]
  readonly providers: readonly Provider[]
  readonly webhooks: readonly Route[]
  readonly pages: readonly Page[]
  readonly waysIn: readonly WayIn[]
  readonly doors: (ports: Ports) => readonly Door[]
  readonly aliases: (ports: Ports) => readonly Alias[]
  readonly daemons: readonly Daemon[]
  readonly probes: readonly Probe[]
  readonly examines: readonly NonNullable<Slice["examine"]>[]
  readonly measures: readonly Measure[]
  /** Whatever an operator can do, in the order of help. */
  readonly commands: readonly Command[]
  /** What of it is done where the stores are. */
  readonly operations: readonly AdminOperation[]
  readonly topics: Readonly<Record<string, string>>
  /** The rows that follow from facts. */
  readonly workRows: readonly Projection[]
  readonly workOfCompany: {
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
    ...(one.routesOver?.(listed) ?? []),
  ])
  const retired = slices.flatMap((one) => one.retired ?? [])
  const streams = streamsOf(slices.map((one) => one.streams ?? {}))
  const readModels = slices
    .flatMap((one) => one.readModels ?? [])
    .map((one) => ({ ...one, ...streams.categoriesOf(new Set(one.on)) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const routes = routesIn(entries)
  const providers = slices.flatMap((one) => one.providers ?? [])
  const simulators = providers.flatMap(({ simulator }) => simulator ?? [])
  const commands = [
    ...slices.flatMap((one) => one.operations ?? []),
    ...slices.flatMap((one) => one.operationsOver?.(simulators) ?? []),
  ]
  const settings = slices.flatMap((one) => one.settings ?? [])
  const tables = slices.flatMap((one) => one.tables ?? [])
  const { reconciled, reactions } = afterCharges(slices, routes)
  refuseTwice({
    slice: slices.map(({ name }) => name),
    route: [...entries.map(({ method, url }) => `${method} ${url}`), ...retired],
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
  refuseUnnamed(entries, groups)
  const kindsThat = (holds: (one: Reaction) => boolean) =>
    reactions.filter(holds).map(({ kind }) => kind)
  return {
    streams,
    entries,
    routes,
    groups,
    retired,
    readModels,
    reactions,
    settings,
    providers,
    commands,
    tables,
    ...beside(slices),
    migrations: migrationsOf(slices),
    erasures: slices.flatMap(({ erase }) => erase ?? []),
    inBackups: slices.flatMap(({ inBackups }) => inBackups ?? []),
    sweeps: slices.flatMap(({ name, sweep }) =>
      sweep === undefined ? [] : { slice: name, sweep },
    ),
    operations: commands.filter((command) => command.does === "operation"),
    topics: Object.assign({}, ...slices.map((one) => one.topics ?? {})),
    streamOfIntent: (companyId, resource) =>
      reconciledBy(reconciled, resource)?.streamOf?.(companyId, resource) ?? null,
    workRows: ([FOLLOW_UPS, LATE_FOLLOW_UPS] as const).map((name) => {
      const its = reactions.filter(({ isLate = false }) => isLate === (name === LATE_FOLLOW_UPS))
      const following = {
        items: (recorded: Recorded) => itemsOf(its, recorded),
        ended: (recorded: Recorded) => endedBy(its, recorded),
      }
      return followUps(name, following, streams.categoriesOf(factsLookedAt(its)))
    }),
    workOfCompany: {
      ending: kindsThat(({ endsWithCompany }) => endsWithCompany === true),
      personal: kindsThat(({ isPersonal }) => isPersonal === true),
    },
  }
}

/** How pending charges end, and every job; of paid routes, of slices, and the reconciler over them all. */
function afterCharges(slices: readonly Slice[], routes: readonly Route[]) {
  const paid = routes.filter(isPaid).map((one) => one.paid)
  // Two routes may pay for one kind of thing.
  const reconciled = [
    ...new Set(paid.map((one) => one.reconciled)),
    ...slices.flatMap((one) => one.reconciled ?? []),
  ]
  const reactions = [
    ...slices.flatMap((one) => one.reactions ?? []),
    ...new Set(paid.flatMap(({ jobs }) => jobs)),
    reconciler(reconciled),
  ]
  return { reconciled, reactions }
}

/** What stands beside the API. */
function beside(slices: readonly Slice[]) {
  return {
    webhooks: slices.flatMap((one) => one.webhooks ?? []),
    pages: slices.flatMap((one) => one.pages ?? []),
    waysIn: slices.flatMap((one) => one.waysIn ?? []),
    doors: (ports: Ports) => slices.flatMap((one) => one.doors?.(ports) ?? []),
    aliases: (ports: Ports) => slices.flatMap((one) => one.aliases?.(ports) ?? []),
    daemons: slices.flatMap((one) => one.daemons ?? []),
    probes: slices.flatMap((one) => one.probes ?? []),
    examines: slices.flatMap((one) => one.examine ?? []),
    measures: slices.flatMap((one) => one.measures ?? []),
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
const namesOf = (entries: readonly (Route | OneOf)[]): readonly string[] =>
  entries.flatMap((entry) => [
    entry.name,
    ...(isOneOf(entry) ? entry.shapes.map(({ name }) => name) : []),
  ])

/** @throws RangeError where a route is not named as clients name functions, or its group says nothing */
function refuseUnnamed(
  entries: readonly (Route | OneOf)[],
  groups: Readonly<Record<string, string>>,
): void {
  const odd = namesOf(entries).find((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))
  if (odd !== undefined) throw new RangeError(`${odd} is no name of a route, such as sendText`)
  const strange = routesIn(entries).find(({ group }) => groups[group] === undefined)
  if (strange === undefined) return
  const { name, group } = strange
  throw new RangeError(`${name} is of the group ${group}, and no slice says what that is for`)
}

function refuseTwice(named: Readonly<Record<string, readonly string[]>>): void {
  for (const [what, names] of Object.entries(named)) {
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new RangeError(`two slices bring the ${what} ${twice}`)
  }
}
