/** What the charge of a text names as its resource: the message, and where its recipient stands. */
import { parseKeyedHash } from "../kernel/ids.ts"
import { parseLocatedResource } from "../kernel/resource.ts"
import type { MessageId, RecipientTag } from "./ids.ts"
import { parseMessageId } from "./ids.ts"

/** The parts of a text's resource; null where it is the resource of something else. */
export function parseTextResource(
  resource: string,
): { readonly messageId: MessageId; readonly recipient: RecipientTag } | null {
  const at = parseLocatedResource(resource)
  if (at === null) return null
  const [messageId, recipient] = [parseMessageId(at.id), parseKeyedHash(at.location)]
  return messageId === null || recipient === null ? null : { messageId, recipient }
}
