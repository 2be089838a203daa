/**
 * A kind of resource that a charge pays for, such as texts or boxes, as data: its stream, its status there, and
 * what happens to its charge. Settling, reconciliation after a crash and the audit's search for the intent derive from it.
 */
import type { Aggregate, AggregateStream } from "../../../domain/kernel/aggregate.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { Refund } from "./charges.ts"
import { settleOrRefund } from "./charges.ts"
import type { IntentStatus } from "./effect.ts"
import type { Reconciliation } from "./reconcile.ts"

export interface PaidResourceReference<Id, C, S, E extends Fact, N extends Fact> {
  readonly id: Id
  readonly stream: AggregateStream<Aggregate<C, S, E, N>>
}

/** The status of a resource, as far as its charge is concerned. */
export interface PaidResourceStatus {
  /** The charge that pays for it; null if it is free. */
  readonly chargeId: ChargeId | null
  /** Pending until the outcome is known; then settled, or a refund in full or in part. */
  readonly charge: "pending" | "settled" | Refund
  /** Whether the resource failed: a retry of the same request then begins another one. */
  readonly isVoid: boolean
}

/**
 * A kind of resource. `Id` is its id; `C`, `S`, `E` and `N` are the commands, state, facts and refusals of its
 * stream; `V` is the stream's view of one resource.
 */
export interface PaidResourceSpec<
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
> {
  /** Prefix of the resources' ids. */
  readonly prefix: P
  readonly aggregate: Aggregate<C, S, E, N>
  /** Finds the resource that a charge names; null for a resource of another kind. */
  readonly resolve: (
    companyId: CompanyId,
    resource: string,
  ) => PaidResourceReference<Id, NoInfer<C>, NoInfer<S>, NoInfer<E>, NoInfer<N>> | null
  /** Returns the stream's view of a resource; null if the stream does not know it. */
  readonly view: (id: Id) => (state: NoInfer<S>) => V | "abandoned" | null
  readonly status: (view: V) => PaidResourceStatus
  /** The command that prevents a resource from beginning if it has not begun. */
  readonly abandonCommand: (id: Id) => NoInfer<C>
  /** Deletes what a request stored outside the stream for a resource that never begins. */
  readonly onAbandoned?: (ports: Ports, companyId: CompanyId, id: Id) => Promise<void>
  /** The reason on the bill for refunding a charge whose resource never began. */
  readonly neverBegunReason: string
}

/** A kind of resource with its operations. */
export interface PaidResource<
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
> extends PaidResourceSpec<P, Id, C, S, E, N, V> {
  /** Records a command about a resource and returns the view after it. */
  readonly execute: (
    ports: Pick<Ports, "runner">,
    at: PaidResourceReference<Id, C, S, E, N>,
    command: C,
    cause: Cause,
  ) => Promise<V | "abandoned" | null>
  /** Records a command about a resource and ends its charge by the status after it. */
  readonly conclude: (
    ports: Ports,
    companyId: CompanyId,
    at: PaidResourceReference<Id, C, S, E, N>,
    command: C,
    cause: Cause,
  ) => Promise<{
    readonly view: V | "abandoned" | null
    /** False while the charge is pending. */
    readonly isSettled: boolean
  }>
  /** Ends the charge of a resource by its status; false while that is pending. */
  readonly settle: (
    ports: Ports,
    companyId: CompanyId,
    view: V | "abandoned" | null,
    cause: Cause,
  ) => Promise<boolean>
  /** Reads a resource's status for the job that drives it, and ends the charge of one that has ended. */
  readonly checkStatus: (
    ports: Ports,
    companyId: CompanyId,
    at: PaidResourceReference<Id, C, S, E, N>,
    cause: Cause,
  ) => Promise<IntentStatus>
  readonly reconciliation: Reconciliation
}

/** Defines a kind of resource that a charge pays for. */
export function paidResource<
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
>(spec: PaidResourceSpec<P, Id, C, S, E, N, V>): PaidResource<P, Id, C, S, E, N, V> {
  type Kind = PaidResource<P, Id, C, S, E, N, V>
  const execute: Kind["execute"] = async ({ runner }, { id, stream }, command, cause) =>
    (await runner.execute(stream, command, cause, spec.view(id))).view
  const settle: Kind["settle"] = async (ports, companyId, view, cause) => {
    // The reconciler refunds the charge of an abandoned resource.
    if (view === null || view === "abandoned") return true
    const { chargeId, charge } = spec.status(view)
    if (charge === "pending") return false
    if (chargeId === null) return true
    await settleOrRefund(ports, companyId, chargeId, charge === "settled" ? null : charge, cause)
    return true
  }
  const conclude: Kind["conclude"] = async (ports, companyId, at, command, cause) => {
    const view = await execute(ports, at, command, cause)
    return { view, isSettled: await settle(ports, companyId, view, cause) }
  }
  const checkStatus: Kind["checkStatus"] = async (ports, companyId, { id, stream }, cause) => {
    // Another process may have just recorded the resource whose job this process runs.
    const view = await ports.runner.readLatest(stream, spec.view(id))
    if (view === null) return "not there"
    return (await settle(ports, companyId, view, cause)) ? "ended" : "open"
  }
  const reconciliation: Reconciliation = {
    prefix: spec.prefix,
    streamOf: (companyId, resource) => spec.resolve(companyId, resource)?.stream.stream ?? null,
    neverBegunReason: spec.neverBegunReason,
    abandon: async (ports, { companyId, resource }, cause) => {
      const at = spec.resolve(companyId, resource)
      if (at === null) throw new Error(`${resource} is not a ${spec.prefix}`)
      const view = await execute(ports, at, spec.abandonCommand(at.id), cause)
      if (view === null || view === "abandoned") {
        await spec.onAbandoned?.(ports, companyId, at.id)
        return "never begun"
      }
      return (await settle(ports, companyId, view, cause)) ? "ended" : "open"
    },
  }
  return { ...spec, execute, conclude, settle, checkStatus, reconciliation }
}
