/** Finding the fact of a queued text in its recipient's stream. */
import type { Position } from "../../adapters/eventstore/port.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { Ports } from "../frame/ports.ts"
import { recordedOf } from "../frame/writer/recorded.ts"

/**
 * The fact that queued a text, newest first.
 *
 * @throws Error when the stream has no such fact, which its state says it has
 */
export async function queuedText(
  ports: Ports,
  stream: string,
  messageId: string,
): Promise<{ readonly fact: TextQueued; readonly position: Position }> {
  for await (const page of ports.store.read(stream, { direction: "backwards" })) {
    for (const stored of page) {
      if (stored.type !== "TextQueued") continue
      const { fact } = recordedOf(stored)
      if (fact.type === "TextQueued" && fact.messageId === messageId) {
        return { fact, position: stored.position }
      }
    }
  }
  throw new Error(`stream ${stream} has no queued text ${messageId}`)
}
