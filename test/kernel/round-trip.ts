/** Law 10: what is written is read back as it was, and is written in the one canonical way. */
import canonicalize from "canonicalize"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"

/** What is wrong with how a codec writes and reads an event; null where nothing is. */
export function unfaithful(codec: Codec<Fact>, event: Fact): string | null {
  const stored = codec.encode(event)
  const read = codec.decode(event.type, codec.version(event.type), stored)
  if (canonicalize(read) !== canonicalize(event))
    return `${stored} is read as ${JSON.stringify(read)}`
  // What is stored is what is hashed: RFC 8785, as another implementation writes it.
  if (stored !== canonicalize(JSON.parse(stored))) return `not canonical: ${stored}`
  return nullsIn(stored) > 0 ? `null is said by leaving a field out: ${stored}` : null
}

function nullsIn(stored: string): number {
  let nulls = 0
  JSON.parse(stored, (_key, value: unknown) => {
    if (value === null) nulls += 1
    return value
  })
  return nulls
}
