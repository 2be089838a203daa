/**
 * Reading one's own writes (decisions.md §7): a read waits for the place its caller names, or for
 * the last write with the same key on this node, up to two seconds; then it answers what there is
 * and says that it may be stale.
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

/** A place that was said, and how often the events had moved by then. */
export interface PositionToken {
  readonly generation: number
  readonly position: Position
}

const WAIT_MS = 2_000
const CALLERS_REMEMBERED = 10_000

/** Remembers where each caller wrote last on this node. */
export interface LastWrites {
  readonly record: (scope: string, position: Position) => void
  readonly last: (scope: string) => Position | null
}

/** Last writes in memory, those of the callers who wrote most recently. */
export function openLastWrites(): LastWrites {
  const places = new Map<string, Position>()
  return {
    record: (scope, position) => {
      const former = places.get(scope)
      // Calls at once may end in another order than they were stored in.
      const isNewer = former === undefined || comparePositions(former, position) < 0
      places.delete(scope)
      places.set(scope, isNewer ? position : former)
      if (places.size <= CALLERS_REMEMBERED) return
      for (const oldest of places.keys()) {
        places.delete(oldest)
        return
      }
    },
    last: (scope) => places.get(scope) ?? null,
  }
}

/**
 * The place a caller's `Ledger-Position` names, a refusal where it names none. Null where there is
 * nothing to wait for: without one, and where it was said before the events moved, for all that stood
 * there by then came along or is gone for good.
 */
export async function parsePositionHeader(
  ports: Pick<Ports, "store" | "storeGeneration">,
  header: string | null,
): Promise<{ readonly position: Position | null } | { readonly refusal: Refusal }> {
  if (header === null) return { position: null }
  const place = parsePositionToken(header)
  if (place !== null) {
    const { generation, position } = place
    if (generation < ports.storeGeneration) return { position: null }
    const isHere = generation === ports.storeGeneration
    if (isHere && comparePositions(position, await ports.store.head()) <= 0) return { position }
  }
  return { refusal: invalidPositionRefusal() }
}

/** The header names no position of this ledger. */
export function invalidPositionRefusal(): Refusal {
  const fields = { "Ledger-Position": "This is no position of this ledger." }
  return refusal("validation", "The header Ledger-Position is not valid.", { fields })
}

/** Waits for the read models; true when they may be behind what the caller wrote. */
export async function waitForReadModels(
  ports: Pick<Ports, "projector">,
  reads: readonly string[],
  places: readonly (Position | null)[],
): Promise<boolean> {
  const wanted = places.filter((place) => place !== null)
  if (wanted.length === 0) return false
  const latest = wanted.reduce((a, b) => laterPosition(a, b))
  return !(await ports.projector.waitUntilWritten(latest, WAIT_MS, reads))
}

const nothing = () => undefined

/** A stream whose state a route looks at. */
export type CompanyStream = (companyId: CompanyId) => AggregateStream<{ readonly category: string }>

/**
 * Brings what a route looks at up to the store's tail: a state in memory can be a second old, and
 * another process may have written at the place that the caller names.
 *
 * @throws as `Runner.readLatest` does
 */
export async function refreshStreams(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  looks: readonly CompanyStream[],
): Promise<void> {
  await Promise.all(
    looks.map((streamOf) => {
      // Nothing of its state is taken, so it may be of any kind.
      const stream = streamOf(companyId) as Parameters<Runner["readLatest"]>[0]
      return ports.runner.readLatest(stream, nothing)
    }),
  )
}

/** The text of a place. @param generation how often the events have moved */
export function formatPositionToken({ commit, prepare }: Position, generation: number): string {
  const place =
    commit === prepare ? commit.toString(36) : `${commit.toString(36)}.${prepare.toString(36)}`
  return generation === 0 ? place : `${generation.toString(36)}-${place}`
}

/** The place of a text; null where it is none. */
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
