/** The parts of Telnyx's stand-in that keep messaging profiles and that register texting: brands, campaigns, numbers and toll-free verifications, as the types of its client show them. Nobody reviews anything: a test says how it stands. */
import { randomUUID } from "node:crypto"

type Json = Record<string, unknown>

/** An answer, as it is sent. */
export interface TelnyxReply {
  readonly status: number
  readonly body: unknown
}

/** What it has in its books of profiles. */
interface ProfileState {
  readonly profiles: Json[]
  readonly replies: Json[]
  readonly now: () => number
}

/** The answer that something is there. */
export const okReplyWith = (data: unknown): TelnyxReply => ({ status: 200, body: { data } })

/** The answer of an error. */
export const errorReply = (
  status: number,
  code: string,
  detail = "By the stand-in.",
): TelnyxReply => ({
  status,
  body: { errors: [{ code, title: "It is refused", detail }] },
})

/** What is answered to a call about profiles, and to any that nothing else answers. */
export function profileReply(
  state: ProfileState,
  call: string,
  body: Json,
  query: URLSearchParams,
): TelnyxReply {
  const id = call.split("/")[2] ?? ""
  if (call === "GET /messaging_profiles") {
    const name = query.get("filter[name][eq]")
    return okReplyWith(state.profiles.filter((one) => name === null || one["name"] === name))
  }
  if (call === "POST /messaging_profiles") {
    const made = { ...body, id: randomUUID(), created_at: new Date(state.now()).toISOString() }
    state.profiles.push(made)
    return okReplyWith(made)
  }
  if (/^DELETE \/messaging_profiles\/[^/]+$/.test(call)) {
    const at = state.profiles.findIndex((one) => one["id"] === id)
    return at < 0 ? errorReply(404, "10005") : okReplyWith(state.profiles.splice(at, 1)[0])
  }
  if (/^PATCH \/messaging_profiles\/[^/]+$/.test(call)) {
    const known = state.profiles.find((one) => one["id"] === id)
    return known === undefined ? errorReply(404, "10005") : okReplyWith(Object.assign(known, body))
  }
  if (call.endsWith("/autoresp_configs")) {
    if (call.startsWith("GET")) {
      return okReplyWith(state.replies.filter((one) => one["profile"] === id))
    }
    const made = { ...body, id: randomUUID(), profile: id }
    state.replies.push(made)
    return okReplyWith(made)
  }
  const reply = state.replies.find((one) => call.endsWith(`/autoresp_configs/${String(one["id"])}`))
  return reply === undefined ? errorReply(404, "10005") : okReplyWith(Object.assign(reply, body))
}

/** What it has in its books. */
export interface TelnyxRegistryState {
  readonly brands: Json[]
  readonly campaigns: Json[]
  readonly assignments: Json[]
  readonly verifications: Json[]
  /** The codes of brands, by their ids: what was texted, and what is known of it. */
  readonly codes: Map<string, { readonly pin: string; readonly known: Json }>
  /** What it has against brands, by their ids. */
  readonly feedback: Map<string, readonly string[]>
}

/** Books in which there is nothing. */
export function emptyRegistryState(): TelnyxRegistryState {
  return {
    brands: [],
    campaigns: [],
    assignments: [],
    verifications: [],
    codes: new Map(),
    feedback: new Map(),
  }
}

const ok = (body: unknown): TelnyxReply => ({ status: 200, body })
const gone = errorReply(404, "10005", "The requested resource or URL could not be found.")

/** What is answered to a call such as `POST /10dlc/brand`; null where it is about no registration. */
export function registryReply(
  books: TelnyxRegistryState,
  call: string,
  body: Json,
  query: URLSearchParams,
): TelnyxReply | null {
  const [method = "", path = ""] = call.split(" ")
  const [, room, thing = "", ...rest] = path.split("/").map(decodeURIComponent)
  if (room === "messaging_tollfree")
    return tollFree(books, { method, id: rest[1] ?? "", body, query })
  if (room !== "10dlc") return null
  switch (thing) {
    case "brand":
      return brand(books, method, rest, body, query)
    case "campaign":
      return campaign(books, method, rest, body, query)
    case "campaignBuilder":
      return newCampaign(books, body)
    case "phone_number_campaigns":
      return assignment(books, method, rest[0] ?? "", body)
    default:
      return gone
  }
}

/** A page of a list, as it was asked for. */
function pageOf(rows: readonly Json[], query: URLSearchParams): TelnyxReply {
  const [page, size] = [Number(query.get("page")), Number(query.get("recordsPerPage"))]
  const records = rows.slice((page - 1) * size, page * size)
  return ok({ page, records, totalRecords: rows.length })
}

