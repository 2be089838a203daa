/** The API's document with its references followed, for tests that look at a schema as a whole. */

/** A part of a document in which every reference has become what it leads to; none leads to itself. */
export function inlined<T>(part: T, root: object): T {
  if (Array.isArray(part)) return part.map((one: unknown) => inlined(one, root)) as T
  if (typeof part !== "object" || part === null) return part
  const { $ref, ...rest } = part as { readonly $ref?: string }
  const own = Object.entries(rest).map(([name, one]) => [name, inlined(one, root)] as const)
  if ($ref === undefined) return Object.fromEntries(own) as T
  const steps = $ref.split("/").slice(1)
  const target = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], root)
  return { ...inlined(target as object, root), ...Object.fromEntries(own) } as T
}
