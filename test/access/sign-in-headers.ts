/** A client that signs people in with an app key, written only from the documentation. */
import { createHash, createHmac } from "node:crypto"
import type { ApiAnswer, World } from "../support/world.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import type { TestKey } from "../support/company.ts"

export interface SignInRequest {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"
  readonly url: string
  /** The raw body. */
  readonly body?: string
  readonly personId: PersonId
  /** ISO 8601. */
  readonly time: string
}

/** The headers of a sign-in. */
export function signInHeaders(secret: string, request: SignInRequest): Record<string, string> {
  const { method, url, body = "", personId, time } = request
  const bodyHash = createHash("sha256").update(body).digest("hex")
  const text = `${method}\n${url}\n${bodyHash}\n${time}\n${personId}`
  return {
    "x-person-id": personId,
    "x-person-time": time,
    "x-person-signature": createHmac("sha256", secret).update(text).digest("hex"),
  }
}

/** A call with the app key as a person, at the world's time, with some headers changed. */
export async function callWithAppKey(
  world: World,
  { key, appSecret }: TestKey,
  request: Omit<SignInRequest, "time"> & { readonly time?: string },
  changed: Record<string, string> = {},
): Promise<ApiAnswer> {
  const time = request.time ?? new Date(world.ports.clock.now()).toISOString()
  const headers = signInHeaders(appSecret, { ...request, time })
  const { method, url, body } = request
  const json = body === undefined ? {} : { "content-type": "application/json" }
  const options = { headers: { ...headers, ...json, ...changed } }
  return world.call(key, method, url, body === undefined ? options : { ...options, body })
}
