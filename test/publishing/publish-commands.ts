/** Commands about publishes with the usual values. */
import fc from "fast-check"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishCommand } from "../../domain/publishing/publish-commands.ts"
import { livePublishOf, publishOf, publishingDecider } from "../../domain/publishing/publishing.ts"
import { deciderSession } from "../support/decider-spec.ts"
import type { SwitchPublishing } from "../../domain/publishing/publishing-switches.ts"

const COMMIT = "0123456789abcdef0123456789abcdef01234567"

/** Queues a publish. */
export function queuePublishCommand(publishId: PublishId): PublishCommand {
  const who = { personId: "per_0001", keyId: "key_0001" } as const
  return { type: "QueuePublish", publishId, chargeId: `chg_${publishId}`, commit: COMMIT, ...who }
}

/** Stores the artifact of a publish. */
export function storeArtifactCommand(
  publishId: PublishId,
  kind: "static" | "app" = "static",
): PublishCommand {
  return { type: "StoreArtifact", publishId, kind, tag: "0f0f", files: 3, bytes: 300 }
}

/** Fails a publish. */
export function failPublishCommand(publishId: PublishId): PublishCommand {
  const error = "s1.company.AAAA" as SealedText
  return { type: "FailPublish", publishId, reason: "build", error }
}

/** The commands between queued and live. */
export function commandsBeforeLive(publishId: PublishId): readonly PublishCommand[] {
  return [
    { type: "StartBuild", publishId },
    { type: "FinishBuild", publishId },
    storeArtifactCommand(publishId),
  ]
}

/** The publishes of a company, which answer commands with facts or the code of a refusal. */
export function publishingUnderTest() {
  const one = deciderSession(publishingDecider)
  return {
    ...one,
    live: () => livePublishOf(one.state()),
    view: (publishId: PublishId) => publishOf(publishId)(one.state()),
  }
}

const anyId = fc.constantFrom<PublishId>("pub_1", "pub_2", "pub_3", "pub_4")

/** Any command about four publishes. */
export const publishCommand: fc.Arbitrary<PublishCommand> = fc
  .tuple(anyId, fc.noBias(fc.nat(12)), fc.boolean())
  .map(([publishId, which, isApp]): PublishCommand => {
    const all: readonly PublishCommand[] = [
      queuePublishCommand(publishId),
      queuePublishCommand(publishId),
      queuePublishCommand(publishId),
      ...commandsBeforeLive(publishId),
      storeArtifactCommand(publishId, isApp ? "app" : "static"),
      failPublishCommand(publishId),
      { type: "GoLive" as const, publishId },
      { type: "GoLive" as const, publishId },
      { type: "RetryPublish", publishId },
      isApp ? { type: "AbandonPublish", publishId } : { type: "ResetPreview" },
      { type: "RemoveArtifact", publishId },
    ]
    return all[which] ?? queuePublishCommand(publishId)
  })

/** Any command to the publishing switches. */
export const switchCommand: fc.Arbitrary<SwitchPublishing> = fc
  .tuple(fc.constantFrom<CompanyId | null>(null, "co_aaaaaa", "co_bbbbbb"), fc.boolean())
  .map(([companyId, isOn]) => ({ type: "SwitchPublishing", companyId, isOn }))
