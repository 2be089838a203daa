/** The resource of a text's charge: the message, located by its recipient. */
import { parseKeyedHash } from "../kernel/ids.ts"
import { parseLocatedResource } from "../kernel/resource.ts"
import type { MessageId, RecipientTag } from "./ids.ts"
import { parseMessageId } from "./ids.ts"

/** Parses the resource of a text; null if it is the resource of something else. */
export function parseTextResource(
  resource: string,
): { readonly messageId: MessageId; readonly recipient: RecipientTag } | null {
  const located = parseLocatedResource(resource)
  if (located === null) return null
  const [messageId, recipient] = [parseMessageId(located.id), parseKeyedHash(located.location)]
  return messageId === null || recipient === null ? null : { messageId, recipient }
}
