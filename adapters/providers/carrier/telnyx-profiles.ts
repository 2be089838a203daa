/**
 * The messaging profiles: a company has one, named by its id, which is the scope of what the carrier blocks
 * by itself. It is made when it is needed first, and known by its name from then on.
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
/** Where the company's own replies are said; elsewhere Telnyx says its own. */
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
/** Never YES: it would answer everybody who replies YES to a question. */
const START_WORDS = ["START", "UNSTOP"]
const HELP_WORDS = ["HELP", "INFO"]

/** The messaging profiles of companies. */
export interface MessagingProfiles {
  /**
   * The id of a company's profile.
   *
   * @throws ProviderUnavailable where it cannot be told: whatever it was asked for was not begun
   */
  readonly profileIdOf: (companyId: CompanyId) => Promise<string>
  /** Looks it up anew the next time. */
  readonly invalidate: (companyId: CompanyId) => void
  readonly setKeywordReplies: (replies: CarrierKeywordReplies) => Promise<void>
  /** Deletes a company's profile, and with it its replies and whom it blocks. */
  readonly remove: (companyId: CompanyId) => Promise<void>
}

/**
 * Opens them. `webhookUrl` is where texts are told of that come in. Their calls throw ProviderUnavailable,
 * and to set replies ProviderOutcomeUnknown too.
 */
export function openMessagingProfiles(
  telnyx: TelnyxClient,
  webhookUrl: () => string,
): MessagingProfiles {
  const known = new LRU<CompanyId, string>(CACHE_SIZE)
  const profileIdOf = async (companyId: CompanyId): Promise<string> => {
    const remembered = known.get(companyId)
    if (remembered !== undefined) return remembered
    try {
      const made = await ensureProfile(telnyx, companyId, webhookUrl())
      known.set(companyId, made)
      return made
    } catch (error) {
      // A profile that was made without a word is found by its name; what it was for was not begun.
      if (!(error instanceof ProviderOutcomeUnknown)) throw error
      throw new ProviderUnavailable("Telnyx did not tell the company's profile", { cause: error })
    }
  }
  return {
    profileIdOf,
    invalidate: (companyId) => known.delete(companyId),
    setKeywordReplies: async (replies) =>
      setKeywordReplies(telnyx, await profileIdOf(replies.companyId), replies),
    remove: async (companyId) => {
      known.delete(companyId)
      for (const { id } of await listProfiles(telnyx, companyId)) {
        const path = `/messaging_profiles/${encodeURIComponent(id)}`
        const removed = await telnyx.request({ method: "DELETE", path })
        if (removed.outcome === "done" || removed.status === 404) continue
        throw telnyxUnavailable("the end of a profile", removed)
      }
    },
  }
}

/** The profile of a company; made where there is none, told of our address where it knows another. */
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

/** Of two that were made at once, all take the older one. */
async function findProfile(
  telnyx: TelnyxClient,
  companyId: CompanyId,
): Promise<TelnyxMessagingProfile | null> {
  return (await listProfiles(telnyx, companyId))[0] ?? null
}

/** All of a company's, the oldest first. */
async function listProfiles(
  telnyx: TelnyxClient,
  companyId: CompanyId,
): Promise<readonly TelnyxMessagingProfile[]> {
  const query = { "filter[name][eq]": companyId, "page[size]": "50" }
  const listed = await telnyx.request({ method: "GET", path: "/messaging_profiles", query })
  if (listed.outcome === "refused") throw telnyxUnavailable("a look at the profiles", listed)
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
    // Whom a company may text is decided here, in its own stream.
    whitelisted_destinations: ["*"],
    // Else their segments are not those that are charged.
    smart_encoding: false,
    mms_fall_back_to_sms: false,
  }
  const made = await telnyx.request({ method: "POST", path: "/messaging_profiles", body })
  if (made.outcome === "refused") throw telnyxUnavailable("a new profile", made)
  const one = parseTelnyxData(TelnyxMessagingProfile, made.value)
  return (await findProfile(telnyx, companyId)) ?? { ...one, webhook_url: webhookUrl }
}

/** Has the carrier's own replies say what the company's do, by words that each is said to. */
async function setKeywordReplies(
  telnyx: TelnyxClient,
  profile: string,
  replies: CarrierKeywordReplies,
): Promise<void> {
  const path = `/messaging_profiles/${encodeURIComponent(profile)}/autoresp_configs`
  const listed = await telnyx.request({ method: "GET", path })
  if (listed.outcome === "refused") throw telnyxUnavailable("a look at the replies", listed)
  const there = parseTelnyxData(z.array(TelnyxAutoResponse), listed.value)
  const stop = [...STOP_WORDS, ...replies.extraOptOutWords]
  const wanted = [
    { op: "stop", keywords: stop, resp_text: replies.optOutReply },
    { op: "start", keywords: START_WORDS, resp_text: replies.optInReply },
    { op: "info", keywords: HELP_WORDS, resp_text: replies.helpReply },
  ]
  for (const country of COUNTRIES) {
    for (const one of wanted) {
      const known = there.find(({ op, country_code }) => op === one.op && country_code === country)
      const body = { ...one, country_code: country }
      const set = await telnyx.request(
        known === undefined
          ? { method: "POST", path, body }
          : { method: "PUT", path: `${path}/${encodeURIComponent(known.id)}`, body },
      )
      if (set.outcome === "refused") throw telnyxUnavailable("a reply to keywords", set)
    }
  }
}
