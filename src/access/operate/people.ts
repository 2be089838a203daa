/** Operations on a company's people and invitations. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { CLIENT_KINDS } from "../../../adapters/postgres/online-status/port.ts"
import type { AccessCommand } from "../../../domain/access/access.ts"
import { findPerson, invitedRoleOf } from "../../../domain/access/access.ts"
import type { Grantable } from "../../../domain/access/permissions.ts"
import {
  grantFault,
  buildPerson,
  PERMISSIONS,
  ROLES,
  isAdminRole,
  permissionsOf,
} from "../../../domain/access/permissions.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import { listInvitations } from "../../../projections/access/invitations.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { newId } from "../../frame/kernel/ids.ts"
import {
  requireAccepted,
  companyInput,
  emailInput,
  findCompany,
  findCompanyOfPerson,
  personNotFound,
  waitForOwnWrites,
  withCrossFieldCheck,
  textInput,
  idInput,
} from "../../frame/operator/inputs.ts"
import { teamChangeDenial, inviteDenial, roleChangeDenial } from "./team-change-rules.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const personName = textInput
  .refine((text) => text.trim() !== "", "must not be empty")
  .meta({ description: "their name" })
const personEmail = emailInput.meta({ description: "their email" })
const permissions = z.array(z.enum(PERMISSIONS)).meta({ flag: "permission" })
const role = z.enum(ROLES).meta({ description: "their role" })
const personIdArgument = z
  .string()
  .meta({ description: "the person, by id", argument: "PERSON_ID" })
const grantable = z.string().transform((name, context) => {
  const fault = grantFault(name)
  if (fault === null) return name as Grantable
  context.addIssue(`${name} ${fault}.`)
  return z.NEVER
})

const grantables = z.array(grantable).default([]).meta({ takes: "op" })

/**
 * Executes a command on people and waits until the read models show it.
 *
 * @throws OperatorRefused if the command is rejected
 */
async function executeAndWait(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  command: AccessCommand,
): Promise<void> {
  requireAccepted(await ports.runner.execute(accessStreamOf(companyId), command, cause))
  await waitForOwnWrites(ports)
}

const add = operation({
  name: "person add",
  summary: "add a person to a company",
  example:
    "person add --company acme --name Ada --email ada@example.com --role user " +
    '--permission "Use phone" "See billing"',
  changes: true,
  input: z.object({
    company: companyInput,
    name: personName,
    email: personEmail,
    role,
    permissions: permissions
      .default([])
      .meta({ description: "permissions in addition to those of the role" }),
  }),
  run: async (context, input) => {
    const { sealing } = context.ports
    const { name, email: address } = input
    const companyId = await findCompany(context.ports, input.company)
    const personId = newId("per")
    await executeAndWait(context, companyId, {
      type: "AddPerson",
      personId,
      name: await sealing.seal(companyId, personId, name),
      email: await sealing.seal(companyId, personId, address),
      emailTag: await sealing.tag(companyId, address.toLowerCase()),
      role: input.role,
      permissions: input.permissions,
    })
    return { personId, companyId }
  },
})

const Change = z.object({
  personId: personIdArgument,
  name: personName.optional(),
  email: personEmail.optional(),
  role: role.optional(),
  permissions: permissions.optional().meta({
    description: "all permissions in addition to those of the role, replacing the previous ones",
  }),
  withoutPermissions: z
    .boolean()
    .default(false)
    .meta({ description: "only the permissions of the role" }),
})

function changeFault({
  personId: _personId,
  withoutPermissions,
  ...changed
}: z.infer<typeof Change>) {
  if (changed.permissions !== undefined && withoutPermissions) {
    return "--permission and --without-permissions exclude each other: pass one of them"
  }
  return !withoutPermissions && Object.values(changed).every((word) => word === undefined)
    ? "pass at least one of --name, --email, --role, --permission and --without-permissions"
    : null
}

const change = operation({
  name: "person change",
  summary: "change a person's name, email, role or permissions",
  notes: ["Fields that you don't pass keep their value. A company keeps at least one owner."],
  example: "person change per_4Zb0x7 --role developer",
  changes: true,
  input: withCrossFieldCheck(Change, changeFault),
  consoleAccess: {
    permission: "Team",
    ownInput: ({ input, person }) => {
      const { personId, name: _own, withoutPermissions: _default, ...others } = input
      const isName = Object.values(others).every((word) => word === undefined)
      return personId === person.personId && isName && !_default ? input : null
    },
    denialReason: teamChangeDenial,
  },
  run: async (context, input) => {
    const { name, email: address, withoutPermissions } = input
    const { sealing } = context.ports
    const { companyId, personId } = await findCompanyOfPerson(context.ports, input.personId)
    const sealed = async (text: string | undefined) =>
      text === undefined ? null : sealing.seal(companyId, personId, text)
    await executeAndWait(context, companyId, {
      type: "ChangePerson",
      personId,
      name: await sealed(name),
      email: await sealed(address),
      emailTag: address === undefined ? null : await sealing.tag(companyId, address.toLowerCase()),
      role: input.role ?? null,
      permissions: withoutPermissions ? [] : (input.permissions ?? null),
    })
    return readPersonAccess(context, companyId, personId)
  },
})

