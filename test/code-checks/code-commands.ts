/** Random commands to a company's code. Refs and objects are few, so that pushes meet. */
import fc from "fast-check"
import type { AcceptPush, CodeCommand } from "../../domain/code/code-commands.ts"
import type { SealedRefUpdate, PushId } from "../../domain/code/code-events.ts"
import { PUSH_REFUSAL_CODES } from "../../domain/code/code-events.ts"
import type { SealedText } from "../../domain/kernel/ids.ts"

const TAGS = ["aa", "bb", "cc"] as const
const IDS = ["1".repeat(40), "2".repeat(40), "3".repeat(40), null] as const

const pushId = fc.nat(7).map((i): PushId => `push_${i}`)
const tag = fc.constantFrom(...TAGS)
const id = fc.constantFrom(...IDS)
const REF: SealedText = "s1.company.YQ"
const ref = fc.constant(REF)
const blob = fc.constantFrom("b1", "b2")
const who = { personId: null, keyId: null }

/** A ref that a push moves. */
export function refUpdate(
  name: string,
  old: string | null,
  wanted: string | null,
): SealedRefUpdate {
  return { ref: REF, refHash: name, old, new: wanted }
}

/** The command that accepts a push. */
export function acceptPushCommand(
  push: PushId,
  updates: readonly SealedRefUpdate[],
  scrubCount = 0,
): AcceptPush {
  const brought = { core: null, objects: 1, bytes: 1 }
  return { type: "AcceptPush", pushId: push, ...who, updates, ...brought, scrubCount }
}

const updates = fc
  .uniqueArray(fc.record({ ref, refHash: tag, old: id, new: id }, { noNullPrototype: true }), {
    selector: (one) => one.refHash,
    maxLength: 3,
  })
  .map((all) => all.filter((one) => one.old !== one.new))

export const codeCommand: fc.Arbitrary<CodeCommand> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ type: "CreateRepository" as const }) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        pushId,
        updates,
        fc.option(fc.record({ refHash: tag, tree: id }, { noNullPrototype: true })),
        // Mostly a repository that has never been scrubbed.
        fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
      )
      .map(([push, all, core, scrubs]): AcceptPush => ({
        ...acceptPushCommand(push, all, scrubs),
        core,
      })),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.option(pushId),
        fc.nat(9),
        fc.uniqueArray(
          fc.record({ ref: fc.option(ref), refHash: tag, id }, { noNullPrototype: true }),
          {
            selector: (one) => one.refHash,
            maxLength: 3,
          },
        ),
      )
      .map(([push, asOf, refs]) => ({
        type: "ReconcileRefs" as const,
        pushId: push,
        readVersion: asOf,
        refs,
      })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(pushId, fc.constantFrom(...PUSH_REFUSAL_CODES), fc.boolean())
      .map(([push, code, isNamed]) => {
        const type = "RefusePush" as const
        return { type, pushId: push, ...who, code, shownLines: null, isReferenced: isNamed }
      }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(tag, id).map(([name, tree]) => {
      return {
        type: "ChangeDefaultBranch" as const,
        ref: REF,
        refHash: name,
        tree,
      }
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("ee", "ff").map((fingerprint) => {
      return { type: "AllowSecret" as const, fingerprint }
    }),
  },
  {
    weight: 1,
    arbitrary: blob.map((one) => ({ type: "StartScrub" as const, blob: one })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(blob, fc.boolean()).map(([one, isGone]) => {
      return { type: "FinishScrub" as const, blob: one, isGone }
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "EraseRepository" as const }) },
)
