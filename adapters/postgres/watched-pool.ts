/** A pool with a gate before it while the database is silent, and a line for those who are patient. */
import pg from "pg"
import { endPatience } from "./connections.ts"

type Connected = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void

/** What a watched pool is told by its watch. */
interface PoolWatch {
  readonly isSilent: () => boolean
  /** What whoever connects comes to while it is silent. @throws an error of the connection's */
  readonly gate: () => void | Promise<void>
  /**
   * Whether those for whom there is no connection stand in line for one however long that takes. The pool's
   * own line is over as soon as making a connection would be.
   */
  readonly isPatient: boolean
}

/** A pool as the package has it, but for the gate and the line. */
export class WatchedPool extends pg.Pool {
  readonly #watch: PoolWatch
  readonly #line: (() => void)[] = []
  #free: number

  constructor(config: pg.PoolConfig, watch: PoolWatch) {
    super(config)
    this.#watch = watch
    this.#free = this.options.max
    this.on("release", (_error, client) => {
      endPatience(client)
      if (watch.isPatient) this.#leave()
    })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
    const { isPatient, isSilent } = this.#watch
    if (!isPatient && !isSilent()) {
      return callback === undefined ? super.connect() : super.connect(callback)
    }
    const connecting = isPatient ? this.#connectInTurn() : this.#connectLater()
    if (callback === undefined) return connecting
    return void connecting.then(
      (client) => callback(undefined, client, (error?: Error) => client.release(error)),
      (error: Error) => callback(error),
    )
  }

  async #connectLater(): Promise<pg.PoolClient> {
    if (this.#watch.isSilent()) await this.#watch.gate()
    return super.connect()
  }

  async #connectInTurn(): Promise<pg.PoolClient> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#line.push(resolve))
    try {
      return await this.#connectLater()
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  /** Whoever is next has the place. */
  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
