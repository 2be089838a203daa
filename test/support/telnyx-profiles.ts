/** The part of Telnyx's stand-in that keeps messaging profiles and their replies to keywords. */
import { randomUUID } from "node:crypto"

type Json = Record<string, unknown>

/** An answer, as it is sent. */
export interface TelnyxReply {
  readonly status: number
  readonly body: unknown
}

/** What it has in its books of profiles. */
interface ProfileBooks {
  readonly profiles: Json[]
  readonly replies: Json[]
  readonly now: () => number
}

/** The answer that something is there. */
export const found = (data: unknown): TelnyxReply => ({ status: 200, body: { data } })

/** The answer of an error. */
export const refused = (
  status: number,
  code: string,
  detail = "By the stand-in.",
): TelnyxReply => ({
  status,
  body: { errors: [{ code, title: "It is refused", detail }] },
})

/** What is answered to a call about profiles, and to any that nothing else answers. */
export function answerToProfiles(
  state: ProfileBooks,
  call: string,
  body: Json,
  query: URLSearchParams,
): TelnyxReply {
  const id = call.split("/")[2] ?? ""
  if (call === "GET /messaging_profiles") {
    const name = query.get("filter[name][eq]")
    return found(state.profiles.filter((one) => name === null || one["name"] === name))
  }
  if (call === "POST /messaging_profiles") {
    const made = { ...body, id: randomUUID(), created_at: new Date(state.now()).toISOString() }
    state.profiles.push(made)
    return found(made)
  }
  if (/^DELETE \/messaging_profiles\/[^/]+$/.test(call)) {
    const at = state.profiles.findIndex((one) => one["id"] === id)
    return at < 0 ? refused(404, "10005") : found(state.profiles.splice(at, 1)[0])
  }
  if (/^PATCH \/messaging_profiles\/[^/]+$/.test(call)) {
    const known = state.profiles.find((one) => one["id"] === id)
    return known === undefined ? refused(404, "10005") : found(Object.assign(known, body))
  }
  if (call.endsWith("/autoresp_configs")) {
    if (call.startsWith("GET")) {
      return found(state.replies.filter((one) => one["profile"] === id))
    }
    const made = { ...body, id: randomUUID(), profile: id }
    state.replies.push(made)
    return found(made)
  }
  const reply = state.replies.find((one) => call.endsWith(`/autoresp_configs/${String(one["id"])}`))
  return reply === undefined ? refused(404, "10005") : found(Object.assign(reply, body))
}
