/**
 * Who holds which domain: of two companies that connect the same at once, one does.
 *
 * Stream `domains`: a fact for each claim and for each end of one. No name is held that lies above or
 * below another that is: zones would overlap, and whoever holds the upper could write into the lower.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type {
  DomainReservationEvent,
  DomainReservationFact,
  DomainReleaseReason,
  DomainId,
} from "./domain-events.ts"

/** Claims a name for a company. One that it holds: nothing new, whatever the id. */
export type ReserveDomain = { readonly type: "ReserveDomain" } & Omit<
  DomainReservationFact<"DomainReserved">,
  "type" | "at"
>

/** Lets go of what is held by an id. What is held by none: nothing new. */
export interface ReleaseDomain {
  readonly type: "ReleaseDomain"
  readonly domainId: DomainId
  readonly reason: DomainReleaseReason
}

/** What can be asked of the claims. */
export type DomainReservationCommand = ReserveDomain | ReleaseDomain

/** A claim was refused: the name, or one above or below it, is held already. */
export interface DomainReservationRefused {
  readonly type: "DomainReservationRefused"
  readonly at: number
  readonly code: "held"
  readonly message: string
}

/** Who holds a name. */
export interface DomainReservation {
  readonly domainId: DomainId
  readonly companyId: CompanyId
  readonly name: string
  /** Since when, UTC milliseconds. */
  readonly at: number
}

interface State {
  readonly byName: Map<string, DomainReservation>
  readonly nameOf: Map<DomainId, string>
  /** How many names are held below a name, for each that has some. */
  readonly below: Map<string, number>
}

/** Who holds which domain. Only the functions of this file look inside. */
export type DomainReservations = State

/** The rules of claims. */
export const domainReservationsDecider: Decider<
  DomainReservationCommand,
  DomainReservations,
  DomainReservationEvent,
  DomainReservationRefused
> = {
  initial: () => ({ byName: new Map(), nameOf: new Map(), below: new Map() }),
  decide,
  evolve,
}

function decide(
  command: DomainReservationCommand,
  state: DomainReservations,
  { at }: DecisionStamp,
): readonly DomainReservationEvent[] | DomainReservationRefused {
  switch (command.type) {
    case "ReserveDomain": {
      const held = state.byName.get(command.name)
      if (held?.companyId === command.companyId) return []
      const isFree = held === undefined && !overlaps(state, command.name)
      return isFree ? [{ ...command, type: "DomainReserved", at }] : refused(at)
    }
    case "ReleaseDomain": {
      const { domainId, reason } = command
      const held = reservationById(domainId)(state)
      if (held === null) return []
      const { companyId, name } = held
      return [{ type: "DomainReleased", at, domainId, companyId, name, reason }]
    }
    default:
      return unreachable(command)
  }
}

function refused(at: number): DomainReservationRefused {
  const message = "This domain, or one above or below it, is connected already."
  return { type: "DomainReservationRefused", at, code: "held", message }
}

function overlaps({ byName, below }: DomainReservations, name: string): boolean {
  return below.has(name) || namesAbove(name).some((above) => byName.has(above))
}

/** The names that a name lies under, the nearest first; without the root. */
function namesAbove(name: string): readonly string[] {
  const labels = name.split(".")
  return labels.slice(1).map((_label, i) => labels.slice(i + 1).join("."))
}

function evolve(state: DomainReservations, event: DomainReservationEvent): DomainReservations {
  const { domainId, companyId, name, at } = event
  switch (event.type) {
    case "DomainReserved":
      addReservation(state, { domainId, companyId, name, at })
      return state
    case "DomainReleased":
      state.byName.delete(name)
      state.nameOf.delete(domainId)
      for (const above of namesAbove(name)) count(state, above, -1)
      return state
    default:
      return unreachable(event)
  }
}

function addReservation(state: DomainReservations, claim: DomainReservation): void {
  state.byName.set(claim.name, claim)
  state.nameOf.set(claim.domainId, claim.name)
  for (const above of namesAbove(claim.name)) count(state, above, 1)
}

function count({ below }: DomainReservations, name: string, by: number): void {
  const now = (below.get(name) ?? 0) + by
  if (now === 0) below.delete(name)
  else below.set(name, now)
}

/** The claim that a name is under: of the name itself, or of the nearest above it; null for none. */
export const reservationCovering =
  (name: string) =>
  ({ byName }: DomainReservations): DomainReservation | null => {
    const over = [name, ...namesAbove(name)].find((one) => byName.has(one))
    return over === undefined ? null : (byName.get(over) ?? null)
  }

/** The claim of an id; null where it holds nothing. */
export const reservationById =
  (domainId: DomainId) =>
  ({ byName, nameOf }: DomainReservations): DomainReservation | null => {
    const name = nameOf.get(domainId)
    return name === undefined ? null : (byName.get(name) ?? null)
  }

/** What a company holds, the oldest first. */
export const reservationsOf =
  (companyId: CompanyId) =>
  ({ byName }: DomainReservations): readonly DomainReservation[] =>
    [...byName.values()].filter((claim) => claim.companyId === companyId)

/** How claims are kept beside their stream. */
export const domainReservationsCheckpoint: CheckpointFormat<DomainReservations> = {
  version: 1,
  save: ({ byName }) => [...byName.values()],
  load: (saved) => {
    const state = domainReservationsDecider.initial()
    for (const claim of saved as readonly DomainReservation[]) addReservation(state, claim)
    return state
  },
}

/** What claims take in memory, in bytes, about. */
export function domainReservationsBytes({ byName, below }: DomainReservations): number {
  return 1_000 + byName.size * 500 + below.size * 100
}
