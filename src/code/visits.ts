/**
 * Who has asked for the refs, and was counted for it: what follows up to the pack is the same clone, fetch or
 * push, and is not counted again. Each visit is for one pack, so that no more of them are sent than calls are
 * counted; who asks for two at once is counted for two.
 */
import type { PackCommand } from "../../adapters/git/port.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"

const FOR_MS = 10 * 60_000

/** How many visits of a key have not come to a pack yet. */
interface Visits {
  readonly open: number
}

const visits = ({ kept }: Pick<Ports, "kept">) => kept.of<Visits>({ slice: "code", kind: "visit" })

const nameOf = ({ key }: Caller, service: PackCommand): string => `${key?.keyId ?? "-"} ${service}`

/** Notes that somebody has come, or that what they asked for did not come to a pack yet. */
export async function noteVisit(
  ports: Pick<Ports, "clock" | "kept">,
  caller: Caller,
  service: PackCommand,
): Promise<void> {
  const until = ports.clock.now() + FOR_MS
  await visits(ports).change(caller.companyId, nameOf(caller, service), (known) => ({
    content: { open: (known?.content.open ?? 0) + 1 },
    until,
  }))
}

/** Goes on with a visit, where there is one: nobody else does meanwhile. Whether there is. */
export async function goOnWith(
  ports: Pick<Ports, "clock" | "kept">,
  caller: Caller,
  service: PackCommand,
): Promise<boolean> {
  const name = nameOf(caller, service)
  if ((await visits(ports).find(caller.companyId, name)) === null) return false
  let isOne = false
  await visits(ports).change(caller.companyId, name, (known) => {
    isOne = known !== null && known.content.open > 0
    const open = Math.max(0, (known?.content.open ?? 0) - 1)
    return { content: { open }, until: known?.until ?? ports.clock.now() + FOR_MS }
  })
  return isOne
}
