/** Reactions that email people about an invitation or a leaked key. */
import { z } from "zod"
import { parseSealedText, parseKeyId } from "../../domain/kernel/ids.ts"
import { companyName, mailPeople, waitForPeopleReadModels } from "../frame/effects/mail-people.ts"
import { toSingleLine, formatUtc } from "../frame/effects/mail-people.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { invitedPersonId } from "../frame/sign-in/company-sign-in.ts"
import { listKeys } from "../../projections/access/keys.ts"
import { listPeople } from "../../projections/access/people.ts"

const InvitationPayload = z.object({
  at: z.number(),
  inviteId: z.string(),
  email: idSchema(parseSealedText),
  role: z.string(),
  expiresAt: z.number(),
})

/** Emails a person their invitation, and how to accept it. */
export const mailInvitation = reaction({
  kind: "mail-invitation",
  payload: InvitationPayload,
  on: {
    PersonInvited: ({ at, inviteId, email, role, expiresAt }) => {
      const payload = { at, inviteId, email, role, expiresAt }
      return [{ name: inviteId, payload, dueAt: at }]
    },
  },
  endOn: { InvitationWithdrawn: ({ inviteId }) => [inviteId] },
  hasPersonalData: true,
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { inviteId, role, expiresAt } = payload
    const address = await ports.sealing.unseal(companyId, payload.email)
    // The company was erased, or the invitation expired before it could be sent.
    if (address === null || expiresAt <= ports.clock.now()) return { result: "done" }
    const company = toSingleLine(await companyName(ports, companyId))
    const personId = invitedPersonId(companyId, inviteId)
    const lines = [
      `You were invited to ${company}, as ${role}.`,
      "",
      `Accept by signing in at ${ports.baseUrl()}/console with this address, before ${formatUtc(expiresAt)}.`,
      "If you did not expect this invitation, ignore this email.",
    ]
    const mail = { subject: `You were invited to ${company}`, text: lines.join("\n") }
    const invited = [{ person_id: personId, email: address }]
    return mailPeople(ports, work, invited, { ...mail, about: personId })
  },
})

const LeakedKeyPayload = z.object({
  at: z.number(),
  keyId: idSchema(parseKeyId),
  pushId: z.string(),
  inOwnCode: z.boolean(),
})

/** Emails the owners and the key's person that a key was found in a push. */
export const mailLeakedKey = reaction({
  kind: "mail-leaked-key",
  payload: LeakedKeyPayload,
  on: {
    KeyLeaked: ({ type: _type, ...payload }) => {
      return [{ name: payload.keyId, payload, dueAt: payload.at }]
    },
  },
  hasPersonalData: true,
  discard: "allowed",
  perform: async (ports, work) => {
    const { payload: leaked, companyId } = work
    const behind = await waitForPeopleReadModels(ports, work)
    if (behind !== null) return behind
    const { people, keys } = await ports.readAs(companyId, async (db) => ({
      people: await listPeople(db, companyId),
      keys: await listKeys(db, companyId),
    }))
    const key = keys.find((one) => one.key_id === leaked.keyId)
    const recipients = people.filter(({ role, person_id: id }) => {
      return role === "owner" || id === key?.person_id
    })
    const mail = leakedKeyText(leaked, {
      company: await companyName(ports, companyId),
      label: key?.label ?? null,
    })
    return mailPeople(ports, work, recipients, { ...mail, about: leaked.keyId })
  },
})

function leakedKeyText(
  { at, keyId, pushId, inOwnCode }: z.infer<typeof LeakedKeyPayload>,
  { company, label }: { readonly company: string; readonly label: string | null },
): { readonly subject: string; readonly text: string } {
  const key = label === null ? keyId : `"${label}" (${keyId})`
  const where = inOwnCode ? "the company's code" : "the code of another company of this service"
  const lines = [
    "A push contained an API key. The key was switched off permanently and the push was rejected.",
    "",
    `Company: ${company}`,
    `Key: ${key}`,
    `Pushed to: ${where}`,
    `Push: ${pushId}`,
    `At: ${formatUtc(at)}`,
    "",
    "Create a new key for the programs that used it, and check what it was used for.",
  ]
  const subject = `${company}: the API key ${key} was found in a push and switched off`
  return { subject: toSingleLine(subject), text: lines.map(toSingleLine).join("\n") }
}
