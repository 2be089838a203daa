/** A pretended effect, and a provider that can do anything. */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { WorkResult } from "../../adapters/work/port.ts"
import type { Standing } from "../../src/frame/effects/effect.ts"
import type { Reaction, Work } from "../../src/frame/effects/reaction.ts"
import type { Ports } from "../../src/frame/ports.ts"

export const BEGUN = Date.UTC(2040, 0, 1)
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export type Answer = "made" | "under way" | "refused" | "never got it" | "given up"

/** What the provider does when it is called next, what was asked of it, and what came of it. */
interface Scene {
  now: number
  standing: Standing
  acting: () => Promise<Answer>
  asking: () => Promise<Answer | "unknown">
  done: string[]
  isRepeatable: boolean
  /** Whether the row is still this process's, and how long it takes to hear of it. */
  isOwn: boolean
  handOverMs: number
  elapsedMs: number
}

const first = (): Scene => ({
  now: BEGUN,
  standing: "open",
  done: [],
  isRepeatable: false,
  acting: async () => "made",
  asking: async () => "unknown",
  isOwn: true,
  handOverMs: 0,
  elapsedMs: 0,
})
export const scene: Scene = first()
/** Has all begin anew. */
export const reset = (): void => void Object.assign(scene, first())

export const spec = {
  kind: "do-thing",
  payload: z.object({ begunAt: z.number() }),
  provider: "the provider",
  about: "this thing",
  unknownTo: "nobody knows this thing",
  begunAt: ({ begunAt }: { begunAt: number }) => begunAt,
  look: async () => scene.standing,
  act: async () => {
    scene.done.push("act")
    return scene.acting()
  },
  ask: async () => {
    scene.done.push("ask")
    return scene.asking()
  },
  isRepeatable: () => scene.isRepeatable,
  end: async (_ports: Ports, _work: unknown, answer: Answer) => {
    scene.done.push(`end: ${answer}`)
    return answer !== "under way"
  },
  unknown: async () => "never got it" as const,
  givenUp: "given up" as const,
}
export const ports = {
  clock: { now: () => scene.now },
  // Nothing here takes its time: a pause lasts as long as the test.
  pacer: { pause: () => new Promise<void>(() => undefined), elapsedMs: () => scene.elapsedMs },
  work: {
    handOver: async () => {
      scene.done.push("hand over")
      scene.elapsedMs += scene.handOverMs
      return scene.isOwn
    },
  },
} as unknown as Ports

export const perform = (
  reaction: Reaction,
  given: Partial<Work<unknown>> = {},
  by: Ports = ports,
): Promise<WorkResult> =>
  reaction.perform(by, {
    workId: 1,
    kind: reaction.kind,
    name: "a",
    subject: "a",
    companyId: "co_a",
    tries: 1,
    payload: { begunAt: BEGUN },
    isHandedOver: false,
    signal: new AbortController().signal,
    ...given,
  })

export const unavailable = () => Promise.reject(new ProviderUnavailable("away"))
export const silent = () => Promise.reject(new ProviderSilent("no answer"))
export const later = (dueAt: number) => ({
  result: "later",
  dueAt,
  kind: "ask-thing",
  subject: "apart",
})
