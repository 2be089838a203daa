/** Commands for the people of a company. */
import { PLACES } from "../../../adapters/presence/port.ts"
import { PERMISSIONS, ROLES } from "../../../domain/access/permissions.ts"
import type { ArgumentSpec, CommandSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY } from "../../frame/operator/cli/command.ts"
import { someText } from "../../frame/operator/cli/option-values.ts"

const PERSON: ArgumentSpec = {
  name: "PERSON_ID",
  description: "the person, by id",
  field: "personId",
}

const add: CommandSpec = {
  does: "operation",
  name: "person add",
  summary: "add a person to a company",
  example:
    "person add --company acme --name Ada --email ada@example.com --role user " +
    '--permission "Use phone" "See billing"',
  changes: true,
  options: [
    COMPANY,
    { flags: "--name <name>", description: "their name", isRequired: true, parse: someText },
    { flags: "--email <email>", description: "their email", isRequired: true, parse: someText },
    { flags: "--role <role>", description: "their role", isRequired: true, choices: ROLES },
    {
      flags: "--permission <permission...>",
      description: "permissions beside those of the role",
      field: "permissions",
      choices: PERMISSIONS,
    },
  ],
}

const change: CommandSpec = {
  does: "operation",
  name: "person change",
  summary: "change a person's name, email, role or permissions",
  notes: ["What is not named stays. The last owner of a company stays one."],
  example: "person change per_4Zb0x7 --role developer",
  changes: true,
  arguments: [PERSON],
  options: [
    { flags: "--name <name>", description: "their name", parse: someText },
    { flags: "--email <email>", description: "their email", parse: someText },
    { flags: "--role <role>", description: "their role", choices: ROLES },
    {
      flags: "--permission <permission...>",
      description: "all permissions beside those of the role, instead of those before",
      field: "permissions",
      choices: PERMISSIONS,
    },
    { flags: "--without-permissions", description: "none beside those of the role" },
  ],
  check: ({ name, email, role, permissions, withoutPermissions }) => {
    if (permissions !== undefined && withoutPermissions !== undefined) {
      return "--permission and --without-permissions do not go together"
    }
    return [name, email, role, permissions, withoutPermissions].every((word) => word === undefined)
      ? "say what to change: --name, --email, --role, --permission or --without-permissions"
      : null
  },
}

const app: CommandSpec = {
  does: "operation",
  name: "person app",
  summary: "show or change what a person may on top of their role",
  notes: [
    'OP is an operation such as phone.messages.send, or a permission such as "Use phone".',
    "What is denied stays denied, whatever else is granted. Owners and admins may do everything.",
  ],
  example: "person app per_4Zb0x7 --grant phone.messages.send --deny sandbox.start",
  changes: true,
  arguments: [PERSON],
  options: [
    { flags: "--grant <op...>", description: "they may" },
    { flags: "--deny <op...>", description: "they may not" },
    { flags: "--clear <op...>", description: "as their role says again" },
  ],
}

const remove: CommandSpec = {
  does: "operation",
  name: "person remove",
  summary: "remove a person from their company: their keys are deleted with it",
  example: 'person remove per_4Zb0x7 --reason "left the company"',
  changes: true,
  arguments: [PERSON],
}

const invite: CommandSpec = {
  does: "operation",
  name: "person invite",
  summary: "invite somebody by email, for seven days",
  notes: ["Adding a person with this email ends the invitation."],
  example: "person invite --company acme --email ada@example.com --role developer",
  changes: true,
  options: [
    COMPANY,
    { flags: "--email <email>", description: "their email", isRequired: true, parse: someText },
    { flags: "--role <role>", description: "their role", isRequired: true, choices: ROLES },
  ],
}

const seen: CommandSpec = {
  does: "operation",
  name: "person seen",
  summary: "note that a person is active somewhere just now",
  example: "person seen per_4Zb0x7 --in app",
  changes: true,
  arguments: [PERSON],
  options: [
    { flags: "--in <place>", description: "where they are", isRequired: true, choices: PLACES },
  ],
}

const list: CommandSpec = {
  does: "operation",
  name: "person list",
  summary: "list a company's people and who is invited",
  example: "person list --company acme",
  options: [COMPANY],
}

/** Commands for people. */
export const PEOPLE_COMMANDS: readonly CommandSpec[] = [
  add,
  change,
  app,
  remove,
  invite,
  seen,
  list,
]
