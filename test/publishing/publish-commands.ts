/** Commands about what a company publishes, as tests mostly want them. */
import fc from "fast-check"
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishCommand } from "../../domain/publishing/publish-commands.ts"
import { liveOf, publishOf, publishing } from "../../domain/publishing/publishing.ts"
import { asking } from "../support/spec.ts"
import type { TurnPublishing } from "../../domain/publishing/switches.ts"

const COMMIT = "0123456789abcdef0123456789abcdef01234567"

/** Queues one. */
export function queue(publishId: PublishId): PublishCommand {
  const who = { personId: "per_0001", keyId: "key_0001" } as const
  return { type: "QueuePublish", publishId, chargeId: `chg_${publishId}`, commit: COMMIT, ...who }
}

/** Keeps what was built of one. */
export function store(publishId: PublishId, kind: "static" | "app" = "static"): PublishCommand {
  return { type: "StoreArtifact", publishId, kind, tag: "0f0f", files: 3, bytes: 300 }
}

/** Has one fail. */
export function fail(publishId: PublishId): PublishCommand {
  const error = "s1.company.AAAA" as Sealed
  return { type: "FailPublish", publishId, reason: "build", error }
}

/** All that comes before it is live. */
export function upTo(publishId: PublishId): readonly PublishCommand[] {
  return [{ type: "StartBuild", publishId }, { type: "FinishBuild", publishId }, store(publishId)]
}

/** What a company publishes, answering commands with facts, or with the code of a refusal. */
export function oneCompany() {
  const one = asking(publishing)
  return {
    ...one,
    live: () => liveOf(one.state()),
    view: (publishId: PublishId) => publishOf(publishId)(one.state()),
  }
}

const anyId = fc.constantFrom<PublishId>("pub_1", "pub_2", "pub_3", "pub_4")

/** Any command about four publishes. */
export const publishCommand: fc.Arbitrary<PublishCommand> = fc
  .tuple(anyId, fc.noBias(fc.nat(12)), fc.boolean())
  .map(([publishId, which, isApp]): PublishCommand => {
    const all: readonly PublishCommand[] = [
      queue(publishId),
      queue(publishId),
      queue(publishId),
      ...upTo(publishId),
      store(publishId, isApp ? "app" : "static"),
      fail(publishId),
      { type: "GoLive" as const, publishId },
      { type: "GoLive" as const, publishId },
      { type: "RetryPublish", publishId },
      isApp ? { type: "AbandonPublish", publishId } : { type: "ResetPreview" },
      { type: "RemoveArtifact", publishId },
    ]
    return all[which] ?? queue(publishId)
  })

/** Any command to the switches. */
export const switchCommand: fc.Arbitrary<TurnPublishing> = fc
  .tuple(fc.constantFrom<CompanyId | null>(null, "co_aaaaaa", "co_bbbbbb"), fc.boolean())
  .map(([companyId, isOn]) => ({ type: "TurnPublishing", companyId, isOn }))
