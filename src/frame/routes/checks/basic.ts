/** Basic sign-in (RFC 7617): a name and a password, in UTF-8. */
import type { AsSent } from "../as-sent.ts"

/** The name and the password of a call; null where it has none, or what is no UTF-8. */
export function basicOf(
  call: Pick<AsSent, "headers">,
): { readonly user: string; readonly password: string } | null {
  const [sent = "", second] = call.headers["authorization"] ?? []
  const coded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(sent)?.[1]
  if (coded === undefined || second !== undefined) return null
  const text = decoded(Buffer.from(coded, "base64"))
  const colon = text?.indexOf(":") ?? -1
  if (text === null || colon < 0) return null
  return { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}
