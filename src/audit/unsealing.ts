/** Opening what a stored fact seals. */
import { parseCompanyId, parseSealed } from "../../domain/kernel/ids.ts"
import { companyOf } from "../../domain/kernel/aggregate.ts"
import type { Ports } from "../frame/ports.ts"

/** Opens what is sealed in a value, as far as the company's keys are there. */
export function opening(
  { sealing }: Pick<Ports, "sealing">,
  stream: string,
  data: Readonly<Record<string, unknown>>,
): (value: unknown) => Promise<unknown> {
  const owner = companyOf(stream) ?? parseCompanyId(String(data["companyId"]))
  const open = async (value: unknown): Promise<unknown> => {
    const sealed = typeof value === "string" ? parseSealed(value) : null
    if (sealed !== null && owner !== null) return (await sealing.open(owner, sealed)) ?? "(erased)"
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value
    const opened = Object.entries(value).map(async ([k, v]) => [k, await open(v)] as const)
    return Object.fromEntries(await Promise.all(opened))
  }
  return open
}
