/**
 * Domain reservations: if two companies connect the same domain concurrently, one succeeds.
 *
 * Stream `domains`: an event for each reservation and each release. A name above or below a reserved one cannot be
 * reserved: the zones would overlap, and the owner of the upper one could write into the lower.
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

/** Reserves a name for a company. Records nothing if the company has it, whatever the id. */
export type ReserveDomain = { readonly type: "ReserveDomain" } & Omit<
  DomainReservationFact<"DomainReserved">,
  "type" | "at"
>

/** Releases the reservation of an id. Idempotent. */
export interface ReleaseDomain {
  readonly type: "ReleaseDomain"
  readonly domainId: DomainId
  readonly reason: DomainReleaseReason
}

export type DomainReservationCommand = ReserveDomain | ReleaseDomain

/** A reservation was refused: the name, or one above or below it, is reserved. */
export interface DomainReservationRefused {
  readonly type: "DomainReservationRefused"
  readonly at: number
  readonly code: "held"
  readonly message: string
}

export interface DomainReservation {
  readonly domainId: DomainId
  readonly companyId: CompanyId
  readonly name: string
  readonly at: number
}

interface State {
  readonly byName: Map<string, DomainReservation>
  readonly nameOf: Map<DomainId, string>
  /** Number of reserved names below a name, if there are any. */
  readonly below: Map<string, number>
}

/** All domain reservations. Only the functions of this file access the fields. */
export type DomainReservations = State

/** The rules of domain reservations. */
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
      const existing = state.byName.get(command.name)
      if (existing?.companyId === command.companyId) return []
      const isFree = existing === undefined && !overlaps(state, command.name)
      return isFree ? [{ ...command, type: "DomainReserved", at }] : refused(at)
    }
    case "ReleaseDomain": {
      const { domainId, reason } = command
      const existing = reservationById(domainId)(state)
      if (existing === null) return []
      const { companyId, name } = existing
      return [{ type: "DomainReleased", at, domainId, companyId, name, reason }]
    }
    default:
      return unreachable(command)
  }
}

function refused(at: number): DomainReservationRefused {
  const message = "This domain, its parent or one of its subdomains is already connected."
  return { type: "DomainReservationRefused", at, code: "held", message }
}

function overlaps({ byName, below }: DomainReservations, name: string): boolean {
  return below.has(name) || namesAbove(name).some((above) => byName.has(above))
}

/** The names above a name, nearest first, without the root. */
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

function addReservation(state: DomainReservations, reservation: DomainReservation): void {
  state.byName.set(reservation.name, reservation)
  state.nameOf.set(reservation.domainId, reservation.name)
  for (const above of namesAbove(reservation.name)) count(state, above, 1)
}

function count({ below }: DomainReservations, name: string, by: number): void {
  const total = (below.get(name) ?? 0) + by
  if (total === 0) below.delete(name)
  else below.set(name, total)
}

/** Finds the reservation that covers a name: of the name itself, or of the nearest name above it; null for none. */
export const reservationCovering =
  (name: string) =>
  ({ byName }: DomainReservations): DomainReservation | null => {
    const reserved = [name, ...namesAbove(name)].find((one) => byName.has(one))
    return reserved === undefined ? null : (byName.get(reserved) ?? null)
  }

/** Finds the reservation of an id; null if there is none. */
export const reservationById =
  (domainId: DomainId) =>
  ({ byName, nameOf }: DomainReservations): DomainReservation | null => {
    const name = nameOf.get(domainId)
    return name === undefined ? null : (byName.get(name) ?? null)
  }

/** Lists a company's reservations, oldest first. */
export const reservationsOf =
  (companyId: CompanyId) =>
  ({ byName }: DomainReservations): readonly DomainReservation[] =>
    [...byName.values()].filter((reservation) => reservation.companyId === companyId)

/** The checkpoint format of domain reservations. */
export const domainReservationsCheckpoint: CheckpointFormat<DomainReservations> = {
  version: 1,
  save: ({ byName }) => [...byName.values()],
  load: (saved) => {
    const state = domainReservationsDecider.initial()
    for (const reservation of saved as readonly DomainReservation[])
      addReservation(state, reservation)
    return state
  },
}

/** Estimates the memory of domain reservations in bytes. */
export function domainReservationsBytes({ byName, below }: DomainReservations): number {
  return 1_000 + byName.size * 500 + below.size * 100
}
