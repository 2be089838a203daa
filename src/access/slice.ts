/** Who may do what in a company: people, keys, invitations. */
import { keyOperations } from "./operate/keys.ts"
import { operationCommands } from "./operate/operation-names.ts"
import { invitationOperations, peopleOperations } from "./operate/people.ts"
import { ACCESS } from "../../domain/access/aggregates.ts"
import { invitations } from "../../projections/access/invitations.ts"
import { keys } from "../../projections/access/keys.ts"
import { people } from "../../projections/access/people.ts"
import type { Slice } from "../frame/slice.ts"
import { mailInvitation, mailLeakedKey } from "./reactions.ts"
import { peopleList } from "./list-people.ts"

/** People, keys and invitations. */
export const access: Slice = {
  name: "access",
  streams: { ofCompanies: [ACCESS] },
  groups: {
    people: `Who belongs to the company, what each of them may do, and who is online just now. Keys, people and
invitations are made and changed in the console or by the operator: no key can.`,
  },
  routes: [peopleList],
  readModels: [people, invitations, keys],
  reactions: [mailLeakedKey, mailInvitation],
  operations: [
    ...peopleOperations,
    ...invitationOperations,
    ...keyOperations,
    ...operationCommands,
  ],
  topics: { person: "people of a company", key: "API keys", operation: "operations of the API" },
}
