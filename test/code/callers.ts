/** Who calls, as the checks of a call hand them on. */
import { findKey, findPerson } from "../../domain/access/access.ts"
import type { Access } from "../../domain/access/access.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { Caller } from "../../src/frame/calls/route.ts"
import type { World } from "../support/world.ts"
import type { CodeCompany } from "./git.ts"

/** The owner of a company, by the company's key. */
export async function callerOf(
  { ports }: World,
  { companyId, keyId, ownerId }: CodeCompany,
): Promise<Caller> {
  const who = (state: Access) => ({
    key: findKey(state, keyId),
    person: findPerson(state, ownerId),
  })
  const { key, person } = await ports.runner.readLatest(accessOf(companyId), who)
  const spender = { via: "own_key", keyId, personId: ownerId } as const
  return { companyId, key, person, spender, requestId: "req_of_a_test" }
}
