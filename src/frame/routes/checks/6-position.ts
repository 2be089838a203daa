/**
 * Reading one's own writes (docs/decisions/api.md): a read waits up to two seconds for the position that its caller
 * names, or for the last write with the same key in this process; then it answers, marked as stale.
 */
import type { Position } from "../../../../adapters/eventstore/port.ts"
import { comparePositions, laterPosition } from "../../../../adapters/eventstore/port.ts"
import type { AggregateStream } from "../../../../domain/kernel/aggregate.ts"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Ports } from "../../ports.ts"
import type { Runner } from "../../writer/runner.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"

const TOKEN = /^(?:([1-9a-z][0-9a-z]{0,4})-)?([0-9a-z]{1,13})(?:\.([0-9a-z]{1,13}))?$/

/** A position, and the store's generation when it was issued. */
export interface PositionToken {
  readonly generation: number
  readonly position: Position
}

const WAIT_MS = 2_000
const CALLERS_REMEMBERED = 10_000

/** The last write of each caller in this process. */
export interface LastWrites {
  readonly record: (scope: string, position: Position) => void
  readonly last: (scope: string) => Position | null
}

/** Creates a memory of last writes, for the callers that wrote most recently. */
export function openLastWrites(): LastWrites {
  const positions = new Map<string, Position>()
  return {
    record: (scope, position) => {
      const former = positions.get(scope)
      // Concurrent calls may end in another order than they were stored in.
      const isNewer = former === undefined || comparePositions(former, position) < 0
      positions.delete(scope)
      positions.set(scope, isNewer ? position : former)
      if (positions.size <= CALLERS_REMEMBERED) return
      for (const oldest of positions.keys()) {
        positions.delete(oldest)
        return
      }
    },
    last: (scope) => positions.get(scope) ?? null,
  }
}

/**
 * Parses a `Ledger-Position`; a refusal if it is not valid. Null if there is nothing to wait for: without one,
 * or if it is of an earlier generation, whose events were all migrated or are gone.
 */
export async function parsePositionHeader(
  ports: Pick<Ports, "store" | "storeGeneration">,
  header: string | null,
): Promise<{ readonly position: Position | null } | { readonly refusal: Refusal }> {
  if (header === null) return { position: null }
  const token = parsePositionToken(header)
  if (token !== null) {
    const { generation, position } = token
    if (generation < ports.storeGeneration) return { position: null }
    const isHere = generation === ports.storeGeneration
    if (isHere && comparePositions(position, await ports.store.head()) <= 0) return { position }
  }
  return { refusal: invalidPositionRefusal() }
}

const INVALID_POSITION =
  "Ledger-Position is not valid. Send the value of an earlier answer unchanged."

/** Returns the refusal of a position that this ledger does not have. */
export function invalidPositionRefusal(): Refusal {
  const fields = { "Ledger-Position": "Must be a Ledger-Position that this ledger has sent." }
  return refusal("validation", INVALID_POSITION, { fields })
}

/** Waits for the read models; true if they may lack what the caller wrote. */
export async function waitForReadModels(
  ports: Pick<Ports, "projector">,
  reads: readonly string[],
  positions: readonly (Position | null)[],
): Promise<boolean> {
  const known = positions.filter((position) => position !== null)
  if (known.length === 0) return false
  const latest = known.reduce((a, b) => laterPosition(a, b))
  return !(await ports.projector.waitUntilWritten(latest, WAIT_MS, reads))
}

const nothing = () => undefined

export type CompanyStream = (companyId: CompanyId) => AggregateStream<{ readonly category: string }>

/**
 * Refreshes the streams that a route reads: their state in memory can be a second old, and another process may
 * have written at the caller's position.
 *
 * @throws as `Runner.readLatest` does
 */
export async function refreshStreams(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  streams: readonly CompanyStream[],
): Promise<void> {
  await Promise.all(
    streams.map((streamOf) => {
      // Its state is not used, so its type does not matter.
      const stream = streamOf(companyId) as Parameters<Runner["readLatest"]>[0]
      return ports.runner.readLatest(stream, nothing)
    }),
  )
}

/** Formats a position. @param generation how many times the store's events were migrated */
export function formatPositionToken({ commit, prepare }: Position, generation: number): string {
  const text =
    commit === prepare ? commit.toString(36) : `${commit.toString(36)}.${prepare.toString(36)}`
  return generation === 0 ? text : `${generation.toString(36)}-${text}`
}

/** Parses a position; null if it is malformed. */
export function parsePositionToken(token: string): PositionToken | null {
  const match = TOKEN.exec(token)
  if (match === null) return null
  const [, generation = "0", first = "", second = first] = match
  const position = { commit: fromBase36(first), prepare: fromBase36(second) }
  return { generation: Number.parseInt(generation, 36), position }
}

function fromBase36(text: string): bigint {
  let value = 0n
  for (const digit of text) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}
