/** Companies with one thing of each kind that console calls can name. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { cursorForNumber } from "../../src/frame/routes/lists.ts"
import { exerciseBoxes } from "../boxes/exercise-boxes.ts"
import { exerciseDomains } from "../domains/exercise-domains.ts"
import { publishOne } from "../publishing/route-scenarios.ts"
import { makeCompany, makeKey, setLimit, type Company, type World } from "../support/world.ts"
import { exerciseVoice } from "../voice/exercise-voice.ts"
import { makeConsoleThings } from "./console-visitors.ts"
import type { SampleIds } from "./operation-access.ts"

/** A company with one thing of each kind. */
export interface SampleCompany extends Company {
  readonly names: Names
  /** The ids that the rows of operations use. */
  readonly ids: SampleIds
  /** When it was made, in UTC milliseconds; the clock does not advance. */
  readonly now: number
}

function cursorsOf({ companyId }: Pick<Company, "companyId">, index: number) {
  const of = (list: string): readonly string[] => [cursorForNumber(list, companyId, index)]
  return {
    "cursor of messages": of("messages"),
    "cursor of calls": of("calls"),
    "cursor of leads": of("leads"),
    "cursor of billing lines": of("billing lines"),
    "cursor of refusals": of("refusals"),
  }
}

const ZERO_ID_PART = "0".repeat(22)

/** Names that no company has, by kind; some kinds have two forms. */
export const UNKNOWN_NAMES = {
  ...cursorsOf({ companyId: "co_000000" }, 1),
  company: ["co_000000", "Unknown Inc"],
  person: [`per_${ZERO_ID_PART}`],
  key: ["key_00000000"],
  invitation: [`inv_${ZERO_ID_PART}`],
  charge: [`chg_${ZERO_ID_PART}`],
  "thing paid for": [`msg_${ZERO_ID_PART}`],
  request: [`req_${ZERO_ID_PART}`],
  form: [`form_${ZERO_ID_PART}`],
  lead: [`lead_${ZERO_ID_PART}`],
  box: [`box_${ZERO_ID_PART}`],
  publish: [`pub_${ZERO_ID_PART}`],
  commit: ["0".repeat(40)],
  number: [`num_${ZERO_ID_PART}`, "+14155550999"],
  call: [`call_${ZERO_ID_PART}`],
  domain: [`dom_${ZERO_ID_PART}`],
  "domain name": ["not-registered.com"],
  "host name": ["app.not-registered.com"],
  sender: ["hello@not-registered.com"],
  record: [`rec_${ZERO_ID_PART}`],
  "sending domain": [`sdom_${ZERO_ID_PART}`],
  "installed app": ["0".repeat(56)],
  pick: ["an unknown session token"],
  stream: ["ledger-co_000000"],
  head: ["0".repeat(64)],
} satisfies Readonly<Record<string, readonly string[]>>

/** A kind of id or name. */
export type NameKind = keyof typeof UNKNOWN_NAMES

type Names = Readonly<Record<NameKind, readonly string[]>>

/** Makes a sample company. Its buffered calls are stored before it returns, so that its state stays the same. */
export async function makeSampleCompany(world: World): Promise<SampleCompany> {
  const company = await makeCompany(world, { funds: "500" })
  const { companyId } = company
  await exerciseBoxes(world, company)
  await exerciseVoice(world, company)
  await exerciseDomains(world, company)
  const published = await publishOne(world, company)
  const ids = { ...(await makeConsoleThings(world, company)), publish: published.body.id }
  const spender = await makeCharges(world, company, ids)
  const app = await checkInApp(world, company)
  const invited = { company: companyId, email: "invited@example.com", role: "user" }
  const { inviteId } = await world.operate("person invite", invited)
  const { name } = await world.operate("company show", { company: companyId })
  await world.operate("wait")
  const names: Names = {
    ...cursorsOf(company, world.ports.clock.now()),
    ...(await makeThings(world, company)),
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
    ...(await findPaidThing(world, company)),
    stream: [ledgerStreamOf(companyId).stream],
    head: [await headOf(world, company)],
  }
  return { ...company, names, ids: { ...ids, key: spender }, now: world.ports.clock.now() }
}

/** The first entry of each list. */
async function makeThings(world: World, { key }: Company) {
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

/** Makes charges by a person and by a key of theirs, and a refusal for the key; returns the key's id. */
async function makeCharges(world: World, of: Company, ids: SampleIds) {
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

/** The resource and the request of a charge for a text. */
async function findPaidThing(world: World, { companyId: company }: Company) {
  const { charges } = await world.operate("charge list", { company, item: "text_segment" })
  const stream = ledgerStreamOf(company).stream
  const { events } = await world.operate("audit show", { stream, type: "Charged" })
  const { chargeId, resource } = charges[0]
  const fact = events.find((one: { data: { chargeId?: string } }) => one.data.chargeId === chargeId)
  return { "thing paid for": [resource as string], request: [fact.metadata.command as string] }
}

/** Checks an app in, and looks up an address in it. */
async function checkInApp(world: World, { key, companyId }: Company) {
  const app = { installId: null, version: "2.0.0" }
  const { body } = await world.call(key, "POST", "/api/v1/checkin", { body: app })
  const sessionToken = `session of ${companyId}`
  const picked = { action: "details", placeId: "demo_7300_12", sessionToken }
  await world.call(key, "POST", "/api/v1/places", { body: picked })
  return { "installed app": [body.installId as string], pick: [sessionToken] }
}

/** The head of a company's stored events; reading it stores the buffered calls first. */
async function headOf(world: World, { companyId }: Company): Promise<string> {
  const { heads } = await world.operate("audit head", { company: companyId })
  return heads[0].root
}
