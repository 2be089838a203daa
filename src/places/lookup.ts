import { createHmac } from "node:crypto"
import type { PlaceLookup, PlacesProvider } from "../../adapters/providers/places/port.ts"
import { PlacesMisconfigured } from "../../adapters/providers/places/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { isBlank, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** The provider's name in messages. */
export const ADDRESS_PROVIDER_LABEL = "the address provider"

const NO_CONTROLS = "Must not contain control characters."

/** A line of text that is not blank and has no control characters. */
const lineOfText = (limit: number) =>
  boundedText(limit)
    .refine((value) => !/\p{Cc}/u.test(value), NO_CONTROLS)
    .refine((value) => !isBlank(value), "Must not be empty.")

export const typedInputSchema = lineOfText(200).describe("The typed text, up to 200 characters")
export const placeIdSchema = lineOfText(1_000).describe("The `placeId` of a suggestion")
/** Ties suggestions to the pick that follows them. */
export const sessionTokenSchema = lineOfText(100)
  .refine((value) => [...value].length >= 8, "Must be at least 8 characters.")
  .meta({
    description: "Your name for one pick and its suggestions: 8 to 100 characters",
    minLength: 8,
  })

/** The number of picks in a session, because the provider's session ends with each pick. */
interface Session {
  readonly picks: number
}

const SESSION_TTL_MS = 3_600_000

const sessionRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<Session>({ slice: "places", kind: "session" })

/** The provider's session, separate for each company; the caller's token never leaves this service. */
export async function lookupForSession(
  ports: Pick<Ports, "ttlStore" | "places" | "sealing">,
  companyId: CompanyId,
  token: string,
): Promise<PlaceLookup> {
  const sessionTag = await ports.sealing.tag(companyId, `places session ${token}`)
  const isCounted = ports.places.hasSessions
  const known = isCounted ? await sessionRecords(ports).find(companyId, sessionTag) : null
  const bytes = createHmac("sha256", sessionTag)
    .update(String(known?.content.picks ?? 0))
    .digest("hex")
  // The form of a version 4 UUID.
  const [a, b, c, d] = [
    bytes.slice(0, 8),
    bytes.slice(8, 12),
    bytes.slice(13, 16),
    bytes.slice(17, 20),
  ]
  return { companyId, session: `${a}-${b}-4${c}-8${d}-${bytes.slice(20, 32)}` }
}

/** Counts a pick of a session, so that later suggestions use a new session at the provider. */
export async function endSession(
  ports: Pick<Ports, "clock" | "ttlStore" | "places" | "sealing">,
  companyId: CompanyId,
  token: string,
): Promise<void> {
  if (!ports.places.hasSessions) return
  const sessionTag = await ports.sealing.tag(companyId, `places session ${token}`)
  const expiresAt = ports.clock.now() + SESSION_TTL_MS
  await sessionRecords(ports).update(companyId, sessionTag, (known) => ({
    content: { picks: (known?.content.picks ?? 0) + 1 },
    expiresAt,
  }))
}

/** Calls the provider; logs faults that only an operator can fix. */
export async function askProvider<T>(
  { places, log }: Pick<Ports, "places" | "log">,
  ask: (places: PlacesProvider) => Promise<T>,
): Promise<T> {
  try {
    return await ask(places)
  } catch (error) {
    if (error instanceof PlacesMisconfigured)
      log.warn("the address provider rejects our settings, so addresses cannot be looked up", error)
    throw error
  }
}
