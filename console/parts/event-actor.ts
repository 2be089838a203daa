import type { StoredEvent } from "../api/audit-answers.ts"
import type { Names } from "../api/names.ts"

/** Who caused an event: a person with a key, an operator, or the program itself. */
export function eventActor(
  { person, key, actor }: StoredEvent["metadata"],
  names: Pick<Names, "person" | "key">,
): string {
  if (person !== undefined) {
    return key === undefined
      ? names.person(person)
      : `${names.person(person)}, key ${names.key(key)}`
  }
  if (key !== undefined) return `Key ${names.key(key)}`
  if (actor === undefined) return "The program itself"
  return actor.startsWith("per_") ? names.person(actor) : `Operator ${actor}`
}