const app = operation({
  name: "person app",
  summary: "show or change what a person may do in addition to their role",
  notes: [
    'OP is an operation such as phone.messages.send, or a permission such as "Use phone".',
    "A denied operation stays denied, whatever else is granted. Owners and admins may do everything.",
  ],
  example: "person app per_4Zb0x7 --grant phone.messages.send --deny sandbox.start",
  changes: true,
  input: z.object({
    personId: personIdArgument,
    grant: grantables.meta({ description: "allow it" }),
    deny: grantables.meta({ description: "deny it" }),
    clear: grantables.meta({ description: "reset it to the role's default" }),
  }),
  consoleAccess: { permission: "Team", denialReason: teamChangeDenial },
  run: async (context, { personId: named, grant, deny, clear }) => {
    const { companyId, personId } = await findCompanyOfPerson(context.ports, named)
    if ([...grant, ...deny, ...clear].length > 0) {
      await executeAndWait(context, companyId, {
        type: "ChangeAppAccess",
        personId,
        grant,
        deny,
        clear,
      })
    }
    return readPersonAccess(context, companyId, personId)
  },
})

/**
 * Reads a person's role and access.
 *
 * @throws OperatorRefused if the person was removed
 */
async function readPersonAccess({ ports }: AdminContext, companyId: CompanyId, personId: PersonId) {
  const person = await ports.runner.read(accessStreamOf(companyId), (state) =>
    findPerson(state, personId),
  )
  if (person === null) throw personNotFound(personId)
  const { appAccess: access } = person
  return {
    personId,
    companyId,
    role: person.role,
    permissions: person.permissions,
    app: isAdminRole(person.role) ? null : access,
  }
}

const remove = operation({
  name: "person remove",
  summary: "remove a person from their company, and delete their keys",
  example: 'person remove per_4Zb0x7 --reason "left the company"',
  changes: true,
  input: z.object({ personId: personIdArgument }),
  consoleAccess: { permission: "Team", denialReason: teamChangeDenial },
  run: async (context, input) => {
    const { companyId, personId } = await findCompanyOfPerson(context.ports, input.personId)
    await executeAndWait(context, companyId, { type: "RemovePerson", personId })
    return { personId, companyId, removed: true }
  },
})

const seen = operation({
  name: "person seen",
  summary: "record that a person is active now",
  example: "person seen per_4Zb0x7 --in app",
  changes: true,
  input: z.object({
    personId: personIdArgument,
    in: z.enum(CLIENT_KINDS).meta({ description: "the client they use", takes: "place" }),
  }),
  run: async ({ ports }, { personId: named, in: client }) => {
    const { companyId, personId } = await findCompanyOfPerson(ports, named)
    const seenAt = ports.clock.now()
    await ports.onlineStatus.noteSeen(companyId, { personId, client, seenAt })
    return { personId, companyId, in: client, at: new Date(seenAt).toISOString() }
  },
})

const list = operation({
  name: "person list",
  summary: "list a company's people and open invitations",
  example: "person list --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Team" },
  run: async ({ ports }, input) => {
    const companyId = await findCompany(ports, input.company)
    await waitForOwnWrites(ports)
    const people = await listPeople(ports.readAll, companyId)
    const invited = await listInvitations(ports.readAll, companyId, ports.clock.now())
    return {
      people: people.map(({ person_id: personId, name, email: address, ...row }) => {
        const access = { grant: row.granted, deny: row.denied }
        const held = buildPerson(personId, row.role, access).permissions
        const added = { addedAt: row.added_at.toISOString() }
        const fields = { personId, name, email: address, role: row.role, permissions: held }
        const rolePermissions = permissionsOf(row.role, [])
        return { ...fields, rolePermissions, ...access, ...added }
      }),
      invited: invited.map((row) => ({
        inviteId: row.invite_id,
        email: row.email,
        role: row.role,
        expiresAt: row.expires_at.toISOString(),
      })),
    }
  },
})

export const peopleOperations: readonly AdminOperation[] = [add, change, app, remove, seen, list]

/** How long an invitation can be accepted. */
const INVITATION_TTL_MS = 7 * 86_400_000

const invite = operation({
  name: "person invite",
  summary: "invite a person by email, for seven days",
  notes: ["Adding a person with this email ends the invitation."],
  example: "person invite --company acme --email ada@example.com --role developer",
  changes: true,
  input: z.object({ company: companyInput, email: personEmail, role }),
  consoleAccess: {
    permission: "Team",
    denialReason: inviteDenial,
    recipientEmail: ({ email: to }) => to,
  },
  run: async (context, { company: named, email: address, role: asRole }) => {
    const { sealing, clock } = context.ports
    const companyId = await findCompany(context.ports, named)
    const inviteId = newId("inv")
    const expiresAt = clock.now() + INVITATION_TTL_MS
    await executeAndWait(context, companyId, {
      type: "InvitePerson",
      inviteId,
      email: await sealing.seal(companyId, inviteId, address),
      emailTag: await sealing.tag(companyId, address.toLowerCase()),
      role: asRole,
      expiresAt,
    })
    const until = new Date(expiresAt).toISOString()
    return { inviteId, companyId, role: asRole, expiresAt: until }
  },
})

const uninvite = operation({
  name: "person uninvite",
  summary: "withdraw an invitation that was not accepted yet",
  notes: ["A code that was mailed for it no longer works. person list shows the ids."],
  example: "person uninvite inv_4Zb0x7 --company acme",
  changes: true,
  input: z.object({
    company: companyInput,
    inviteId: idInput.meta({ description: "the invitation, by id", argument: "INVITE_ID" }),
  }),
  consoleAccess: {
    permission: "Team",
    denialReason: async ({ input: { inviteId }, person, companyId, ports }) => {
      const invitedRole = await ports.runner.readLatest(accessStreamOf(companyId), (state) =>
        invitedRoleOf(state, inviteId),
      )
      return roleChangeDenial(person, [invitedRole ?? undefined])
    },
  },
  run: async (context, { company: named, inviteId }) => {
    const companyId = await findCompany(context.ports, named)
    await executeAndWait(context, companyId, { type: "WithdrawInvitation", inviteId })
    return { inviteId, companyId, withdrawn: true }
  },
})

export const invitationOperations: readonly AdminOperation[] = [invite, uninvite]
