/** Tells a key's people by one email that it stood in a push, and works no more. */
import { z } from "zod"
import { parseKeyId } from "../../../domain/kernel/ids.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { companyName, mailTo, whilePeopleAreBehind } from "../../frame/effects/mail-people.ts"
import { oneLine, utc } from "../../frame/effects/mail-words.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

const LeakedKey = z.object({
  at: z.number(),
  keyId: idSchema(parseKeyId),
  pushId: z.string(),
  inOwnCode: z.boolean(),
})

/** Sends the email of a key that was found in a push. */
export const mailLeakedKey = reaction({
  kind: "mail-leaked-key",
  payload: LeakedKey,
  from: {
    KeyLeaked: ({ type: _type, ...payload }) => {
      return [{ name: payload.keyId, payload, dueAt: payload.at }]
    },
  },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { payload: leaked, companyId } = work
    const behind = await whilePeopleAreBehind(ports, work)
    if (behind !== null) return behind
    const { people, keys } = await ports.readAs(companyId, async (db) => ({
      people: await listPeople(db, companyId),
      keys: await listKeys(db, companyId),
    }))
    const key = keys.find((one) => one.key_id === leaked.keyId)
    const told = people.filter(({ role, person_id: id }) => {
      return role === "owner" || id === key?.person_id
    })
    const mail = leakedKeyText(leaked, {
      company: await companyName(ports, companyId),
      label: key?.label ?? null,
    })
    return mailTo(ports, work, told, { ...mail, about: leaked.keyId })
  },
})

/** Subject and text of the email. */
function leakedKeyText(
  { at, keyId, pushId, inOwnCode }: z.infer<typeof LeakedKey>,
  { company, label }: { readonly company: string; readonly label: string | null },
): { readonly subject: string; readonly text: string } {
  const key = label === null ? keyId : `"${label}" (${keyId})`
  const where = inOwnCode ? "the company's code" : "the code of another company of this service"
  const lines = [
    "An API key stood in what somebody pushed. It was switched off for good before the push was refused.",
    "",
    `Company: ${company}`,
    `Key: ${key}`,
    `Pushed to: ${where}`,
    `Push: ${pushId}`,
    `At: ${utc(at)}`,
    "",
    "Make a new key for whatever used it, and look at what it was used for.",
  ]
  const subject = `${company}: the API key ${key} was found in a push and switched off`
  return { subject: oneLine(subject), text: lines.map(oneLine).join("\n") }
}
