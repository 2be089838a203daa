import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** Limits of the stored reasons: count, and characters of each. */
const MAX_REASONS = 20
const MAX_CHARACTERS = 1_000

/** Seals reasons for storage, because they may repeat personal text. */
export function sealReasons(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  reasons: readonly string[],
): Promise<readonly SealedText[]> {
  const truncated = reasons.slice(0, MAX_REASONS).map((reason) => reason.slice(0, MAX_CHARACTERS))
  return Promise.all(
    truncated.map((reason) => sealing.seal(companyId, COMPANY_SUBJECT, reason.toWellFormed())),
  )
}

/** Unseals reasons, without erased ones. */
export async function unsealReasons(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  reasons: readonly SealedText[],
): Promise<readonly string[]> {
  const unsealed = await Promise.all(reasons.map((reason) => sealing.unseal(companyId, reason)))
  return unsealed.filter((reason) => reason !== null)
}
