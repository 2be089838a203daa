/** Authenticates the caller, by an API key or by the route's own way to identify a person. */
import { accessStreamOf } from "../../../../domain/access/aggregates.ts"
import type { AccessState, CompanyProfile, ApiKey } from "../../../../domain/access/access.ts"
import {
  companyProfileOf,
  findKey,
  findPerson,
  isKeyUsable,
} from "../../../../domain/access/access.ts"
import type { Person } from "../../../../domain/access/permissions.ts"
import type { Spender } from "../../../../domain/charging/limits.ts"
import type { CompanyId, KeyId } from "../../../../domain/kernel/ids.ts"
import { parsePersonId } from "../../../../domain/kernel/ids.ts"
import type { Ports } from "../../ports.ts"
import type { SignedContent } from "./credentials.ts"
import { isMatchingKey, parseApiKey, verifySignIn, signInHeadersOf } from "./credentials.ts"
import type { ApiCall, PersonIdentity } from "../api-call.ts"
import type { RawRequest, Caller } from "../declare/route.ts"
import { headerValue } from "../api-call.ts"
import { nonApiClientOf } from "../declare/route-variants.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"

export interface AuthenticatedCaller {
  readonly caller: Caller
  readonly companyStatus: CompanyProfile
}

/**
 * Authenticates the caller, or returns the refusal.
 *
 * @param signed the content that a sign-in's signature covers
 * @throws as `Runner.read` does
 */
export async function authenticateCaller(
  ports: Ports,
  call: ApiCall,
  signed: SignedContent,
): Promise<AuthenticatedCaller | Refusal> {
  const { requestId, identify } = call
  if (identify !== null) {
    const found = await identify()
    return "error" in found
      ? found
      : ((await authenticatePerson(ports, requestId, found)) ?? personGoneRefusal())
  }
  const client = nonApiClientOf(call.route)
  const basic = client === undefined ? null : basicCredentials(call)
  const token = client === undefined ? bearerToken(call) : (basic?.password ?? "")
  if (token === null) return bearerRefusal(call)
  const unknown = client === undefined ? unknownKeyRefusal : invalidKeyRefusal
  const named = parseApiKey(token)
  if (named === null) return unknown()
  const found = await lookUpKey(ports, named)
  if (found === null || !isMatchingKey(token, found.key.keyHash)) return unknown()
  // Only a holder of the whole key learns that it is paused.
  if (found.key.status === "paused") return pausedKeyRefusal()
  if (!isKeyUsable(found.key)) return unknown()
  const { key, companyStatus } = found
  const { companyId } = named
  const signedIn = await signedInPerson(ports, call, signed, companyId, key)
  if ("refusal" in signedIn) {
    const { message: why } = signedIn.refusal
    ports.log.info("a sign-in was rejected", { requestId, company: companyId, key: key.keyId, why })
    return signedIn.refusal
  }
  const person = signedIn.person ?? found.person
  const caller = { companyId, key, person, spender: spenderOf(key, person), requestId }
  const asked = { user: basic?.user ?? "", params: call.params }
  return (await client?.accessRefusal(ports, caller, asked)) ?? { caller, companyStatus }
}

/** Returns the token of a Bearer header; null if there is none. */
const bearerToken = (call: ApiCall): string | null =>
  /^Bearer +(\S+) *$/i.exec(headerValue(call, "authorization") ?? "")?.[1] ?? null

/** Returns the refusal of a call without a Bearer token, by what was sent instead. */
function bearerRefusal(call: ApiCall): Refusal {
  if (headerValue(call, "authorization") !== null) {
    const message = 'The Authorization header must be "Bearer <API key>", with one key.'
    return refusal("invalid_key", message)
  }
  const message =
    headerValue(call, "x-api-key") === null
      ? 'The Authorization header is missing. Send "Authorization: Bearer <API key>".'
      : 'X-Api-Key is ignored. Send the API key as "Authorization: Bearer <API key>".'
  return refusal("invalid_key", message)
}

function unknownKeyRefusal(): Refusal {
  return refusal("invalid_key", "The API key is unknown or deleted.")
}

function pausedKeyRefusal(): Refusal {
  const message = "This API key is paused. An owner or admin of the company can resume it."
  return refusal("invalid_key", message)
}

