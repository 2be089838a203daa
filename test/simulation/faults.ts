/** What goes wrong in a run, and how often: drawn from its seed, so that runs differ in kind. */
import type { Chance } from "./chance.ts"

/** How often things go wrong: parts of 1, for each time that they could. */
export interface Faults {
  /** A message takes up to so many milliseconds. */
  readonly slowMs: number
  /** A message takes seconds. */
  readonly stalls: number
  /** The store says that it cannot be reached; nothing is stored. */
  readonly unavailable: number
  /** An append is lost on its way, and nobody knows. */
  readonly lostRequest: number
  /** An append is stored, and its answer is lost. */
  readonly lostAnswer: number
  /** An append is given up by its caller, and stored after that. */
  readonly lateAppend: number
  /** A subscriber is dropped, and subscribes again. */
  readonly drops: number
  /** Events are delivered a second time. */
  readonly doubles: number
  /** The database breaks a connection, before or after what was asked. */
  readonly database: number
  /** A lock is not given although it is free. */
  readonly lockRefused: number
  /** For each step of a process: its memory is gone. */
  readonly crashes: number
  /** For each append that was stored: its process dies before it does anything more. */
  readonly crashesStored: number
  /** For each second: a process is stopped in order, and started again. */
  readonly restarts: number
  /** For each second: locks and leases are lost by who believes to have them. */
  readonly locksLost: number
  /** For each second: a process cannot tell the ledger's time for a while. */
  readonly clockUnsure: number
  /** For each second: the ledger's time jumps. */
  readonly clockJumps: number
  /** For each second: the store is lost for every subscriber at once. */
  readonly losses: number
}

/** Nothing goes wrong. */
export const CALM: Faults = {
  slowMs: 3,
  stalls: 0,
  unavailable: 0,
  lostRequest: 0,
  lostAnswer: 0,
  lateAppend: 0,
  drops: 0,
  doubles: 0,
  database: 0,
  lockRefused: 0,
  crashes: 0,
  crashesStored: 0,
  restarts: 0,
  locksLost: 0,
  clockUnsure: 0,
  clockJumps: 0,
  losses: 0,
}

/** Draws what goes wrong in a run: of each kind nothing in every third one, else up to so much. */
export function drawFaults(chance: Chance): Faults {
  const upTo = (most: number): number => (chance.happens(1 / 3) ? 0 : most * chance.part())
  return {
    slowMs: chance.pick([2, 10, 60]),
    stalls: upTo(0.01),
    unavailable: upTo(0.15),
    lostRequest: upTo(0.1),
    lostAnswer: upTo(0.15),
    lateAppend: upTo(0.1),
    drops: upTo(0.1),
    doubles: upTo(0.2),
    database: upTo(0.08),
    lockRefused: upTo(0.5),
    crashes: upTo(0.006),
    crashesStored: upTo(0.1),
    restarts: upTo(0.1),
    locksLost: upTo(0.2),
    clockUnsure: upTo(0.3),
    clockJumps: upTo(0.3),
    losses: upTo(0.2),
  }
}
