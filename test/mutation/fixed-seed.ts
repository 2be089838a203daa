/** Before each test file of a mutation run: every mutant meets the very same cases. */
import fc from "fast-check"

// Whether a mutant dies must not depend on luck. The smallest case that kills it interests nobody.
fc.configureGlobal({ seed: 20_260_330, endOnFailure: true })
