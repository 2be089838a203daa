/** Suggests the name that was probably meant by a misspelt one. */
import { distance } from "fastest-levenshtein"

/** Returns the nearest of some names; null if none is near enough to be meant. */
export function nearestName(written: string, names: Iterable<string>): string | null {
  let nearest: string | null = null
  // A typo changes up to a third of the letters, or one letter of a short word.
  let least = Math.max(1, Math.floor(written.length / 3)) + 1
  for (const name of names) {
    // Each letter of difference in length costs at least one change.
    if (Math.abs(name.length - written.length) >= least) continue
    const far = distance(written.toLowerCase(), name.toLowerCase())
    if (far < least) [nearest, least] = [name, far]
  }
  return nearest
}
