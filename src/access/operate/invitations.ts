/** Invitations to a company, as an operator makes them and takes them back. */
import { z } from "zod"
import { invitedAs } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { company, findCompany, someId } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"
import { teamBar } from "./console-team.ts"
import { ask, role, theirEmail } from "./people.ts"

/** An invitation stands so long. */
const INVITED_FOR_MS = 7 * 86_400_000

const invite = operation({
  name: "person invite",
  summary: "invite somebody by email, for seven days",
  notes: ["Adding a person with this email ends the invitation."],
  example: "person invite --company acme --email ada@example.com --role developer",
  changes: true,
  input: z.object({ company, email: theirEmail, role }),
  console: { permission: "Team", bars: teamBar, mailsTo: ({ email: to }) => to },
  run: async (context, { company: named, email: address, role: asRole }) => {
    const { sealing, clock } = context.ports
    const companyId = await findCompany(context.ports, named)
    const inviteId = newId("inv")
    const expiresAt = clock.now() + INVITED_FOR_MS
    await ask(context, companyId, {
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
  summary: "take an invitation back that nobody accepted yet",
  notes: ["A code that was mailed for it signs nobody in any more. person list has the ids."],
  example: "person uninvite inv_4Zb0x7 --company acme",
  changes: true,
  input: z.object({
    company,
    inviteId: someId.meta({ description: "the invitation, by id", argument: "INVITE_ID" }),
  }),
  console: {
    permission: "Team",
    bars: async ({ input: { inviteId }, ...asking }) => {
      const invitedRole = await asking.ports.runner.readLatest(
        accessOf(asking.companyId),
        (state) => invitedAs(state, inviteId),
      )
      return invitedRole === null ? null : teamBar({ ...asking, input: { role: invitedRole } })
    },
  },
  run: async (context, { company: named, inviteId }) => {
    const companyId = await findCompany(context.ports, named)
    await ask(context, companyId, { type: "WithdrawInvitation", inviteId })
    return { inviteId, companyId, withdrawn: true }
  },
})

/** Operations on invitations. */
export const invitationOperations: readonly AdminOperation[] = [invite, uninvite]
