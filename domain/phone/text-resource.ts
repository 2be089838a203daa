/** What the charge of a text names as its resource: the message, and where its recipient stands. */
import type { MessageId, RecipientTag } from "../kernel/ids.ts"
import { parseKeyedHash, parseMessageId } from "../kernel/ids.ts"

/** `<message id>@<recipient tag>`. */
export function textResource(messageId: MessageId, recipient: RecipientTag): string {
  return `${messageId}@${recipient}`
}

/** The parts of a text's resource; null where it is the resource of something else. */
export function parseTextResource(
  resource: string,
): { readonly messageId: MessageId; readonly recipient: RecipientTag } | null {
  const [message = "", tag = "", ...more] = resource.split("@")
  const [messageId, recipient] = [parseMessageId(message), parseKeyedHash(tag)]
  return messageId === null || recipient === null || more.length > 0
    ? null
    : { messageId, recipient }
}

/** The resource as its owner knows it: of a text its message id, without where the recipient stands. */
export function resourceId(resource: string): string {
  return parseTextResource(resource)?.messageId ?? resource
}
