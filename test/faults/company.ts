/** A company that sends texts, made by an operator of a running installation. */
import type { Operate } from "./reckoning.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"

/** A company with a key that may do everything. */
export interface Sender {
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  readonly keyId: KeyId
  readonly key: string
  readonly fundsMicros: number
}

/** Makes a company with $1,000; API calls cost nothing from then on. */
export async function makeSender(operate: Operate, name: string): Promise<Sender> {
  await operate("price set", { item: "api_call", dollars: "0" })
  const made = await operate("company create", { name, funds: "1000" })
  const { companyId, ownerId } = made as { companyId: CompanyId; ownerId: PersonId }
  await operate("card set", { company: companyId, verified: true })
  const given = { company: companyId, person: ownerId, allOperations: true }
  const { keyId, key } = await operate("key create", given)
  return { companyId, ownerId, keyId, key, fundsMicros: 1_000_000_000 }
}
