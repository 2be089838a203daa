/**
 * The checks every call passes, as one ordered list (decisions.md §1). Unknown paths, wrong verbs
 * and retired routes are refused before it by the router; the resource's own rules, limits, funds
 * and the effect come after it, in the handler.
 */
import type { Access, CompanyStanding, Key } from "../../domain/access/access.ts"
import {
  accessStream,
  companyStanding,
  findKey,
  findPerson,
  isManaged,
} from "../../domain/access/access.ts"
import type { Person } from "../../domain/access/grants.ts"
import { mayPerson } from "../../domain/access/grants.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { accountOf, usedUpLimit } from "../../domain/charging/ledger-views.ts"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import { API_CALL } from "../../domain/charging/calls.ts"
import { PRICES_STREAM, priceOf } from "../../domain/charging/price-book.ts"
import type { LimitReading, Spender } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { ACCESS, LEDGER, PRICES } from "../aggregates.ts"
import { isKeyOf, parseApiKey } from "../api-key.ts"
import type { Ports } from "../ports.ts"
import { limitRefusal, lockedRefusal } from "./charge-refusals.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { AccountNeed, Caller, Route } from "./route.ts"
import type { SignIn, Signed } from "./sign-in.ts"
import { personSignedIn } from "./sign-in.ts"

/** A call on its way through the checks. */
export interface Call {
  readonly route: Route
  readonly requestId: string
  readonly authorization: string | undefined
  /** Who it says is signed in; null where it says nothing of that. */
  readonly signIn: SignIn | null
  /** What a sign-in vouches for; the body is there once it was read. */
  readonly signed: () => Signed
  /** Set by the first check. */
  caller: Caller | null
  standing: CompanyStanding | null
}

/** One check: null lets the call pass. */
export interface Check {
  readonly name: string
  readonly refuse: (ports: Ports, call: Call) => Promise<Refusal | null>
}

/** The checks in their order. The replay of an idempotent request is looked up after the first. */
export const CHECKS: readonly Check[] = [
  { name: "key", refuse: checkKey },
  { name: "key's own limit", refuse: checkKeyLimit },
  { name: "account", refuse: checkAccount },
  { name: "general limit used up", refuse: checkGeneralLimit },
  { name: "the call is counted", refuse: countCall },
  { name: "operation", refuse: checkOperation },
  { name: "person", refuse: checkPerson },
]

/** How many of `CHECKS` stand before the replay look-up. */
export const CHECKS_BEFORE_REPLAY = 1

function badKey(): Refusal {
  return refusal("invalid_key", "The API key is missing, unknown, paused or deleted.")
}

async function checkKey(ports: Ports, call: Call): Promise<Refusal | null> {
  const text = /^Bearer (\S+)$/i.exec(call.authorization ?? "")?.[1] ?? ""
  const named = parseApiKey(text)
  if (named === null) return badKey()
  const found = await lookUpKey(ports, named)
  if (found === null || !isKeyOf(text, found.key.keyHash)) return badKey()
  if (found.key.status !== "active") return badKey()
  const { key, standing } = found
  const { companyId } = named
  const isClosed = (state: Ledger) => (accountOf(state).closed ? true : null)
  if ((await confirmed(ports, ledgerStream(companyId), isClosed)) !== null) return badKey()
  const signedIn = await signedInPerson(ports, call, companyId, key)
  if ("refusal" in signedIn) return signedIn.refusal
  const person = signedIn.person ?? found.person
  call.caller = {
    companyId,
    key,
    person,
    spender: spenderOf(key, person),
    requestId: call.requestId,
  }
  call.standing = standing
  return null
}

/**
 * The person that is signed in in the app: vouched for, and somebody of the company. One who is not
 * there is looked for at the tail, because another process may have added them just now.
 */
async function signedInPerson(
  { runner, sealing, clock }: Ports,
  { signIn, signed }: Call,
  companyId: CompanyId,
  key: Key,
): Promise<{ readonly person: Person | null } | { readonly refusal: Refusal }> {
  if (signIn === null) return { person: null }
  if (key.personId !== null) {
    const message = "This is a person's own key, which takes no sign-in: leave X-Person-* out."
    return { refusal: refusal("invalid_key", message) }
  }
  const found = personSignedIn(signIn, signed(), sealing.appSecret(key.keyId), clock.now())
  if ("refusal" in found) return found
  const stream = accessStream(companyId)
  const find = (state: Access) => findPerson(state, found.personId as PersonId)
  const person =
    (await runner.look(ACCESS, stream, find)) ?? (await runner.lookAtTail(ACCESS, stream, find))
  if (person !== null) return { person }
  const message = "X-Person-Id names nobody of this company."
  return { refusal: refusal("invalid_key", message) }
}

interface FoundKey {
  readonly key: Key
  readonly person: Person | null
  readonly standing: CompanyStanding
}

