import type { Claim, ClaimRequest, Claims } from "./port.ts"
import { ClaimLost, isSameRequest } from "./port.ts"

interface Kept {
  readonly fingerprint: string
  state: "running" | "left" | "done" | "free"
  attempt: number
  answer: string | null
  readonly begun: string
  readonly at: number
  readonly lasting: boolean
}

/**
 * Claims in this process's memory: the memory twin, for tests and the simulation. Its calls throw
 * ClaimLost for a claim that is another's by now.
 */
export function openMemoryClaims(): Claims {
  const kept = new Map<string, Kept>()
  const placeOf = (request: Pick<ClaimRequest, "keyId" | "idempotencyKey">) =>
    JSON.stringify([request.keyId, request.idempotencyKey])
  /** The claim of a request while it is held. */
  const held = (request: ClaimRequest): Kept | null => {
    const found = kept.get(placeOf(request))
    return found?.state === "running" ? found : null
  }
  return {
    has: async (request) => kept.has(placeOf(request)),
    claim: async (request): Promise<Claim> => {
      const found = kept.get(placeOf(request))
      if (found === undefined || found.state === "free") {
        const attempt = found === undefined ? 0 : found.attempt
        const { fingerprint, at, lasting = false } = request
        const begun = found?.begun ?? request.requestId
        const state = "running" as const
        kept.set(placeOf(request), {
          fingerprint,
          state,
          attempt,
          answer: null,
          begun,
          at,
          lasting,
        })
        return { state: "mine", attempt, begun, takenOver: false }
      }
      if (!isSameRequest(found.fingerprint, request)) return { state: "conflict" }
      if (found.state === "done") return { state: "done", answer: found.answer ?? "" }
      if (found.state === "running") return { state: "running", attempt: found.attempt }
      found.state = "running"
      const { attempt, begun } = found
      return { state: "mine", attempt, begun, takenOver: true }
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
    forgetBefore: async (at) => {
      const isKept = ({ lasting, state }: Kept) => lasting && state !== "free"
      const old = [...kept].filter(([, claim]) => claim.at < at && !isKept(claim))
      for (const [place] of old) kept.delete(place)
      return old.length
    },
  }
}
