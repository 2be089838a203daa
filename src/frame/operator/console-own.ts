/** What of a company is somebody's own, where they do something in its console. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { findKey } from "../../../domain/access/access.ts"
import { parseKeyId } from "../../../domain/kernel/ids.ts"
import type { RateLimit } from "../routes/checks/rate-limits.ts"
import type { Asking } from "./console-word.ts"

/** Whether a key is theirs. */
export async function isOwnKey(
  { ports, companyId, me }: Asking<unknown>,
  named: string | undefined,
): Promise<boolean> {
  const keyId = parseKeyId(named ?? "")
  if (keyId === null) return false
  const key = await ports.runner.readLatest(accessOf(companyId), (state) => findKey(state, keyId))
  return key?.personId === me.personId
}

/** The input, where the key that it names is theirs. */
export async function ofOwnKey<I extends { readonly key?: string | undefined }>(
  asking: Asking<I>,
): Promise<I | null> {
  return (await isOwnKey(asking, asking.input.key)) ? asking.input : null
}

/** How often somebody has whole histories and bills written. */
export const FILES_WRITTEN: RateLimit = {
  ...{ name: "console files", most: 6, per: "key" },
  calls: "files by this person",
}
