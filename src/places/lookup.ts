/** What both look-ups share: the words of their bodies, sessions, and what is logged. */
import { createHmac } from "node:crypto"
import type { PlaceLookup, PlacesProvider } from "../../adapters/providers/places/port.ts"
import { PlacesMisconfigured } from "../../adapters/providers/places/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { isBlank, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** As sentences call whoever is asked. */
export const ADDRESS_PROVIDER_LABEL = "the address provider"

const NO_CONTROLS = "Must not contain control characters."

/** A line of text: something else than spaces, no control characters. */
const lineOfText = (most: number) =>
  boundedText(most)
    .refine((value) => !/\p{Cc}/u.test(value), NO_CONTROLS)
    .refine((value) => !isBlank(value), "Must not be empty.")

/** What was typed so far. */
export const typedInputSchema = lineOfText(200).describe(
  "What was typed so far, up to 200 characters",
)
/** What is asked for of a suggestion. */
export const placeIdSchema = lineOfText(1_000).describe("The `placeId` of a suggestion")
/** One pick with the suggestions that lead to it. */
export const sessionTokenSchema = lineOfText(100)
  .refine((value) => [...value].length >= 8, "Must be at least 8 characters.")
  .meta({
    description: "A name of yours for one pick with its suggestions: 8 to 100 characters",
    minLength: 8,
  })

/** How many picks a session of ours has had: a provider's own is over with its pick. */
interface Session {
  readonly picks: number
}

const SESSION_TTL_MS = 3_600_000

const sessionRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<Session>({ slice: "places", kind: "session" })

/** The session at the provider, told apart by company; nothing of the caller's own token goes out. */
export async function lookupForSession(
  ports: Pick<Ports, "ttlStore" | "places" | "sealing">,
  companyId: CompanyId,
  token: string,
): Promise<PlaceLookup> {
  const name = await ports.sealing.tag(companyId, `places session ${token}`)
  const isCounted = ports.places.hasSessions
  const known = isCounted ? await sessionRecords(ports).find(companyId, name) : null
  const bytes = createHmac("sha256", name)
    .update(String(known?.content.picks ?? 0))
    .digest("hex")
  // The form of a UUID of version 4.
  const [a, b, c, d] = [
    bytes.slice(0, 8),
    bytes.slice(8, 12),
    bytes.slice(13, 16),
    bytes.slice(17, 20),
  ]
  return { companyId, session: `${a}-${b}-4${c}-8${d}-${bytes.slice(20, 32)}` }
}

/** Notes that a session's pick was asked for: the next suggestions are of a new one at the provider. */
export async function endSession(
  ports: Pick<Ports, "clock" | "ttlStore" | "places" | "sealing">,
  companyId: CompanyId,
  token: string,
): Promise<void> {
  if (!ports.places.hasSessions) return
  const name = await ports.sealing.tag(companyId, `places session ${token}`)
  const expiresAt = ports.clock.now() + SESSION_TTL_MS
  await sessionRecords(ports).update(companyId, name, (known) => ({
    content: { picks: (known?.content.picks ?? 0) + 1 },
    expiresAt,
  }))
}

/** Asks the provider; what only the operator can mend is told to the log. */
export async function askProvider<T>(
  { places, log }: Pick<Ports, "places" | "log">,
  ask: (places: PlacesProvider) => Promise<T>,
): Promise<T> {
  try {
    return await ask(places)
  } catch (error) {
    if (error instanceof PlacesMisconfigured) log.warn("addresses cannot be looked up", error)
    throw error
  }
}
