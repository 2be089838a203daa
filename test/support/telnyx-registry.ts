/** The simulated Telnyx server's messaging profiles and registry: brands, campaigns, number assignments and toll-free verifications, after the types of its client. Tests set the results of reviews. */
import { randomUUID } from "node:crypto"

type Json = Record<string, unknown>

/** An HTTP answer. */
export interface TelnyxReply {
  readonly status: number
  readonly body: unknown
}

/** Stored messaging profiles. */
interface ProfileState {
  readonly profiles: Json[]
  readonly replies: Json[]
  readonly now: () => number
}

/** A successful answer with data. */
export const okReplyWith = (data: unknown): TelnyxReply => ({ status: 200, body: { data } })

/** An error answer. */
export const errorReply = (
  status: number,
  code: string,
  detail = "By the simulated server.",
): TelnyxReply => ({
  status,
  body: { errors: [{ code, title: "The request is rejected", detail }] },
})

/** Answers a call about profiles, or 404. */
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

export interface TelnyxRegistryState {
  readonly brands: Json[]
  readonly campaigns: Json[]
  readonly assignments: Json[]
  readonly verifications: Json[]
  /** Verification codes by brand id, with their status. */
  readonly codes: Map<string, { readonly pin: string; readonly known: Json }>
  /** Reviewers' feedback by brand id. */
  readonly feedback: Map<string, readonly string[]>
}

/** A state without registrations. */
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
const notFound = errorReply(404, "10005", "The requested resource or URL could not be found.")

/** Answers a call such as `POST /10dlc/brand`; null if it is not about a registration. */
export function registryReply(
  state: TelnyxRegistryState,
  call: string,
  body: Json,
  query: URLSearchParams,
): TelnyxReply | null {
  const [method = "", path = ""] = call.split(" ")
  const [, area, resource = "", ...rest] = path.split("/").map(decodeURIComponent)
  if (area === "messaging_tollfree")
    return tollFree(state, { method, id: rest[1] ?? "", body, query })
  if (area !== "10dlc") return null
  switch (resource) {
    case "brand":
      return brand(state, method, rest, body, query)
    case "campaign":
      return campaign(state, method, rest, body, query)
    case "campaignBuilder":
      return newCampaign(state, body)
    case "phone_number_campaigns":
      return assignment(state, method, rest[0] ?? "", body)
    default:
      return notFound
  }
}

/** The requested page of a list. */
function pageOf(rows: readonly Json[], query: URLSearchParams): TelnyxReply {
  const [page, size] = [Number(query.get("page")), Number(query.get("recordsPerPage"))]
  const records = rows.slice((page - 1) * size, page * size)
  return ok({ page, records, totalRecords: rows.length })
}

function brand(
  state: TelnyxRegistryState,
  method: string,
  [id = "", act = ""]: readonly string[],
  body: Json,
  query: URLSearchParams,
): TelnyxReply {
  const { brands, feedback } = state
  if (id === "") {
    if (method === "POST") {
      const made = { ...body, brandId: randomUUID(), status: "REGISTRATION_PENDING" }
      brands.push(made)
      return ok({ ...made })
    }
    const named = brands.filter(({ displayName }) => displayName === query.get("displayName"))
    // A list omits the webhook addresses of brands.
    return pageOf(
      named.toReversed().map((one) => ({ ...one, webhookURL: undefined })),
      query,
    )
  }
  if (id === "feedback") {
    const found = feedback.get(act)
    const category = (found ?? []).map((description) => ({ id: "TAX_ID", description, fields: [] }))
    return found === undefined ? notFound : ok({ brandId: act, category })
  }
  const known = brands.find(({ brandId }) => brandId === id)
  if (known === undefined) return notFound
  if (act === "smsOtp") return verifyPin(state, method, known, body)
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
  if (sent === undefined) return notFound
  if (method === "GET") return ok(sent.known)
  if (sent.pin !== otpPin || sent.known["deliveryStatus"] === "EXPIRED") {
    return errorReply(400, "10015", "The code is wrong.")
  }
  sent.known["verifyDate"] = "2026-11-25T00:00:00Z"
  known["identityStatus"] = "VERIFIED"
  return { status: 204, body: null }
}

function newCampaign({ brands, campaigns }: TelnyxRegistryState, body: Json): TelnyxReply {
  if (!brands.some(({ brandId }) => brandId === body["brandId"])) return notFound
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
  if (known === undefined) return notFound
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
  if (method === "GET") return known === undefined ? notFound : ok(known)
  if (!campaigns.some(({ campaignId }) => campaignId === body["campaignId"])) {
    return errorReply(400, "10015", "There is no such campaign.")
  }
  const set = { ...body, assignmentStatus: "PENDING_ASSIGNMENT" }
  if (method === "PUT") return known === undefined ? notFound : ok(Object.assign(known, set))
  if (known !== undefined) return errorReply(409, "10015", "The number is in a campaign.")
  assignments.push(set)
  return ok({ ...set })
}

interface TollFreeCall {
  readonly method: string
  /** Id of the verification; empty for a new one. */
  readonly id: string
  readonly body: Json
  readonly query: URLSearchParams
}

function tollFree(
  { verifications }: TelnyxRegistryState,
  { method, id: wantedId, body, query }: TollFreeCall,
): TelnyxReply {
  if (method === "PATCH") {
    const known = verifications.find((one) => one["id"] === wantedId)
    if (known === undefined) return notFound
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
