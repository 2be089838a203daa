/** Takes code in that comes as a file and not over the wire: judged as a push is, and told of by the same facts. */
import type { Push } from "../../adapters/git/port.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import type { Ports } from "../frame/ports.ts"
import { cleanings, judgePush, landed } from "./push-checks.ts"
import type { Pusher } from "./pusher.ts"

/** What became of it: the push that it was (null where it had nothing new), or why not. */
export type TakenIn =
  | { readonly ok: true; readonly pushId: PushId | null }
  | { readonly ok: false; readonly lines: readonly string[] }

/**
 * Takes a bundle in.
 *
 * @param isNothing whether what it brings is not worth a commit; it is then left, with no fact
 * @throws what the repositories and the checks throw
 */
export async function takeIn(
  ports: Pick<Ports, "counts" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  bundle: AsyncIterable<Uint8Array>,
  isNothing: (push: Push) => Promise<boolean> = async () => false,
): Promise<TakenIn> {
  const before = await cleanings(ports, pusher)
  let pushId: PushId | null = null
  let isLeft = false
  const verdict = await ports.repositories.importBundle(pusher.companyId, bundle, async (push) => {
    isLeft = await isNothing(push)
    if (isLeft) return { ok: false, lines: ["There is nothing new in it."] }
    const judged = await judgePush(ports, pusher, push, before)
    if (judged.ok) ({ pushId } = judged)
    return judged.ok ? { ok: true } : judged
  })
  // Also where git took nothing of it after a yes: the refs say so.
  if (pushId !== null) await landed(ports, pusher, pushId)
  if (isLeft) return { ok: true, pushId: null }
  return verdict.ok ? { ok: true, pushId } : { ok: false, lines: verdict.lines }
}
