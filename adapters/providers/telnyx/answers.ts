/** What an answer of Telnyx comes to, whatever was asked. */
import type { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { TelnyxAnswer } from "./client.ts"

/** Whoever hears these has no account that may do this just now: it is no answer about a thing. */
const OF_THE_ACCOUNT: ReadonlySet<number> = new Set([401, 402, 403])

/** A refusal. */
export type Refused = Extract<TelnyxAnswer, { readonly is: "refused" }>

/**
 * Whether a refusal of this status says nothing of what was asked: the key, the funds or the address are
 * wrong, which an operator can mend.
 */
export function isOfAccount({ status }: Refused): boolean {
  return OF_THE_ACCOUNT.has(status) || status < 400
}

/** What is thrown where a refusal is no answer: nothing was done. */
export function notDone(what: string, { status, code }: Refused): ProviderUnavailable {
  const named = code === null ? "" : ` with ${code}`
  return new ProviderUnavailable(`Telnyx answered ${status}${named} to ${what}`)
}

/**
 * The parts of an answer that are read.
 *
 * @throws ProviderSilent where it has another form: whoever cannot read an answer has none
 */
export function readAs<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value)
  if (!read.success) throw new ProviderSilent("Telnyx answered what nobody can read")
  return read.data
}
