/** Reading stored events for the read models and for people. */
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { categoryOf, companyOf } from "../../../domain/kernel/streams.ts"
import type { Recorded } from "../../../projections/kernel/projection.ts"
import { codecOfStream } from "./aggregates.ts"
import { readMetadata } from "../kernel/envelope.ts"

/** A stored event as read models take it. @throws FormatFault, EnvelopeFault where it is none */
export function recordedOf(stored: StoredEvent): Recorded {
  const { keyId, personId, actor, version } = readMetadata(stored.metadata)
  return {
    stream: stored.stream,
    category: categoryOf(stored.stream),
    companyId: companyOf(stored.stream),
    revision: stored.revision,
    fact: codecOfStream(stored.stream).decode(stored.type, version, stored.data),
    keyId,
    personId,
    actor,
  }
}
