import type { AnyFact } from "../../domain/kernel/facts.ts"

/** The parts of a type that a test gives: of functions only that they are, for a fake answers what it likes. */
type PartOf<T> = T extends (...given: never[]) => unknown
  ? (...given: never[]) => unknown
  : T extends object
    ? { readonly [K in keyof T]?: PartOf<T[K]> | undefined }
    : T

/** An object of which a test gives what is used of it, by its true names. */
export function partialFake<T extends object>(given: PartOf<T>): T {
  return given as unknown as T
}

/** A fact that only a test has. */
export function testOnlyFact(fact: object): AnyFact {
  return partialFake<AnyFact>(fact)
}
