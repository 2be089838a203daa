/** How far a call came, and what is known of it there. */
import type { OpenBody } from "./body.ts"
import type { Call } from "./call.ts"
import type { Asked } from "./answers/faults.ts"
import type { Known } from "./checks/1-caller.ts"
import type { Caller, Checked } from "./declare/route.ts"

/** What is known of a call where it ends. */
export interface Progress {
  asked: Asked
  caller: Caller | null
  chargeId: string | null
  readonly body: OpenBody
  readonly onward: Checked["onward"]
}

/** A call whose caller is known. */
export interface Let extends Known {
  readonly progress: Progress
  readonly call: Call
}

/** What a handler is given of a call beside its values. */
export function aroundOf({ call, progress: { onward } }: Pick<Let, "call" | "progress">) {
  const { gone, stopping } = call
  return { gone, stopping, sent: call, onward }
}
