/**
 * A slice of the program, as data: everything that a kind of thing brings with it. The program is made
 * from the list of its slices, and nothing else has to know of them.
 */
import type { Projection } from "../../projections/kernel/projection.ts"
import { followUps } from "../../projections/kernel/follow-ups.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { OneOf, Route } from "./calls/route.ts"
import { routesIn } from "./calls/route.ts"
import type { Reaction } from "./effects/reaction.ts"
import { endedBy, factsLookedAt, itemsOf } from "./effects/reaction.ts"
import type { Reconciled } from "./effects/reconcile.ts"
import { reconciledBy, reconciler } from "./effects/reconcile.ts"
import type { Command } from "./operator/commands.ts"
import type { AdminOperation } from "./operator/operation.ts"
import { simulatorOperations } from "./operator/own/simulators.ts"
import type { Provider } from "./provider.ts"
import type { Settings } from "./settings.ts"
import type { StreamKinds, Streams } from "./writer/streams.ts"
import { streamsOf } from "./writer/streams.ts"

/** What a slice brings; most of it is absent in most slices. */
export interface Slice {
  readonly name: string
  readonly streams?: StreamKinds
  /** In the order of the documents. */
  readonly routes?: readonly (Route | OneOf)[]
  /** Paths that answer 410 to every verb, before a key is looked at. */
  readonly retired?: readonly string[]
  readonly readModels?: readonly Projection[]
  readonly reactions?: readonly Reaction[]
  /** How the open charges for its things are ended, by the prefix of their ids. */
  readonly reconciled?: readonly Reconciled[]
  /** What its providers and its rules read from the environment. */
  readonly settings?: readonly Settings[]
  /** What it asks outside. */
  readonly providers?: readonly Provider[]
  /** What an operator can do, in the order of help. */
  readonly operations?: readonly Command[]
  /** What the commands are about whose names have two words, by the first of them. */
  readonly topics?: Readonly<Record<string, string>>
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
  readonly retired: readonly string[]
  /** By name. */
  readonly readModels: readonly Projection[]
  readonly reactions: readonly Reaction[]
  readonly settings: readonly Settings[]
  readonly providers: readonly Provider[]
  /** Whatever an operator can do, in the order of help. */
  readonly commands: readonly Command[]
  /** What of it is done where the stores are. */
  readonly operations: readonly AdminOperation[]
  readonly topics: Readonly<Record<string, string>>
  /** The rows that follow from facts. */
  readonly workRows: Projection
  readonly workOfCompany: {
    /** The kinds of work that end with their company. */
    readonly ending: readonly string[]
    /** The kinds whose rows carry what a person wrote or is: they are deleted with their company. */
    readonly personal: readonly string[]
  }
}

/** Puts a program together. @throws RangeError where two slices bring the same thing */
export function assemble(slices: readonly Slice[]): Program {
  const entries = slices.flatMap((one) => one.routes ?? [])
  const retired = slices.flatMap((one) => one.retired ?? [])
  const readModels = slices
    .flatMap((one) => one.readModels ?? [])
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const reconciled = slices.flatMap((one) => one.reconciled ?? [])
  const streams = streamsOf(slices.map((one) => one.streams ?? {}))
  const providers = slices.flatMap((one) => one.providers ?? [])
  const simulators = providers.flatMap(({ simulator }) => simulator ?? [])
  const commands = [
    ...slices.flatMap((one) => one.operations ?? []),
    ...simulatorOperations(simulators),
  ]
  const settings = slices.flatMap((one) => one.settings ?? [])
  const own = slices.flatMap((one) => one.reactions ?? [])
  const reactions = [...own, reconciler(reconciled)]
  refuseTwice({
    slice: slices.map(({ name }) => name),
    route: [...entries.map(({ method, url }) => `${method} ${url}`), ...retired],
    "read model": readModels.map(({ name }) => name),
    reaction: reactions.map(({ kind }) => kind),
    "prefix of what is charged": reconciled.map(({ prefix }) => prefix),
    setting: settings.flatMap(({ schema }) => Object.keys(schema.shape)),
    simulator: simulators.map(({ name }) => name),
    command: commands.map(({ does, name }) => `${name} (${does})`),
  })
  const kindsThat = (holds: (one: Reaction) => boolean) =>
    reactions.filter(holds).map(({ kind }) => kind)
  return {
    ...{ streams, entries, routes: routesIn(entries), retired, readModels, reactions },
    ...{ settings, providers, commands },
    operations: commands.filter((command) => command.does === "operation"),
    topics: Object.assign({}, ...slices.map((one) => one.topics ?? {})),
    streamOfIntent: (companyId, resource) =>
      reconciledBy(reconciled, resource)?.streamOf?.(companyId, resource) ?? null,
    workRows: followUps(
      {
        items: (recorded) => itemsOf(reactions, recorded),
        ended: (recorded) => endedBy(reactions, recorded),
      },
      streams.categoriesOf(factsLookedAt(reactions)),
    ),
    workOfCompany: {
      ending: kindsThat(({ endsWithCompany }) => endsWithCompany === true),
      personal: kindsThat(({ isPersonal }) => isPersonal === true),
    },
  }
}

function refuseTwice(named: Readonly<Record<string, readonly string[]>>): void {
  for (const [what, names] of Object.entries(named)) {
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new RangeError(`two slices bring the ${what} ${twice}`)
  }
}
