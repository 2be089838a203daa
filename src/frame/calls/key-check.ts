/** The check of the key: one that works, of a company that is there, and who calls by it. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { Access, CompanyStanding, Key } from "../../../domain/access/access.ts"
import { companyStanding, findKey, findPerson } from "../../../domain/access/access.ts"
import type { Person } from "../../../domain/access/grants.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import { accountOf } from "../../../domain/charging/ledger-views.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"
import { isKeyOf, parseApiKey } from "./api-key.ts"
import type { Ports } from "../ports.ts"
import type { Call } from "./call.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import { personSignedIn } from "./sign-in.ts"
import { standingAgainst } from "./standing-against.ts"

/** Finds out who calls, and refuses who is nobody. @throws as `Runner.look` does */
export async function checkKey(ports: Ports, call: Call): Promise<Refusal | null> {
  const text = /^Bearer (\S+)$/i.exec(call.authorization ?? "")?.[1] ?? ""
  const named = parseApiKey(text)
  if (named === null) return badKey()
  const found = await lookUpKey(ports, named)
  if (found === null || !isKeyOf(text, found.key.keyHash)) return badKey()
  if (found.key.status !== "active") return badKey()
  const { key, standing } = found
  const { companyId } = named
  const isClosed = (state: Ledger) => (accountOf(state).closed ? true : null)
  if ((await standingAgainst(ports, companyId, isClosed)) !== null) return badKey()
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

function badKey(): Refusal {
  return refusal("invalid_key", "The API key is missing, unknown, paused or deleted.")
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
  const stream = accessOf(companyId)
  const find = (state: Access) => findPerson(state, found.personId as PersonId)
  const person = (await runner.look(stream, find)) ?? (await runner.lookAtTail(stream, find))
  if (person !== null) return { person }
  const message = "X-Person-Id names nobody of this company."
  return { refusal: refusal("invalid_key", message) }
}

interface FoundKey {
  readonly key: Key
  readonly person: Person | null
  readonly standing: CompanyStanding
}

/** A key works at once in every process, so one that does not is looked for at the tail. */
async function lookUpKey(
  { runner }: Ports,
  { companyId, keyId }: { readonly companyId: CompanyId; readonly keyId: KeyId },
): Promise<FoundKey | null> {
  const stream = accessOf(companyId)
  const find = (state: Access): FoundKey | null => {
    const key = findKey(state, keyId)
    const standing = companyStanding(state)
    if (key === null || standing === null) return null
    const person = key.personId === null ? null : findPerson(state, key.personId)
    return { key, person, standing }
  }
  const found = await runner.look(stream, find)
  const works = found?.key.status === "active"
  return works ? found : runner.lookAtTail(stream, find)
}

function spenderOf(key: Key, person: Person | null): Spender {
  const { keyId } = key
  if (key.personId !== null) return { via: "own_key", keyId, personId: key.personId }
  return { via: "shared_key", keyId, personId: person?.personId ?? null }
}
