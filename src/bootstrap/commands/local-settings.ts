/** Shows the effective settings; it loads only the modules that declare settings. */
import { ServerGone } from "../../frame/operator/cli/client.ts"
import type { Catalogue } from "../../frame/operator/cli/command-spec.ts"
import type { EffectiveSettings as Shown } from "../../frame/operator/cli/command-line-host.ts"
import type { Provider } from "../../frame/provider.ts"
import type { SettingsSpec } from "../../frame/settings.ts"
import { effectiveSettings } from "../settings/parse-config.ts"
import type { ProcessContext } from "./local-commands.ts"

/** Loads a module by its path below `src/`. */
type LoadModule = (path: string) => Promise<object>

/** Returns the effective settings of this process and of the running server. @throws StartupFault */
export async function readLocalSettings(
  { settings, providers }: Pick<Catalogue, "settings" | "providers">,
  moduleAt: LoadModule,
  around: ProcessContext,
): Promise<Shown> {
  const sources = {
    settings: (await exportsOf(settings, moduleAt)).filter(isSettings),
    providers: (await exportsOf(providers, moduleAt)).filter(isProvider),
  }
  return { own: effectiveSettings(sources, around.env), server: await readServerSettings(around) }
}

/** Returns the exports of these modules, in order. */
async function exportsOf(modules: readonly string[], moduleAt: LoadModule): Promise<unknown[]> {
  const loaded = await Promise.all(modules.map(moduleAt))
  return loaded.flatMap((module) => Object.values(module) as unknown[])
}

const isDeclared = (value: unknown): value is { readonly from: string } =>
  typeof value === "object" && value !== null && "from" in value

const isSettings = (value: unknown): value is SettingsSpec => isDeclared(value) && "schema" in value

const isProvider = (value: unknown): value is Provider => isDeclared(value) && "open" in value

/** Returns the server's settings. A server that does not answer is only reported. */
async function readServerSettings({ runningServer, terminal }: ProcessContext) {
  try {
    return (await runningServer())?.settings ?? null
  } catch (error) {
    if (!(error instanceof ServerGone)) throw error
    terminal.err(`${error.message}\n`)
    return null
  }
}
