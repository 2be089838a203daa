import type { AnyFact } from "../../domain/kernel/facts.ts"

/** Any part of a type; functions may have any parameters and result. */
type PartOf<T> = T extends (...args: never[]) => unknown
  ? (...args: never[]) => unknown
  : T extends object
    ? { readonly [K in keyof T]?: PartOf<T[K]> | undefined }
    : T

/** A fake with only the members that the code under test uses; the compiler checks their names. */
export function partialFake<T extends object>(parts: PartOf<T>): T {
  return parts as unknown as T
}

/** A fact that exists only in tests. */
export function testOnlyFact(fact: object): AnyFact {
  return partialFake<AnyFact>(fact)
}
