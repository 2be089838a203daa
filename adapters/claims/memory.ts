import type { Claim, ClaimRequest, Claims } from "./port.ts"

interface Kept {
  readonly fingerprint: string
  state: "running" | "left" | "done" | "free"
  attempt: number
  answer: string | null
}

/** Claims in this process's memory: the memory twin, for tests and the simulation. */
export function openMemoryClaims(): Claims {
  const kept = new Map<string, Kept>()
  const placeOf = (request: ClaimRequest) => JSON.stringify([request.keyId, request.idempotencyKey])
  const find = (request: ClaimRequest): Kept => {
    const found = kept.get(placeOf(request))
    if (found === undefined) throw new Error("this claim was never made")
    return found
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
      const found = find(request)
      found.state = "done"
      found.answer = answer
    },
    release: async (request) => {
      const found = find(request)
      found.state = "free"
      found.attempt += 1
    },
    leave: async (request) => {
      find(request).state = "left"
    },
    nextAttempt: async (request) => {
      const found = find(request)
      found.attempt += 1
      return found.attempt
    },
    forgetOld: async () => 0,
  }
}
