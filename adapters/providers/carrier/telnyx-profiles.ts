/**
 * Messaging profiles: each company has one, named by its id. The profile is the scope of the
 * carrier's own opt-out list. It is created on first use and found by name afterwards.
 */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { LRU } from "../../sealing/lru.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { telnyxUnavailable } from "../telnyx/client.ts"
import type { CarrierKeywordReplies } from "./port.ts"
import { TelnyxAutoResponse, TelnyxMessagingProfile, parseTelnyxData } from "./telnyx-schemas.ts"

const CACHE_SIZE = 10_000
/** Countries with the company's own replies; elsewhere Telnyx uses its defaults. */
const COUNTRIES = ["US", "CA"] as const
const STOP_WORDS = [
  "STOP",
  "STOPALL",
  "STOP ALL",
  "UNSUBSCRIBE",
  "CANCEL",
  "END",
  "QUIT",
  "REVOKE",
  "OPTOUT",
  "OPT OUT",
]
/** Without YES, which would reply to everyone who answers a question with YES. */
const START_WORDS = ["START", "UNSTOP"]
const HELP_WORDS = ["HELP", "INFO"]

export interface MessagingProfiles {
  /**
   * The id of a company's profile.
   *
   * @throws ProviderUnavailable if it cannot be read; the caller's request was not started
   */
  readonly profileIdOf: (companyId: CompanyId) => Promise<string>
  /** Reads the profile from Telnyx on the next use. */
  readonly invalidate: (companyId: CompanyId) => void
  readonly setKeywordReplies: (replies: CarrierKeywordReplies) => Promise<void>
  /** Deletes a company's profile with its replies and its opt-out list. */
  readonly remove: (companyId: CompanyId) => Promise<void>
}

/**
 * Opens the profiles. `webhookUrl` is the address for incoming texts. Calls throw
 * ProviderUnavailable; `setKeywordReplies` also ProviderOutcomeUnknown.
 */
export function openMessagingProfiles(
  telnyx: TelnyxClient,
  webhookUrl: () => string,
): MessagingProfiles {
  const cache = new LRU<CompanyId, string>(CACHE_SIZE)
  const profileIdOf = async (companyId: CompanyId): Promise<string> => {
    const cached = cache.get(companyId)
    if (cached !== undefined) return cached
    try {
      const id = await ensureProfile(telnyx, companyId, webhookUrl())
      cache.set(companyId, id)
      return id
    } catch (error) {
      // A profile whose creation had an unknown outcome is found by name later; the caller's
      // request was not started.
      if (!(error instanceof ProviderOutcomeUnknown)) throw error
      throw new ProviderUnavailable("Telnyx did not confirm the company's messaging profile", {
        cause: error,
      })
    }
  }
  return {
    profileIdOf,
    invalidate: (companyId) => cache.delete(companyId),
    setKeywordReplies: async (replies) =>
      setKeywordReplies(telnyx, await profileIdOf(replies.companyId), replies),
    remove: async (companyId) => {
      cache.delete(companyId)
      for (const { id } of await listProfiles(telnyx, companyId)) {
        const path = `/messaging_profiles/${encodeURIComponent(id)}`
        const removed = await telnyx.request({ method: "DELETE", path })
        if (removed.outcome === "done" || removed.status === 404) continue
        throw telnyxUnavailable("the deletion of a profile", removed)
      }
    },
  }
}

/** Finds or creates a company's profile and updates its webhook address. */
async function ensureProfile(
  telnyx: TelnyxClient,
  companyId: CompanyId,
  webhookUrl: string,
): Promise<string> {
  const found =
    (await findProfile(telnyx, companyId)) ?? (await createProfile(telnyx, companyId, webhookUrl))
  if (found.webhook_url !== webhookUrl) {
    const path = `/messaging_profiles/${encodeURIComponent(found.id)}`
    const body = { webhook_url: webhookUrl }
    const changed = await telnyx.request({ method: "PATCH", path, body })
    if (changed.outcome === "refused") throw telnyxUnavailable("a change of a profile", changed)
  }
  return found.id
}

/** If two were created concurrently, everyone uses the older one. */
async function findProfile(
  telnyx: TelnyxClient,
  companyId: CompanyId,
): Promise<TelnyxMessagingProfile | null> {
  return (await listProfiles(telnyx, companyId))[0] ?? null
}

/** All profiles of a company, oldest first. */
async function listProfiles(
  telnyx: TelnyxClient,
  companyId: CompanyId,
): Promise<readonly TelnyxMessagingProfile[]> {
  const query = { "filter[name][eq]": companyId, "page[size]": "50" }
  const listed = await telnyx.request({ method: "GET", path: "/messaging_profiles", query })
  if (listed.outcome === "refused") throw telnyxUnavailable("the request for profiles", listed)
  const ours = parseTelnyxData(z.array(TelnyxMessagingProfile), listed.value).filter(
    ({ name }) => name === companyId,
  )
  const key = ({ created_at, id }: TelnyxMessagingProfile) => `${created_at ?? ""} ${id}`
  return ours.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

type TelnyxMessagingProfile = z.infer<typeof TelnyxMessagingProfile>

async function createProfile(
  telnyx: TelnyxClient,
  companyId: CompanyId,
  webhookUrl: string,
): Promise<TelnyxMessagingProfile> {
  const body = {
    name: companyId,
    enabled: true,
    webhook_api_version: "2",
    webhook_url: webhookUrl,
    // The company's stream decides which destinations are allowed.
    whitelisted_destinations: ["*"],
    // Otherwise the number of segments would differ from the charged ones.
    smart_encoding: false,
    mms_fall_back_to_sms: false,
  }
  const created = await telnyx.request({ method: "POST", path: "/messaging_profiles", body })
  if (created.outcome === "refused") throw telnyxUnavailable("a new profile", created)
  const one = parseTelnyxData(TelnyxMessagingProfile, created.value)
  return (await findProfile(telnyx, companyId)) ?? { ...one, webhook_url: webhookUrl }
}

/** Sets the carrier's automatic replies and their keywords. */
async function setKeywordReplies(
  telnyx: TelnyxClient,
  profile: string,
  replies: CarrierKeywordReplies,
): Promise<void> {
  const path = `/messaging_profiles/${encodeURIComponent(profile)}/autoresp_configs`
  const listed = await telnyx.request({ method: "GET", path })
  if (listed.outcome === "refused")
    throw telnyxUnavailable("the request for automatic replies", listed)
  const existing = parseTelnyxData(z.array(TelnyxAutoResponse), listed.value)
  const stop = [...STOP_WORDS, ...replies.extraOptOutWords]
  const autoResponses = [
    { op: "stop", keywords: stop, resp_text: replies.optOutReply },
    { op: "start", keywords: START_WORDS, resp_text: replies.optInReply },
    { op: "info", keywords: HELP_WORDS, resp_text: replies.helpReply },
  ]
  for (const country of COUNTRIES) {
    for (const one of autoResponses) {
      const known = existing.find(
        ({ op, country_code }) => op === one.op && country_code === country,
      )
      const body = { ...one, country_code: country }
      const set = await telnyx.request(
        known === undefined
          ? { method: "POST", path, body }
          : { method: "PUT", path: `${path}/${encodeURIComponent(known.id)}`, body },
      )
      if (set.outcome === "refused") throw telnyxUnavailable("a change of an automatic reply", set)
    }
  }
}
