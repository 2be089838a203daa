/**
 * Picks: each is looked up once for a company, a session and a place, and its address is kept for a day.
 * Whoever takes a pick first looks it up, and is known by the charge for it. What a crash leaves is a pick
 * that nobody ends: once its lease is over the next caller takes it.
 */
import type { TtlRecord } from "../../adapters/postgres/ttl-store/port.ts"
import type { PlaceAddress } from "../../adapters/providers/places/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { ChargeId, CompanyId, SealedText } from "../../domain/kernel/ids.ts"
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
export interface PickReference {
  readonly companyId: CompanyId
  readonly pickId: string
}

/** What is known of a pick: who looks it up and until when, or whose charge paid for its address. */
type PickContent =
  | { readonly state: "loading"; readonly chargeId: ChargeId; readonly leasedTo: number }
  | { readonly state: "kept"; readonly chargeId: ChargeId }

/** The address of a pick, by the charge that paid for it; its own time is over before the pick's. */
interface StoredAddress {
  readonly address: SealedText
}

/** How a pick stands for whoever asks for it. */
export type PickClaim =
  /** It is the asker's to look up; `former` had it and never said what came of it. */
  | { readonly state: "mine"; readonly previousChargeId: ChargeId | null }
  | { readonly state: "loading" }
  /** Null: there is no such place. */
  | { readonly state: "kept"; readonly address: PlaceAddress | null }

const pickRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<PickContent>({ slice: "places", kind: "pick" })
const addressRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<StoredAddress>({ slice: "places", kind: "address" })

/** The pick of a place in a session. */
export async function pickOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { sessionToken, placeId }: { readonly sessionToken: string; readonly placeId: string },
): Promise<PickReference> {
  const tag = await sealing.tag(companyId, JSON.stringify(["pick", sessionToken, placeId]))
  return { companyId, pickId: derivedId(PICK_PREFIX, companyId, tag) }
}

/** Takes a pick that nobody has, for the charge that is about to be made; or finds its address. */
export async function claimPick(
  ports: Pick<Ports, "clock" | "ttlStore" | "sealing">,
  pick: PickReference,
  chargeId: ChargeId,
): Promise<PickClaim> {
  const { companyId, pickId } = pick
  const now = ports.clock.now()
  const mineAt = (realNow: number): TtlRecord<PickContent> => ({
    content: { state: "loading", chargeId, leasedTo: realNow + LEASE_MS },
    expiresAt: now + KNOWN_MS,
  })
  let isOver: ChargeId | null = null
  for (;;) {
    let previousChargeId: ChargeId | null = null
    const { content } = await pickRecords(ports).update(companyId, pickId, (known, realNow) => {
      const isFree =
        known === null || isLeaseExpired(known, realNow) || known.content.chargeId === isOver
      previousChargeId =
        isFree && known?.content.state === "loading" ? known.content.chargeId : null
      return isFree ? mineAt(realNow) : known
    })
    if (content.chargeId === chargeId) return { state: "mine", previousChargeId }
    if (content.state === "loading") return { state: "loading" }
    const found = await addressRecords(ports).find(companyId, content.chargeId)
    if (found !== null)
      return { state: "kept", address: await unsealAddress(ports, companyId, found) }
    // It was kept for its time: the pick may be looked up anew.
    isOver = content.chargeId
  }
}

async function unsealAddress(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { content }: TtlRecord<StoredAddress>,
): Promise<PlaceAddress | null> {
  const text = await sealing.unseal(companyId, content.address)
  return text === null ? null : (JSON.parse(text) as PlaceAddress | null)
}

/** Keeps the address of a pick; false where the pick was taken by somebody else meanwhile. */
export async function storePickAddress(
  ports: Pick<Ports, "clock" | "ttlStore" | "sealing" | "settings">,
  { companyId, pickId }: PickReference,
  chargeId: ChargeId,
  address: PlaceAddress | null,
): Promise<boolean> {
  const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(address))
  const now = ports.clock.now()
  const expiresAt = now + ports.settings(placesSettings).PLACES_KEEP
  // Before the pick says that it is there.
  await addressRecords(ports).update(companyId, chargeId, () => ({
    content: { address: sealed },
    expiresAt,
  }))
  const { content } = await pickRecords(ports).update(companyId, pickId, (known) =>
    known?.content.state === "loading" && known.content.chargeId === chargeId
      ? { content: { state: "kept", chargeId }, expiresAt: now + KNOWN_MS }
      : (known ?? emptyPick(chargeId)),
  )
  return content.state === "kept" && content.chargeId === chargeId
}

/** Lets go of a pick that nothing came of; it stays where it is somebody else's by now. */
export async function releasePick(
  ports: Pick<Ports, "ttlStore">,
  { companyId, pickId }: PickReference,
  chargeId: ChargeId,
): Promise<void> {
  await pickRecords(ports).update(companyId, pickId, (known) =>
    known === null || known.content.chargeId === chargeId ? emptyPick(chargeId) : known,
  )
}

/** How the pick of an open charge ended; where its lease is over, nothing can come of it any more. */
export async function endPick(
  ports: Pick<Ports, "clock" | "ttlStore">,
  { companyId, pickId }: PickReference,
  chargeId: ChargeId,
): Promise<"loading" | "kept" | "nothing"> {
  const now = ports.clock.now()
  const known = await pickRecords(ports).update(companyId, pickId, (was, realNow) =>
    was === null || (was.content.chargeId === chargeId && isLeaseExpired(was, realNow))
      ? emptyPick(chargeId)
      : was,
  )
  const isItsOwn = known.content.chargeId === chargeId && known.expiresAt > now
  return isItsOwn ? known.content.state : "nothing"
}

/** Nothing that anybody finds. */
function emptyPick(chargeId: ChargeId): TtlRecord<PickContent> {
  return { content: { state: "loading", chargeId, leasedTo: 0 }, expiresAt: 0 }
}

function isLeaseExpired({ content }: TtlRecord<PickContent>, realNow: number): boolean {
  return content.state === "loading" && content.leasedTo <= realNow
}
