/** What carriers said, sealed: it may repeat what a person wrote. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** So much of what carriers say is kept: so many sentences, of so many characters. */
const MAX_REASONS = 20
const MAX_CHARACTERS = 1_000

/** Reasons as they are stored. */
export function sealReasons(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  reasons: readonly string[],
): Promise<readonly SealedText[]> {
  const kept = reasons.slice(0, MAX_REASONS).map((one) => one.slice(0, MAX_CHARACTERS))
  return Promise.all(
    kept.map((one) => sealing.seal(companyId, COMPANY_SUBJECT, one.toWellFormed())),
  )
}

/** Reasons as they are shown; without those that were erased. */
export async function unsealReasons(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  reasons: readonly SealedText[],
): Promise<readonly string[]> {
  const opened = await Promise.all(reasons.map((one) => sealing.unseal(companyId, one)))
  return opened.filter((one) => one !== null)
}
