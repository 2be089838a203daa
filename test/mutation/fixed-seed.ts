/** Runs before each test file of a mutation run, so that every mutant meets the same cases. */
import fc from "fast-check"

// Whether a mutant is killed must not depend on chance, and the smallest counterexample is not needed.
fc.configureGlobal({ seed: 20_260_330, endOnFailure: true })
