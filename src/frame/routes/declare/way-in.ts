/** Another way to the API than by a key: the same routes, below a path of its own, for somebody known otherwise. */
import type { Ports } from "../../ports.ts"
import type { AsSent } from "../as-sent.ts"
import type { Who } from "../call.ts"
import type { Refusal } from "../answers/refusal.ts"

/** A call on its way in, before its route is looked at. */
export interface Entering extends AsSent {
  readonly method: string
  /** What stands at the `:names` of the way's path, decoded. */
  readonly params: Readonly<Record<string, string>>
}

/** A way in. */
export interface WayIn {
  /** What stands before the path of each route: `/console/:company`. */
  readonly at: string
  /** Who calls; the refusal of whoever is nobody, or may not come from where they come. */
  readonly who: (ports: Ports, entering: Entering) => Promise<Who | Refusal>
}
