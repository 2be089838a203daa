/**
 * A pick is looked up once and stored for a day. Its charge claims it; after a crash the next request may claim
 * it.
 */
import type { TtlRecord } from "../../adapters/postgres/ttl-store/port.ts"
import type { PlaceAddress } from "../../adapters/providers/places/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { ChargeId, CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { placesSettings } from "./settings.ts"

/** Prefix of pick ids, and so of their charges. */
export const PICK_PREFIX = "pick"

/** Longer than all timeouts of a lookup; measured by the store's clock, which test clocks do not move. */
const LEASE_MS = 30_000
/** How long a pick is remembered, for the next request and for reconciling its charge. */
const KNOWN_MS = 7 * 86_400_000

export interface PickReference {
  readonly companyId: CompanyId
  readonly pickId: string
}

/** The state of a pick: claimed until a time, or looked up. */
type PickContent =
  | { readonly state: "loading"; readonly chargeId: ChargeId; readonly leasedTo: number }
  | { readonly state: "kept"; readonly chargeId: ChargeId }

/** The address of a pick, stored under its charge; it expires before the pick. */
interface StoredAddress {
  readonly address: SealedText
}

export type PickClaim =
  /** This request must look it up; `previousChargeId` is the charge of a lookup that never ended. */
  | { readonly state: "claimed"; readonly previousChargeId: ChargeId | null }
  | { readonly state: "loading" }
  /** Null if the place does not exist. */
  | { readonly state: "kept"; readonly address: PlaceAddress | null }

const pickRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<PickContent>({ slice: "places", kind: "pick" })
const addressRecords = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<StoredAddress>({ slice: "places", kind: "address" })

/** The reference of a place in a session. */
export async function pickOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { sessionToken, placeId }: { readonly sessionToken: string; readonly placeId: string },
): Promise<PickReference> {
  const tag = await sealing.tag(companyId, JSON.stringify(["pick", sessionToken, placeId]))
  return { companyId, pickId: derivedId(PICK_PREFIX, companyId, tag) }
}

/** Claims an unclaimed pick for the charge that is about to be made, or returns its address. */
export async function claimPick(
  ports: Pick<Ports, "clock" | "ttlStore" | "sealing">,
  pick: PickReference,
  chargeId: ChargeId,
): Promise<PickClaim> {
  const { companyId, pickId } = pick
  const now = ports.clock.now()
  const claimedAt = (realNow: number): TtlRecord<PickContent> => ({
    content: { state: "loading", chargeId, leasedTo: realNow + LEASE_MS },
    expiresAt: now + KNOWN_MS,
  })
  let expiredChargeId: ChargeId | null = null
  for (;;) {
    let previousChargeId: ChargeId | null = null
    const { content } = await pickRecords(ports).update(companyId, pickId, (known, realNow) => {
      const isUnclaimed =
        known === null ||
        isLeaseExpired(known, realNow) ||
        known.content.chargeId === expiredChargeId
      previousChargeId =
        isUnclaimed && known?.content.state === "loading" ? known.content.chargeId : null
      return isUnclaimed ? claimedAt(realNow) : known
    })
    if (content.chargeId === chargeId) return { state: "claimed", previousChargeId }
    if (content.state === "loading") return { state: "loading" }
    const found = await addressRecords(ports).find(companyId, content.chargeId)
    if (found !== null)
      return { state: "kept", address: await unsealAddress(ports, companyId, found) }
    // The address has expired: the pick may be looked up again.
    expiredChargeId = content.chargeId
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

/** Stores the address of a pick; false if another request has claimed the pick in the meantime. */
export async function storePickAddress(
  ports: Pick<Ports, "clock" | "ttlStore" | "sealing" | "settings">,
  { companyId, pickId }: PickReference,
  chargeId: ChargeId,
  address: PlaceAddress | null,
): Promise<boolean> {
  const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(address))
  const now = ports.clock.now()
  const expiresAt = now + ports.settings(placesSettings).PLACES_KEEP
  // Stored before the pick refers to it.
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

/** Releases a pick whose lookup failed, unless another request has claimed it. */
export async function releasePick(
  ports: Pick<Ports, "ttlStore">,
  { companyId, pickId }: PickReference,
  chargeId: ChargeId,
): Promise<void> {
  await pickRecords(ports).update(companyId, pickId, (known) =>
    known === null || known.content.chargeId === chargeId ? emptyPick(chargeId) : known,
  )
}

/** The state of a pending charge's pick; a pick with an expired lease can no longer end. */
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
  const isClaimed = known.content.chargeId === chargeId && known.expiresAt > now
  return isClaimed ? known.content.state : "nothing"
}

/** An empty record, which reads as missing. */
function emptyPick(chargeId: ChargeId): TtlRecord<PickContent> {
  return { content: { state: "loading", chargeId, leasedTo: 0 }, expiresAt: 0 }
}

function isLeaseExpired({ content }: TtlRecord<PickContent>, realNow: number): boolean {
  return content.state === "loading" && content.leasedTo <= realNow
}
