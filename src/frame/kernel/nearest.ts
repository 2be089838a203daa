/** Which of the names that there are somebody may have meant who wrote another. */
import { distance } from "fastest-levenshtein"

/** The nearest of some names; null where none is so near that it can have been meant. */
export function nearestName(written: string, names: Iterable<string>): string | null {
  let nearest: string | null = null
  // A third of it misspelt, or a letter of a short one: beyond that it is another word.
  let least = Math.max(1, Math.floor(written.length / 3)) + 1
  for (const name of names) {
    // Each letter more or less is a change.
    if (Math.abs(name.length - written.length) >= least) continue
    const far = distance(written.toLowerCase(), name.toLowerCase())
    if (far < least) [nearest, least] = [name, far]
  }
  return nearest
}
