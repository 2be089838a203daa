/** Companies that have something of each kind that calls name, and what it is called. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { cursorOf } from "../../src/frame/routes/lists.ts"
import { useBoxes } from "../boxes/pretended.ts"
import { useDomains } from "../domains/pretended.ts"
import { publishOne } from "../publishing/readings.ts"
import { makeCompany, makeKey, setLimit, type Company, type World } from "../support/world.ts"
import { useVoice } from "../voice/pretended.ts"
import { idsOf } from "./comers.ts"
import type { Ids } from "./who-may.ts"

/** A company with something of each kind. */
export interface Furnished extends Company {
  readonly names: Names
  /** The same, as rows of operations take it. */
  readonly ids: Ids
  /** When it was made, UTC milliseconds: the clock stands still. */
  readonly now: number
}

function cursorsOf({ companyId }: Pick<Company, "companyId">, place: number) {
  const of = (list: string): readonly string[] => [cursorOf(list, companyId, place)]
  return {
    "cursor of messages": of("messages"),
    "cursor of calls": of("calls"),
    "cursor of leads": of("leads"),
    "cursor of billing lines": of("billing lines"),
    "cursor of refusals": of("refusals"),
  }
}

const nothing = "0".repeat(22)

/** What nobody has, by the kinds of what names something of a company: some things have two names. */
export const NONE = {
  ...cursorsOf({ companyId: "co_000000" }, 1),
  company: ["co_000000", "Nobody Inc"],
  person: [`per_${nothing}`],
  key: ["key_00000000"],
  invitation: [`inv_${nothing}`],
  charge: [`chg_${nothing}`],
  "thing paid for": [`msg_${nothing}`],
  request: [`req_${nothing}`],
  form: [`form_${nothing}`],
  lead: [`lead_${nothing}`],
  box: [`box_${nothing}`],
  publish: [`pub_${nothing}`],
  commit: ["0".repeat(40)],
  number: [`num_${nothing}`, "+14155550999"],
  call: [`call_${nothing}`],
  domain: [`dom_${nothing}`],
  "domain name": ["nobody-has-it.com"],
  "host name": ["app.nobody-has-it.com"],
  sender: ["hello@nobody-has-it.com"],
  record: [`rec_${nothing}`],
  "sending domain": [`sdom_${nothing}`],
  "installed app": ["0".repeat(56)],
  pick: ["a pick of nobody"],
  stream: ["ledger-co_000000"],
  head: ["0".repeat(64)],
} satisfies Readonly<Record<string, readonly string[]>>

/** What names something of a company. */
export type Kind = keyof typeof NONE

type Names = Readonly<Record<Kind, readonly string[]>>

/** Makes one. What its calls were is recorded by then: nothing of it changes by itself. */
export async function furnished(world: World): Promise<Furnished> {
  const company = await makeCompany(world, { funds: "500" })
  const { companyId } = company
  await useBoxes(world, company)
  await useVoice(world, company)
  await useDomains(world, company)
  const published = await publishOne(world, company)
  const ids = { ...(await idsOf(world, company)), publish: published.body.id }
  const spender = await spent(world, company, ids)
  const app = await installed(world, company)
  const invited = { company: companyId, email: "invited@example.com", role: "user" }
  const { inviteId } = await world.operate("person invite", invited)
  const { name } = await world.operate("company show", { company: companyId })
  await world.operate("wait")
  const names: Names = {
    ...cursorsOf(company, world.ports.clock.now()),
    ...(await things(world, company)),
    company: [companyId, name],
    person: [ids.person],
    key: [spender],
    invitation: [inviteId],
    charge: [ids.charge],
    form: [ids.form],
    lead: [ids.lead],
    publish: [ids.publish],
    commit: [published.body.commit],
    ...app,
    ...(await paidFor(world, company)),
    stream: [ledgerOf(companyId).stream],
    head: [await headOf(world, company)],
  }
  return { ...company, names, ids: { ...ids, key: spender }, now: world.ports.clock.now() }
}

/** What stands at the first place of each list. */
async function things(world: World, { key }: Company) {
  const get = async (path: string) => (await world.call(key, "GET", `/api/v1/${path}`)).body
  const { numbers } = await get("phone/state")
  const { domain, id, records } = await get("domain")
  const { recordings } = await get("phone/recordings")
  const recorded = recordings.find((one: { recording: object | null }) => one.recording !== null)
  return {
    box: [(await get("sandboxes")).boxes[0].id],
    number: [numbers[0].id, numbers[0].number],
    call: [recorded.id],
    domain: [id],
    "domain name": [domain],
    "host name": [`www.${domain}`],
    sender: [`hello@${domain}`],
    record: [records[0].id],
    "sending domain": [(await get("email/domains")).domains[0].id],
  }
}

/** Has a person spend, and a key of theirs, which is refused something too; answers that key. */
async function spent(world: World, of: Company, ids: Ids) {
  const [company, person] = [of.companyId, ids.person as PersonId]
  const spending = { company, person, class: "ai", dollars: "0.01", item: "chat" }
  await world.operate("charge", spending)
  await setLimit(world, of, { person, class: "ai", period: "week", dollars: "9" })
  await world.operate("person change", { personId: person, role: "admin" })
  const { keyId, key } = await makeKey(world, of, { person })
  await setLimit(world, of, { key: keyId, period: "day", dollars: "0.5" })
  const text = { to: "+14155550123", body: "Hello" }
  await world.call(key, "POST", "/api/v1/phone/messages", { body: text })
  await world.call(key, "POST", "/api/v1/phone/buy", { body: { number: "+14155550142" } })
  return keyId
}

/** What a text was, which a call paid for. */
async function paidFor(world: World, { companyId: company }: Company) {
  const { charges } = await world.operate("charge list", { company, item: "text_segment" })
  const stream = ledgerOf(company).stream
  const { events } = await world.operate("audit show", { stream, type: "Charged" })
  const { chargeId, resource } = charges[0]
  const fact = events.find((one: { data: { chargeId?: string } }) => one.data.chargeId === chargeId)
  return { "thing paid for": [resource as string], request: [fact.metadata.command as string] }
}

/** Has an app check in, and somebody look for an address in it. */
async function installed(world: World, { key, companyId }: Company) {
  const app = { installId: null, version: "2.0.0" }
  const { body } = await world.call(key, "POST", "/api/v1/checkin", { body: app })
  const sessionToken = `a pick at ${companyId}`
  const picked = { action: "details", placeId: "demo_7300_12", sessionToken }
  await world.call(key, "POST", "/api/v1/places", { body: picked })
  return { "installed app": [body.installId as string], pick: [sessionToken] }
}

/** The head of all that is stored of a company; what is only counted so far is stored for it. */
async function headOf(world: World, { companyId }: Company): Promise<string> {
  const { heads } = await world.operate("audit head", { company: companyId })
  return heads[0].root
}