/** Returns the refusal of a key that is not valid, whatever the cause. */
export function invalidKeyRefusal(): Refusal {
  return refusal("invalid_key", "The API key is missing, unknown, paused or deleted.")
}

function personGoneRefusal(): Refusal {
  return refusal(
    "invalid_key",
    "This person was removed from the company. Use another person's key.",
  )
}

/** Authenticates a person who calls without a key; null if they are not a member of the company. */
async function authenticatePerson(
  { runner }: Pick<Ports, "runner">,
  requestId: string,
  { companyId, personId }: PersonIdentity,
): Promise<AuthenticatedCaller | null> {
  const access = accessStreamOf(companyId)
  const find = (state: AccessState) => {
    const [person, companyStatus] = [findPerson(state, personId), companyProfileOf(state)]
    return person === null || companyStatus === null ? null : { person, companyStatus }
  }
  const found = (await runner.read(access, find)) ?? (await runner.readLatest(access, find))
  if (found === null) return null
  const { person, companyStatus } = found
  const spender: Spender = { via: "person", keyId: null, personId }
  return { caller: { companyId, key: null, person, spender, requestId }, companyStatus }
}

/**
 * Returns the person who is signed in to the app, after checking the signature and the membership. A person who is
 * not found is looked up in the newest state, because another process may have added them just now.
 */
async function signedInPerson(
  { runner, sealing, clock }: Pick<Ports, "clock" | "runner" | "sealing">,
  { headers }: ApiCall,
  signed: SignedContent,
  companyId: CompanyId,
  key: ApiKey,
): Promise<{ readonly person: Person | null } | { readonly refusal: Refusal }> {
  const signIn = signInHeadersOf(headers)
  if (signIn === null) return { person: null }
  if (key.personId !== null) {
    const message = "This key belongs to a person. Send it without the X-Person-* headers."
    return { refusal: refusal("invalid_key", message) }
  }
  const found = verifySignIn(signIn, signed, sealing.appSecret(key.keyId), clock.now())
  if ("refusal" in found) return found
  const personId = parsePersonId(found.personId)
  if (personId !== null) {
    const access = accessStreamOf(companyId)
    const find = (state: AccessState) => findPerson(state, personId)
    const person = (await runner.read(access, find)) ?? (await runner.readLatest(access, find))
    if (person !== null) return { person }
  }
  const message = "X-Person-Id names no person of this company."
  return { refusal: refusal("invalid_key", message) }
}

interface FoundKey {
  readonly key: ApiKey
  readonly person: Person | null
  readonly companyStatus: CompanyProfile
}

/** Finds a key. A new key works immediately in every process, so an unusable one is read from the newest state. */
async function lookUpKey(
  { runner }: Pick<Ports, "runner">,
  { companyId, keyId }: { readonly companyId: CompanyId; readonly keyId: KeyId },
): Promise<FoundKey | null> {
  const access = accessStreamOf(companyId)
  const find = (state: AccessState): FoundKey | null => {
    const key = findKey(state, keyId)
    const companyStatus = companyProfileOf(state)
    if (key === null || companyStatus === null) return null
    const person = key.personId === null ? null : findPerson(state, key.personId)
    return { key, person, companyStatus }
  }
  const found = await runner.read(access, find)
  return found !== null && isKeyUsable(found.key) ? found : runner.readLatest(access, find)
}

function spenderOf(key: ApiKey, person: Person | null): Spender {
  const { keyId } = key
  if (key.personId !== null) return { via: "own_key", keyId, personId: key.personId }
  return { via: "app_key", keyId, personId: person?.personId ?? null }
}

/** Returns the name and password of a call; null if it has none, or they are not UTF-8. */
function basicCredentials(
  call: Pick<RawRequest, "headers">,
): { readonly user: string; readonly password: string } | null {
  const [sent = "", second] = call.headers["authorization"] ?? []
  const coded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(sent)?.[1]
  if (coded === undefined || second !== undefined) return null
  const text = decodeUtf8(Buffer.from(coded, "base64"))
  const colon = text?.indexOf(":") ?? -1
  if (text === null || colon < 0) return null
  return { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

/** Returns the scope of rate limits, and of the last write that a read waits for: the key, person or company. */
export function callerScope({ key, person, companyId }: Caller): string {
  return key?.keyId ?? person?.personId ?? companyId
}
