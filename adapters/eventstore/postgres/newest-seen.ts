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
  /** It went on otherwise: however far it comes, it is not ours. */
  #isOther = false

  /** The last event that was stored from here: it has to be there, at its place, for ever. */
  stored: { readonly place: Place; readonly id: string } | null = null

  /** The newest place seen by now: to be asked before the question whose answer is checked. */
  get place(): Place {
    return this.#place
  }

  /** An event was stored from here. */
  stores(place: Place, id: string): void {
    if (this.stored === null || place > this.stored.place) this.stored = { place, id }
    this.saw(place)
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
    this.saw(end)
    if (this.#isOther) return
    this.#fault =
      end >= seen
        ? null
        : `the event store ends at ${end}, and ${seen} was seen in it before: it is an older copy, or a ` +
          "standby that has not received everything; put back what is missing, or start anew"
  }

  /** A new connection shows what stands where the last event was stored from here; null for nothing. */
  shows(id: string | null): void {
    if (this.stored === null || id === this.stored.id) return
    this.#fault =
      `the event store does not hold at ${this.stored.place} what was stored there: it is an older copy, or ` +
      "another database; put back what is missing, or start anew"
    this.#isOther = true
  }

  /** @throws Unavailable as long as the database ends before what was seen */
  hold(): void {
    if (this.#fault !== null) throw new Unavailable(this.#fault)
  }
}
