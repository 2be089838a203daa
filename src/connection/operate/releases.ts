/** Releases of the app, as an operator publishes them. */
import { RELEASES } from "../../../domain/connection/aggregates.ts"
import { z } from "zod"
import { accepted, channelName, words } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const publish = operation({
  name: "release publish",
  input: z.object({
    version: z.string(),
    notes: words,
    channel: channelName,
    required: z.boolean().default(false),
  }),
  run: async ({ ports, cause }, release) => {
    const command = { type: "PublishRelease" as const, ...release }
    accepted(await ports.runner.execute(RELEASES, command, cause))
    return release
  },
})

const seal = operation({
  name: "release seal",
  input: z.object({
    version: z.string(),
    tree: z
      .string()
      .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/i, "must be a tree's hash of 40 or 64 hex digits")
      .transform((text) => text.toLowerCase()),
  }),
  run: async ({ ports, cause }, { version, tree }) => {
    const command = { type: "SealRelease" as const, version, tree }
    accepted(await ports.runner.execute(RELEASES, command, cause))
    return { version, tree }
  },
})

/** Operations on releases. */
export const releaseOperations: readonly AdminOperation[] = [publish, seal]