function brand(
  books: TelnyxRegistryState,
  method: string,
  [id = "", act = ""]: readonly string[],
  body: Json,
  query: URLSearchParams,
): TelnyxReply {
  const { brands, feedback } = books
  if (id === "") {
    if (method === "POST") {
      const made = { ...body, brandId: randomUUID(), status: "REGISTRATION_PENDING" }
      brands.push(made)
      return ok({ ...made })
    }
    const named = brands.filter(({ displayName }) => displayName === query.get("displayName"))
    // A list does not say where a brand's news go.
    return pageOf(
      named.toReversed().map((one) => ({ ...one, webhookURL: undefined })),
      query,
    )
  }
  if (id === "feedback") {
    const said = feedback.get(act)
    const category = (said ?? []).map((description) => ({ id: "TAX_ID", description, fields: [] }))
    return said === undefined ? gone : ok({ brandId: act, category })
  }
  const known = brands.find(({ brandId }) => brandId === id)
  if (known === undefined) return gone
  if (act === "smsOtp") return verifyPin(books, method, known, body)
  if (act === "revet") return ok(Object.assign(known, { status: "REGISTRATION_PENDING" }))
  return ok(method === "PUT" ? Object.assign(known, body) : known)
}

function verifyPin(
  { codes }: TelnyxRegistryState,
  method: string,
  known: Json,
  { otpPin }: Json,
): TelnyxReply {
  const brandId = String(known["brandId"])
  const { entityType } = known
  if (entityType !== "SOLE_PROPRIETOR")
    return errorReply(400, "10015", "Only for sole proprietors.")
  if (method === "POST") {
    const texted = { brandId, referenceId: `OTP${codes.size}`, deliveryStatus: "PENDING" }
    const pin = String(100_000 + codes.size)
    codes.set(brandId, { pin, known: { ...texted, mobilePhone: known["mobilePhone"] } })
    return ok(texted)
  }
  const sent = codes.get(brandId)
  if (sent === undefined) return gone
  if (method === "GET") return ok(sent.known)
  if (sent.pin !== otpPin || sent.known["deliveryStatus"] === "EXPIRED") {
    return errorReply(400, "10015", "The code is not right.")
  }
  sent.known["verifyDate"] = "2026-11-25T00:00:00Z"
  known["identityStatus"] = "VERIFIED"
  return { status: 204, body: null }
}

function newCampaign({ brands, campaigns }: TelnyxRegistryState, body: Json): TelnyxReply {
  if (!brands.some(({ brandId }) => brandId === body["brandId"])) return gone
  if (campaigns.some(({ referenceId }) => referenceId === body["referenceId"])) {
    return errorReply(400, "10015", "The referenceId is not unique.")
  }
  const made = {
    ...body,
    campaignId: randomUUID(),
    campaignStatus: "TCR_PENDING",
    status: "ACTIVE",
  }
  campaigns.push(made)
  return ok({ ...made })
}

function campaign(
  { campaigns }: TelnyxRegistryState,
  method: string,
  [id = "", act = ""]: readonly string[],
  body: Json,
  query: URLSearchParams,
): TelnyxReply {
  if (id === "") {
    const ofBrand = campaigns.filter(({ brandId }) => brandId === query.get("brandId"))
    return pageOf(ofBrand, query)
  }
  const known = campaigns.find(({ campaignId }) => campaignId === id)
  if (known === undefined) return gone
  if (act === "appeal") {
    known["campaignStatus"] = "TCR_ACCEPTED"
    return ok({ appealed_at: "2026-11-25T00:00:00Z" })
  }
  if (method === "DELETE") {
    if (known["status"] === "EXPIRED")
      return errorReply(400, "10015", "The campaign is not active.")
    known["status"] = "EXPIRED"
    return ok({ time: 1 })
  }
  return ok(method === "PUT" ? Object.assign(known, body) : known)
}

function assignment(
  { assignments, campaigns }: TelnyxRegistryState,
  method: string,
  number: string,
  body: Json,
): TelnyxReply {
  const wanted = method === "POST" ? body["phoneNumber"] : number
  const known = assignments.find(({ phoneNumber }) => phoneNumber === wanted)
  if (method === "GET") return known === undefined ? gone : ok(known)
  if (!campaigns.some(({ campaignId }) => campaignId === body["campaignId"])) {
    return errorReply(400, "10015", "There is no such campaign.")
  }
  const set = { ...body, assignmentStatus: "PENDING_ASSIGNMENT" }
  if (method === "PUT") return known === undefined ? gone : ok(Object.assign(known, set))
  if (known !== undefined) return errorReply(409, "10015", "The number is in a campaign.")
  assignments.push(set)
  return ok({ ...set })
}

interface TollFreeCall {
  readonly method: string
  /** Of the request that it is about; empty for a new one. */
  readonly id: string
  readonly body: Json
  readonly query: URLSearchParams
}

function tollFree(
  { verifications }: TelnyxRegistryState,
  { method, id: asked, body, query }: TollFreeCall,
): TelnyxReply {
  if (method === "PATCH") {
    const known = verifications.find((one) => one["id"] === asked)
    if (known === undefined) return gone
    return ok(Object.assign(known, body, { verificationStatus: "In Progress" }))
  }
  if (method === "GET") {
    const number = query.get("phone_number")
    const records = verifications.filter((one) =>
      (one["phoneNumbers"] as Json[]).some(({ phoneNumber }) => phoneNumber === number),
    )
    return ok({ records, total_records: records.length })
  }
  const id = randomUUID()
  const made = { ...body, id, createdAt: new Date(verifications.length * 1_000).toISOString() }
  verifications.push({ ...made, verificationStatus: "Waiting For Telnyx" })
  return ok({ ...made, verificationRequestId: id, verificationStatus: "Waiting For Telnyx" })
}
