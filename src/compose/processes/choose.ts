/** Which process a connection goes to. */
import { createHash } from "node:crypto"

/**
 * The home of a name among so many, from 1: the one of the highest hash (rendezvous). Where some are left
 * out, the names of those alone move.
 *
 * @param isThere whether that one takes connections now; default all do
 * @returns null where none does
 */
export function homeOf(
  name: string,
  processes: number,
  isThere: (number: number) => boolean = () => true,
): number | null {
  let best: number | null = null
  let highest = -1
  for (let number = 1; number <= processes; number++) {
    if (!isThere(number)) continue
    const score = createHash("sha1").update(`${number} ${name}`).digest().readUInt32BE()
    if (score > highest) [best, highest] = [number, score]
  }
  return best
}
