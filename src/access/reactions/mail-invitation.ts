/** Tells somebody by one email that they were invited, and how they accept. */
import { z } from "zod"
import { parseSealed } from "../../../domain/kernel/ids.ts"
import { companyName, mailTo } from "../../frame/effects/mail-people.ts"
import { oneLine, utc } from "../../frame/effects/mail-words.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { invitedPersonId } from "../../frame/sign-in/belonging.ts"

const Invited = z.object({
  at: z.number(),
  inviteId: z.string(),
  email: idSchema(parseSealed),
  role: z.string(),
  expiresAt: z.number(),
})

/** Sends the email of an invitation. */
export const mailInvitation = reaction({
  kind: "mail-invitation",
  payload: Invited,
  from: {
    PersonInvited: ({ at, inviteId, email, role, expiresAt }) => {
      const payload = { at, inviteId, email, role, expiresAt }
      return [{ name: inviteId, payload, dueAt: at }]
    },
  },
  until: { InvitationWithdrawn: ({ inviteId }) => [inviteId] },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { inviteId, role, expiresAt } = payload
    const address = await ports.sealing.open(companyId, payload.email)
    // Its key was erased with the company, or it was over before it could be sent.
    if (address === null || expiresAt <= ports.clock.now()) return { result: "done" }
    const company = oneLine(await companyName(ports, companyId))
    const personId = invitedPersonId(companyId, inviteId)
    const lines = [
      `You were invited to ${company}, as ${role}.`,
      "",
      `Accept by signing in at ${ports.baseUrl()}/console with this address, before ${utc(expiresAt)}.`,
      "Is it nothing that you expected? Then do nothing.",
    ]
    const mail = { subject: `You were invited to ${company}`, text: lines.join("\n") }
    const invited = [{ person_id: personId, email: address }]
    return mailTo(ports, work, invited, { ...mail, about: personId })
  },
})
