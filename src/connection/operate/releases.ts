/** Releases of the app, as an operator publishes them. */
import { RELEASES } from "../../../domain/connection/aggregates.ts"
import { z } from "zod"
import { accepted, channelName, words } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const version = z.string().meta({ description: "the version, such as 2.1.0", form: "text" })

const publish = operation({
  name: "release publish",
  summary: "publish a version of the app in a channel",
  notes: ["A company's apps are updated from its channel, stable unless company change says so."],
  example: 'release publish --version 2.1.0 --notes "Faster lists" --channel stable',
  changes: true,
  input: z.object({
    version,
    notes: words.meta({ description: "what is new" }),
    channel: channelName.meta({ description: "the channel" }),
    required: z.boolean().default(false).meta({ description: "an app must not go on without it" }),
  }),
  run: async ({ ports, cause }, release) => {
    const command = { type: "PublishRelease" as const, ...release }
    accepted(await ports.runner.execute(RELEASES, command, cause))
    return release
  },
})

const seal = operation({
  name: "release seal",
  summary: "say what the protected core of a version is known by",
  example: "release seal --version 2.1.0 --tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  changes: true,
  input: z.object({
    version,
    tree: z
      .string()
      .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/i, "must be a tree's hash of 40 or 64 hex digits")
      .transform((text) => text.toLowerCase())
      .meta({ description: "the hash of its tree", takes: "hash" }),
  }),
  run: async ({ ports, cause }, sealed) => {
    const command = { type: "SealRelease" as const, ...sealed }
    accepted(await ports.runner.execute(RELEASES, command, cause))
    return sealed
  },
})

/** Operations on releases. */
export const releaseOperations: readonly AdminOperation[] = [publish, seal]
