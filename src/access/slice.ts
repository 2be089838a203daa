/** The access slice: people, keys and invitations. */
import { keyOperations } from "./operate/keys.ts"
import { operationCommands } from "./operate/operation-names.ts"
import { invitationOperations, peopleOperations } from "./operate/people.ts"
import { ACCESS_AGGREGATE } from "../../domain/access/aggregates.ts"
import { invitationsReadModel } from "../../projections/access/invitations.ts"
import { keysReadModel } from "../../projections/access/keys.ts"
import { peopleReadModel } from "../../projections/access/people.ts"
import type { Slice } from "../frame/slice.ts"
import { mailInvitation, mailLeakedKey } from "./reactions.ts"
import { listPeopleRoute } from "./list-people.ts"

/** Streams, routes and operations of people, keys and invitations. */
export const accessSlice: Slice = {
  name: "access",
  streams: { perCompany: [ACCESS_AGGREGATE] },
  groups: {
    people: `The company's people, what each of them may do, and who is online. Keys, people and
invitations are managed in the console or by the operator, never with a key.`,
  },
  routes: [listPeopleRoute],
  readModels: [peopleReadModel, invitationsReadModel, keysReadModel],
  reactions: [mailLeakedKey, mailInvitation],
  commands: [...peopleOperations, ...invitationOperations, ...keyOperations, ...operationCommands],
  topics: { person: "people of a company", key: "API keys", operation: "operations of the API" },
}
