/** Who somebody is at a company, as they are shown it. */
import { companyStanding, findPerson } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { mayPerson } from "../../../domain/access/grants.ts"
import { ALL_OPERATIONS } from "../../../domain/access/operations.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { findPersonRow } from "../../../projections/access/people.ts"
import type { Membership, Profile } from "./accounts-port.ts"
import type { AccountPorts } from "./codes.ts"

/** Looks it up; names are null once they were erased. */
export async function profileOf(
  ports: AccountPorts,
  { companyId, personId, role }: Membership,
): Promise<Profile> {
  const { runner, sealing } = ports
  const standing = await runner.read(accessOf(companyId), companyStanding)
  const person = await runner.read(accessOf(companyId), (state) => findPerson(state, personId))
  const deletion = await runner.read(ledgerOf(companyId), deletionOf)
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return {
    ...{ companyId, personId, role, permissions: person?.permissions ?? [] },
    operations: person === null ? [] : ALL_OPERATIONS.filter((one) => mayPerson(person, one)),
    company: standing === null ? null : await sealing.open(companyId, standing.name),
    ...{ name: row?.name ?? null, email: row?.email ?? null },
    deleteDataAfter: deletion === null ? null : new Date(deletion.erasedFrom).toISOString(),
  }
}
