import type pg from "pg"
import type { AskedLeases } from "./port.ts"

/** Seeds the hash of a lease's name, so that its lock meets no other of the database by chance. */
const LOCK_SPACE = 7_003

const TRY = `
  select name, pg_try_advisory_lock(hashtextextended(name, ${LOCK_SPACE})) as taken
  from unnest($1::text[]) as asked (name)`
const LET_GO = `
  select pg_advisory_unlock(hashtextextended(name, ${LOCK_SPACE}))
  from unnest($1::text[]) as held (name)`

interface Asked {
  readonly names: ReadonlySet<string>
  readonly onChange: (name: string, isHeld: boolean) => void
  readonly held: Set<string>
}

/** The leases that a process asks for, as advisory locks of the session that stands for it. */
export class LeaseBook {
  readonly #client: () => pg.Client | null
  readonly #warn: (message: string, error: unknown) => void
  readonly #asked = new Set<Asked>()
  /** One statement after the other: a lock that is taken twice must be let go twice. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: () => pg.Client | null, warn: (message: string, error: unknown) => void) {
    this.#client = client
    this.#warn = warn
  }

  /** Notes what is asked for; `seek` tries for it. */
  add(names: readonly string[], onChange: Asked["onChange"]): AskedLeases {
    const asked: Asked = { names: new Set(names), onChange, held: new Set() }
    this.#asked.add(asked)
    return {
      giveUp: async () => {
        this.#asked.delete(asked)
        await this.#inTurn(() => this.#letGo([...asked.held]))
      },
    }
  }

  /** Tries for all that is asked for and not held. @throws the driver's error */
  async seek(client: pg.Client): Promise<void> {
    await this.#inTurn(async () => {
      const sought = [...this.#asked].flatMap(({ names, held }) =>
        [...names].filter((name) => !held.has(name)),
      )
      // Also with nothing to seek: it shows whether the connection still answers.
      const { rows } = await client.query<{ name: string; taken: boolean }>(TRY, [sought])
      const taken = rows.filter((row) => row.taken).map((row) => row.name)
      if (taken.length > 0 && this.#client() === client) await this.#take(taken)
    })
  }

  /** All that was held is lost. */
  lose(): void {
    for (const { held, onChange } of this.#asked) {
      const lost = [...held]
      held.clear()
      for (const name of lost) onChange(name, false)
    }
  }

  async #take(taken: readonly string[]): Promise<void> {
    const unwanted: string[] = []
    for (const name of taken) {
      const asked = [...this.#asked].find(({ names }) => names.has(name))
      asked?.held.add(name)
      asked?.onChange(name, true)
      if (asked === undefined) unwanted.push(name)
    }
    await this.#letGo(unwanted)
  }

  async #letGo(names: readonly string[]): Promise<void> {
    const client = this.#client()
    if (names.length === 0 || client === null) return
    try {
      await client.query(LET_GO, [names])
    } catch (error) {
      // They end with the connection.
      this.#warn("leases were let go with their connection", error)
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => undefined)
    await mine
  }
}
