/**
 * What processes share beside the store: checkpoints, claims, locks, leases, read models with their
 * positions, and work. Each statement has its effect at one instant, whole or not at all.
 */
import { PROGRAM } from "../../src/slices.ts"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import type { Checkpoints } from "../../adapters/checkpoints/port.ts"
import { openMemoryClaims } from "../../adapters/claims/memory.ts"
import type { Claims } from "../../adapters/claims/port.ts"
import type { Position, StoredEvent } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type { PlainModel, Rows } from "./read-models.ts"
import { fold, isPlain } from "./read-models.ts"
import type { Owner } from "./schedule.ts"
import { WorkTable } from "./work-table.ts"

/** Every read model of the simulation. */
export const MODELS = ["charges", "accounts", "work", "late work"] as const

/** The name of a read model. */
export type Model = (typeof MODELS)[number]

/** A read model that writes its position somewhere else than its rows, to see that this is found. */
export interface DatabaseFlaws {
  readonly keepsPositionsApart?: boolean
}

/** The database of a run. */
export class Database {
  readonly checkpoints: Checkpoints = openMemoryCheckpoints()
  readonly claims: Claims = openMemoryClaims()
  readonly work: WorkTable
  /** The plain read models' rows. */
  readonly rows: Readonly<Record<PlainModel, Rows>> = { charges: new Map(), accounts: new Map() }
  readonly #flaws: DatabaseFlaws
  readonly #positions = new Map<Model, Position>()
  readonly #held = new Map<string, Owner>()

  constructor(now: () => number, flaws: DatabaseFlaws) {
    this.work = new WorkTable(now)
    this.#flaws = flaws
  }

  /** How far a read model came. */
  positionOf(model: Model): Position {
    return this.#positions.get(model) ?? START
  }

  /**
   * Folds events into a read model and stores its position with the rows; events that it has already
   * are passed over. False where it stands elsewhere than its writer thinks: nothing is changed.
   */
  async write(model: Model, known: Position, events: readonly StoredEvent[]): Promise<boolean> {
    const position = this.positionOf(model)
    if (comparePositions(position, known) !== 0) return false
    const news = events.filter((event) => comparePositions(event.position, position) > 0)
    const last = news.at(-1)
    if (last === undefined) return true
    if (isPlain(model)) fold(model, this.rows[model], news)
    else await this.#writeWork(model, news)
    if (this.#flaws.keepsPositionsApart !== true) this.#positions.set(model, last.position)
    return true
  }

  async #writeWork(model: Model, news: readonly StoredEvent[]): Promise<void> {
    const rows = PROGRAM.workRows.find(({ name }) => name === model)
    if (rows === undefined) throw new RangeError(`there is no read model ${model}`)
    const facts = news
      .map(PROGRAM.streams.recorded)
      .filter(({ category }) => rows.categories.includes(category))
    // The projection takes a transaction, and uses no more of it than that it is asked.
    await rows.apply(this.work.sql as never, facts, { open: async () => null })
  }

  /** Stores a position without rows, unless the read model stands elsewhere than its writer thinks. */
  moveTo(model: Model, known: Position, to: Position): boolean {
    if (comparePositions(this.positionOf(model), known) !== 0) return false
    if (comparePositions(to, known) > 0) this.#positions.set(model, to)
    return true
  }

  /** Takes a lock for somebody where nobody alive has it. */
  take(name: string, owner: Owner): boolean {
    if (this.#held.get(name)?.isAlive === true) return false
    this.#held.set(name, owner)
    return true
  }

  /** Whether somebody has a lock. */
  has(name: string, owner: Owner): boolean {
    return this.#held.get(name) === owner
  }

  /** Gives a lock back, where it is still theirs. */
  release(name: string, owner: Owner): void {
    if (this.has(name, owner)) this.#held.delete(name)
  }

  /** All locks are lost, and nobody is told. */
  loseLocks(): void {
    this.#held.clear()
  }
}
