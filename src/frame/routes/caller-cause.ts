/** What a caller's request says of itself in the metadata of every fact it causes. */
import type { Cause } from "../kernel/envelope.ts"
import type { Caller } from "./declare/route.ts"

/** The cause of what this caller asks for. */
export function causeOf({ requestId, spender }: Caller): Cause {
  const { keyId, personId } = spender
  return { command: requestId, actor: null, keyId, personId, reason: null }
}
