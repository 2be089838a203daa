/** The settings of this program, with those of all its slices. */
import type { ShownSetting } from "../../frame/operator/protocol.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "./parse-config.ts"
import { parseConfig, effectiveSettings } from "./parse-config.ts"

export type { Config } from "./parse-config.ts"

type Env = Readonly<Record<string, string | undefined>>

/** Reads the settings. An empty variable counts as unset. @throws StartupFault naming every fault */
export const readConfig = (env: Env): Config => parseConfig(PROGRAM, env)

/** The effective settings with where each came from; secrets are masked. @throws StartupFault */
export const listSettings = (env: Env): readonly ShownSetting[] => effectiveSettings(PROGRAM, env)
