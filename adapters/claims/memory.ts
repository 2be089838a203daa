import type { Claim, ClaimRequest, Claims } from "./port.ts"
import { ClaimLost } from "./port.ts"

interface Kept {
  readonly fingerprint: string
  state: "running" | "left" | "done" | "free"
  attempt: number
  answer: string | null
}

/**
 * Claims in this process's memory: the memory twin, for tests and the simulation. Nothing is old in
 * it, so `forgetOld` finds nothing. Its calls throw ClaimLost for a claim that is another's by now.
 */
export function openMemoryClaims(): Claims {
  const kept = new Map<string, Kept>()
  const placeOf = (request: ClaimRequest) => JSON.stringify([request.keyId, request.idempotencyKey])
  /** The claim of a request while it is held. */
  const held = (request: ClaimRequest): Kept | null => {
    const found = kept.get(placeOf(request))
    return found?.state === "running" ? found : null
  }
  return {
    claim: async (request): Promise<Claim> => {
      const found = kept.get(placeOf(request))
      if (found === undefined || found.state === "free") {
        const attempt = found === undefined ? 0 : found.attempt
        const { fingerprint } = request
        kept.set(placeOf(request), { fingerprint, state: "running", attempt, answer: null })
        return { state: "mine", attempt, takenOver: false }
      }
      if (found.fingerprint !== request.fingerprint) return { state: "conflict" }
      if (found.state === "done") return { state: "done", answer: found.answer ?? "" }
      if (found.state === "running") return { state: "running" }
      found.state = "running"
      return { state: "mine", attempt: found.attempt, takenOver: true }
    },
    finish: async (request, answer) => {
      const found = held(request)
      if (found !== null) Object.assign(found, { state: "done", answer })
    },
    release: async (request) => {
      const found = held(request)
      if (found !== null) Object.assign(found, { state: "free", attempt: found.attempt + 1 })
    },
    leave: async (request) => {
      const found = held(request)
      if (found !== null) found.state = "left"
    },
    nextAttempt: async (request) => {
      const found = held(request)
      if (found === null) throw new ClaimLost("this claim is not held by this process")
      found.attempt += 1
      return found.attempt
    },
    forgetOld: async () => 0,
  }
}