/** A key works at once in every process, so one that is not there is looked for at the tail. */
async function lookUpKey(
  { runner }: Ports,
  { companyId, keyId }: { readonly companyId: CompanyId; readonly keyId: KeyId },
): Promise<FoundKey | null> {
  const stream = accessStream(companyId)
  const find = (state: Access): FoundKey | null => {
    const key = findKey(state, keyId)
    const standing = companyStanding(state)
    if (key === null || standing === null) return null
    const person = key.personId === null ? null : findPerson(state, key.personId)
    return { key, person, standing }
  }
  return (await runner.look(ACCESS, stream, find)) ?? runner.lookAtTail(ACCESS, stream, find)
}

function spenderOf(key: Key, person: Person | null): Spender {
  const { keyId } = key
  if (key.personId !== null) return { via: "own_key", keyId, personId: key.personId }
  return { via: "shared_key", keyId, personId: person?.personId ?? null }
}

async function checkAccount(ports: Ports, call: Call): Promise<Refusal | null> {
  const { caller, standing, route } = call
  if (caller === null || standing === null) return badKey()
  const isCredits = route.url === "/api/v1/credits"
  if (route.counted && !isCredits) {
    const stream = ledgerStream(caller.companyId)
    const lock = (state: Ledger) => (accountOf(state).locked ? true : null)
    if ((await confirmed(ports, stream, lock)) !== null) return lockedRefusal()
  }
  return route.account === undefined ? null : accountRefusal(route.account, standing)
}

/** Why an account does not have what is needed; null where it does. */
export function accountRefusal(need: AccountNeed, standing: CompanyStanding): Refusal | null {
  switch (need) {
    case "managed": {
      if (isManaged(standing)) return null
      const message = "Texting needs a card on file and a paid-up account; an owner can add a card."
      return refusal("needs_managed_plan", message)
    }
    case "card": {
      if (standing.card !== null) return null
      return refusal("card_required", "This needs a card on file; an owner can add one.")
    }
    case "verified card": {
      if (standing.card?.verified === true) return null
      const message = "This needs a verified card on file; an owner can verify one."
      return refusal("card_required", message)
    }
  }
}

/** A key whose own limit is used up is a refused key, on every route. */
async function checkKeyLimit(ports: Ports, call: Call): Promise<Refusal | null> {
  const limit = await usedUp(ports, call)
  return limit?.holder === "key" ? limitRefusal(limit) : null
}

/** A used-up general limit of the person or the company refuses every counted call up front. */
async function checkGeneralLimit(ports: Ports, call: Call): Promise<Refusal | null> {
  if (!call.route.counted) return null
  const limit = await usedUp(ports, call)
  return limit === null ? null : limitRefusal(limit)
}

/**
 * Counts the call, which weighs in the limits at once and is charged the next night. One whose own
 * price does not fit is refused like a used-up limit, and not counted (decisions.md §5).
 */
async function countCall(ports: Ports, { caller, route }: Call): Promise<Refusal | null> {
  if (caller === null || !route.counted) return null
  const { spender, companyId } = caller
  if (spender.via !== "own_key" && spender.via !== "shared_key") return null
  const { via, keyId, personId } = spender
  const price = await ports.runner.glance(PRICES, PRICES_STREAM, (state) =>
    priceOf(state, API_CALL),
  )
  const stream = ledgerStream(companyId)
  const limit = await ports.runner.gather(LEDGER, stream, { via, keyId, personId, ...price })
  return limit === null ? null : limitRefusal(limit)
}

/** The first used-up limit of key, person and company. */
async function usedUp(ports: Ports, { caller }: Call): Promise<LimitReading | null> {
  if (caller === null) return null
  const { companyId, spender } = caller
  return confirmed(ports, ledgerStream(companyId), (state, at) => usedUpLimit(state, spender, at))
}

/**
 * What stands against a call. A glance may count facts that are not stored yet: it is enough to let
 * a call pass, and nobody is turned away on it.
 */
async function confirmed<T>(
  ports: Ports,
  stream: string,
  view: (state: Ledger, at: number) => T | null,
): Promise<T | null> {
  const glimpse = await ports.runner.glance(LEDGER, stream, view)
  return glimpse === null ? null : ports.runner.look(LEDGER, stream, view)
}

async function checkOperation(_ports: Ports, { caller, route }: Call): Promise<Refusal | null> {
  if (caller === null) return badKey()
  const { operation } = route
  if (operation === null || caller.key.operations.has(operation)) return null
  const message = `This key may not use ${operation}; an owner can grant it.`
  return refusal("operation_not_granted", message, { operation })
}

async function checkPerson(_ports: Ports, { caller, route }: Call): Promise<Refusal | null> {
  if (caller === null) return badKey()
  // Without a sign-in a shared key speaks for the company, and nobody's permissions are asked.
  if (caller.person === null && caller.spender.via === "shared_key") return null
  const { operation } = route
  const { person } = caller
  if (person !== null && (operation === null || mayPerson(person, operation))) return null
  return refusal("not_allowed", "The key's person does not have the permission for this.")
}
