import type { Place } from "../follow.ts"
import { Unavailable } from "../port.ts"

/**
 * The newest place that this process has seen. It only ever goes forward: a database that ends before it
 * is an older copy that was put in the place of ours, or a standby that had not received everything. What
 * is in memory here is newer than that: nothing is appended behind both. It can be read and audited.
 */
export class NewestSeen {
  #place: Place = -1n
  #fault: string | null = null

  /** The newest place seen by now: to be asked before the question whose answer is checked. */
  get place(): Place {
    return this.#place
  }

  /** An event was shown or stored there. */
  saw(place: Place): void {
    if (place > this.#place) this.#place = place
  }

  /**
   * The database says where it ends.
   *
   * @param seen what was seen when it was asked: more may have been stored since
   */
  ends(end: Place, seen: Place): void {
    this.#fault =
      end >= seen
        ? null
        : `the event store ends at ${end}, and ${seen} was seen in it before: it is an older copy, or a ` +
          "standby that has not received everything; put back what is missing, or start anew"
    this.saw(end)
  }

  /** @throws Unavailable as long as the database ends before what was seen */
  hold(): void {
    if (this.#fault !== null) throw new Unavailable(this.#fault)
  }
}
