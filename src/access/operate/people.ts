/** People of a company, as an operator adds, changes and shows them. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { PLACES } from "../../../adapters/presence/port.ts"
import type { AccessCommand } from "../../../domain/access/access.ts"
import { findPerson } from "../../../domain/access/access.ts"
import type { Grantable } from "../../../domain/access/grants.ts"
import { grantFault, personOf } from "../../../domain/access/grants.ts"
import { PERMISSIONS, ROLES, isAdminRole } from "../../../domain/access/permissions.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listInvitations } from "../../../projections/access/invitations.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { newId } from "../../frame/kernel/ids.ts"
import {
  accepted,
  email,
  findCompany,
  findCompanyOfPerson,
  showWrites,
  words,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

/** An invitation stands so long. */
const INVITED_FOR_MS = 7 * 86_400_000

const personName = words.refine((text) => text.trim() !== "", "must not be empty")
const permission = z.enum(PERMISSIONS)
const grantable = z.string().transform((name, context) => {
  const fault = grantFault(name)
  if (fault === null) return name as Grantable
  context.addIssue(`${name} ${fault}.`)
  return z.NEVER
})

/** Asks for something about people, and waits until everybody sees it. @throws OperatorRefused */
async function ask(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  command: AccessCommand,
): Promise<void> {
  accepted(await ports.runner.execute(accessOf(companyId), command, cause))
  await showWrites(ports)
}

const add = operation({
  name: "person add",
  input: z.object({
    company: z.string(),
    name: personName,
    email,
    role: z.enum(ROLES),
    permissions: z.array(permission).default([]),
  }),
  run: async (context, { company, name, email: address, role, permissions }) => {
    const { sealing } = context.ports
    const companyId = await findCompany(context.ports, company)
    const personId = newId("per")
    await ask(context, companyId, {
      type: "AddPerson",
      personId,
      name: await sealing.seal(companyId, personId, name),
      email: await sealing.seal(companyId, personId, address),
      emailTag: await sealing.tag(companyId, address.toLowerCase()),
      role,
      permissions,
    })
    return { personId, companyId }
  },
})

const change = operation({
  name: "person change",
  input: z.object({
    personId: z.string(),
    name: personName.optional(),
    email: email.optional(),
    role: z.enum(ROLES).optional(),
    permissions: z.array(permission).optional(),
    withoutPermissions: z.boolean().default(false),
  }),
  run: async (
    context,
    { personId, name, email: address, role, permissions, withoutPermissions },
  ) => {
    const { sealing } = context.ports
    const companyId = await findCompanyOfPerson(context.ports, personId)
    const sealed = async (text: string | undefined) =>
      text === undefined ? null : sealing.seal(companyId, personId, text)
    await ask(context, companyId, {
      type: "ChangePerson",
      personId,
      name: await sealed(name),
      email: await sealed(address),
      emailTag: address === undefined ? null : await sealing.tag(companyId, address.toLowerCase()),
      role: role ?? null,
      permissions: withoutPermissions ? [] : (permissions ?? null),
    })
    return standing(context, companyId, personId)
  },
})

const app = operation({
  name: "person app",
  input: z.object({
    personId: z.string(),
    grant: z.array(grantable).default([]),
    deny: z.array(grantable).default([]),
    clear: z.array(grantable).default([]),
  }),
  run: async (context, { personId, grant, deny, clear }) => {
    const companyId = await findCompanyOfPerson(context.ports, personId)
    if ([...grant, ...deny, ...clear].length > 0) {
      await ask(context, companyId, { type: "ChangeAppAccess", personId, grant, deny, clear })
    }
    return standing(context, companyId, personId)
  },
})

/** How a person stands. @throws OperatorRefused where they are gone by now */
async function standing({ ports }: AdminContext, companyId: CompanyId, personId: string) {
  const person = await ports.runner.look(accessOf(companyId), (state) =>
    findPerson(state, personId),
  )
  if (person === null) throw new OperatorRefused("not_found", `There is no person ${personId}.`)
  const { role, permissions, app: access } = person
  return { personId, companyId, role, permissions, app: isAdminRole(role) ? null : access }
}

const remove = operation({
  name: "person remove",
  input: z.object({ personId: z.string() }),
  run: async (context, { personId }) => {
    const companyId = await findCompanyOfPerson(context.ports, personId)
    await ask(context, companyId, { type: "RemovePerson", personId })
    return { personId, companyId, removed: true }
  },
})

const invite = operation({
  name: "person invite",
  input: z.object({ company: z.string(), email, role: z.enum(ROLES) }),
  run: async (context, { company, email: address, role }) => {
    const { sealing, clock } = context.ports
    const companyId = await findCompany(context.ports, company)
    const inviteId = newId("inv")
    const expiresAt = clock.now() + INVITED_FOR_MS
    await ask(context, companyId, {
      type: "InvitePerson",
      inviteId,
      email: await sealing.seal(companyId, inviteId, address),
      emailTag: await sealing.tag(companyId, address.toLowerCase()),
      role,
      expiresAt,
    })
    return { inviteId, companyId, role, expiresAt: new Date(expiresAt).toISOString() }
  },
})

const seen = operation({
  name: "person seen",
  input: z.object({ personId: z.string(), in: z.enum(PLACES) }),
  run: async ({ ports }, { personId, in: place }) => {
    const companyId = await findCompanyOfPerson(ports, personId)
    const seenAt = ports.clock.now()
    await ports.presence.seen(companyId, { personId, place, seenAt })
    return { personId, companyId, in: place, at: new Date(seenAt).toISOString() }
  },
})

const list = operation({
  name: "person list",
  input: z.object({ company: z.string() }),
  run: async ({ ports }, { company }) => {
    const companyId = await findCompany(ports, company)
    await showWrites(ports)
    const people = await listPeople(ports.readAll, companyId)
    const invited = await listInvitations(ports.readAll, companyId, ports.clock.now())
    return {
      people: people.map(({ person_id: personId, name, email: address, role, ...row }) => {
        const access = { grant: row.granted, deny: row.denied }
        const { permissions } = personOf(personId, role, access)
        const added = { addedAt: row.added_at.toISOString() }
        return { personId, name, email: address, role, permissions, ...access, ...added }
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

/** Operations on people. */
export const peopleOperations: readonly AdminOperation[] = [
  add,
  change,
  remove,
  list,
  invite,
  seen,
  app,
]
