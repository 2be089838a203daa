/** The settings of a command, shown without anything of the program being loaded but what reads them. */
import { ServerGone } from "../../frame/operator/cli/client.ts"
import type { Catalogue } from "../../frame/operator/cli/command.ts"
import type { Settings as Shown } from "../../frame/operator/cli/host.ts"
import type { Provider } from "../../frame/provider.ts"
import type { Settings } from "../../frame/settings.ts"
import { settingsShown } from "../settings/settings-reading.ts"
import type { Around } from "./work-here.ts"

/** Loads a module by its path below `src/`. */
type ModuleAt = (path: string) => Promise<object>

/** The effective settings of this process, and of the server beside it. @throws StartupFault */
export async function settingsHere(
  { settings, providers }: Pick<Catalogue, "settings" | "providers">,
  moduleAt: ModuleAt,
  around: Around,
): Promise<Shown> {
  const brought = {
    settings: (await exportsOf(settings, moduleAt)).filter(isSettings),
    providers: (await exportsOf(providers, moduleAt)).filter(isProvider),
  }
  return { own: settingsShown(brought, around.env), server: await settingsOfServer(around) }
}

/** What these modules export, in their order. */
async function exportsOf(modules: readonly string[], moduleAt: ModuleAt): Promise<unknown[]> {
  const loaded = await Promise.all(modules.map(moduleAt))
  return loaded.flatMap((module) => Object.values(module) as unknown[])
}

const isDeclared = (value: unknown): value is { readonly from: string } =>
  typeof value === "object" && value !== null && "from" in value

const isSettings = (value: unknown): value is Settings => isDeclared(value) && "schema" in value

const isProvider = (value: unknown): value is Provider => isDeclared(value) && "open" in value

/** One that does not answer keeps nobody from seeing the settings of the command itself. */
async function settingsOfServer({ livingServer, terminal }: Around) {
  try {
    return (await livingServer())?.settings ?? null
  } catch (error) {
    if (!(error instanceof ServerGone)) throw error
    terminal.err(`${error.message}\n`)
    return null
  }
}
