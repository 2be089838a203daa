/**
 * Picks: each is looked up once for a company, a session and a place, and its address is kept for a day.
 * Whoever takes a pick first looks it up, and is known by the charge for it. What a crash leaves is a pick
 * that nobody ends: once its lease is over the next caller takes it.
 */
import type { KeptThing } from "../../adapters/postgres/ttl-store/port.ts"
import type { Address } from "../../adapters/providers/places/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { ChargeId, CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { placesSettings } from "./settings.ts"

/** What the ids of picks begin with, and so what their charges name. */
export const PICK_PREFIX = "pick"

/** Longer than all time-outs of a look-up together. It goes by the store's own time, which no test clock moves. */
const LEASE_MS = 30_000
/** It is known so long whose a pick was: for who takes it next, and for how its charge ends. */
const KNOWN_MS = 7 * 86_400_000

/** A pick of a company, by its id. */
export interface PickedPlace {
  readonly companyId: CompanyId
  readonly pickId: string
}

/** What is known of a pick: who looks it up and until when, or whose charge paid for its address. */
type Content =
  | { readonly state: "loading"; readonly chargeId: ChargeId; readonly leasedTo: number }
  | { readonly state: "kept"; readonly chargeId: ChargeId }

/** The address of a pick, by the charge that paid for it; its own time is over before the pick's. */
interface Found {
  readonly address: Sealed
}

/** How a pick stands for whoever asks for it. */
export type Taken =
  /** It is the asker's to look up; `former` had it and never said what came of it. */
  | { readonly state: "mine"; readonly former: ChargeId | null }
  | { readonly state: "loading" }
  /** Null: there is no such place. */
  | { readonly state: "kept"; readonly address: Address | null }

const picksIn = ({ kept }: Pick<Ports, "kept">) =>
  kept.of<Content>({ slice: "places", kind: "pick" })
const foundIn = ({ kept }: Pick<Ports, "kept">) =>
  kept.of<Found>({ slice: "places", kind: "address" })

/** The pick of a place in a session. */
export async function pickOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { sessionToken, placeId }: { readonly sessionToken: string; readonly placeId: string },
): Promise<PickedPlace> {
  const tag = await sealing.tag(companyId, JSON.stringify(["pick", sessionToken, placeId]))
  return { companyId, pickId: derivedId(PICK_PREFIX, companyId, tag) }
}

/** Takes a pick that nobody has, for the charge that is about to be made; or finds its address. */
export async function take(
  ports: Pick<Ports, "clock" | "kept" | "sealing">,
  pick: PickedPlace,
  chargeId: ChargeId,
): Promise<Taken> {
  const { companyId, pickId } = pick
  const now = ports.clock.now()
  const mineAt = (realNow: number): KeptThing<Content> => ({
    content: { state: "loading", chargeId, leasedTo: realNow + LEASE_MS },
    until: now + KNOWN_MS,
  })
  let isOver: ChargeId | null = null
  for (;;) {
    let former: ChargeId | null = null
    const { content } = await picksIn(ports).change(companyId, pickId, (known, realNow) => {
      const isFree = known === null || isLapsed(known, realNow) || known.content.chargeId === isOver
      former = isFree && known?.content.state === "loading" ? known.content.chargeId : null
      return isFree ? mineAt(realNow) : known
    })
    if (content.chargeId === chargeId) return { state: "mine", former }
    if (content.state === "loading") return { state: "loading" }
    const found = await foundIn(ports).find(companyId, content.chargeId)
    if (found !== null) return { state: "kept", address: await opened(ports, companyId, found) }
    // It was kept for its time: the pick may be looked up anew.
    isOver = content.chargeId
  }
}

async function opened(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { content }: KeptThing<Found>,
): Promise<Address | null> {
  const text = await sealing.open(companyId, content.address)
  return text === null ? null : (JSON.parse(text) as Address | null)
}

/** Keeps the address of a pick; false where the pick was taken by somebody else meanwhile. */
export async function keep(
  ports: Pick<Ports, "clock" | "kept" | "sealing" | "settings">,
  { companyId, pickId }: PickedPlace,
  chargeId: ChargeId,
  address: Address | null,
): Promise<boolean> {
  const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(address))
  const now = ports.clock.now()
  const until = now + ports.settings(placesSettings).PLACES_KEEP
  // Before the pick says that it is there.
  await foundIn(ports).change(companyId, chargeId, () => ({ content: { address: sealed }, until }))
  const { content } = await picksIn(ports).change(companyId, pickId, (known) =>
    known?.content.state === "loading" && known.content.chargeId === chargeId
      ? { content: { state: "kept", chargeId }, until: now + KNOWN_MS }
      : (known ?? nothing(chargeId)),
  )
  return content.state === "kept" && content.chargeId === chargeId
}

/** Lets go of a pick that nothing came of; it stays where it is somebody else's by now. */
export async function letGo(
  ports: Pick<Ports, "kept">,
  { companyId, pickId }: PickedPlace,
  chargeId: ChargeId,
): Promise<void> {
  await picksIn(ports).change(companyId, pickId, (known) =>
    known === null || known.content.chargeId === chargeId ? nothing(chargeId) : known,
  )
}

/** How the pick of an open charge ended; where its lease is over, nothing can come of it any more. */
export async function endOf(
  ports: Pick<Ports, "clock" | "kept">,
  { companyId, pickId }: PickedPlace,
  chargeId: ChargeId,
): Promise<"loading" | "kept" | "nothing"> {
  const now = ports.clock.now()
  const known = await picksIn(ports).change(companyId, pickId, (was, realNow) =>
    was === null || (was.content.chargeId === chargeId && isLapsed(was, realNow))
      ? nothing(chargeId)
      : was,
  )
  const isItsOwn = known.content.chargeId === chargeId && known.until > now
  return isItsOwn ? known.content.state : "nothing"
}

/** Nothing that anybody finds. */
function nothing(chargeId: ChargeId): KeptThing<Content> {
  return { content: { state: "loading", chargeId, leasedTo: 0 }, until: 0 }
}

function isLapsed({ content }: KeptThing<Content>, realNow: number): boolean {
  return content.state === "loading" && content.leasedTo <= realNow
}
