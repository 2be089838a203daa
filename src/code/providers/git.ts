/** The machine's own git, with the repositories in a folder. */
import { GIT, failingGit } from "../../../adapters/git/failing.ts"
import { openGit } from "../../../adapters/git/git.ts"
import type { Repositories } from "../../../adapters/git/port.ts"
import type { Provider } from "../../frame/provider.ts"
import type { PackPlaces } from "../pack-places.ts"
import { openPackPlaces } from "../pack-places.ts"
import { codeDirIn, codeSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly repositories: Repositories
    readonly packPlaces: PackPlaces
    /** The folder of the repositories, to tell operators. */
    readonly codeDir: string
  }
}

/** Keeps the companies' code. */
export const gitProvider: Provider = {
  from: import.meta.url,
  name: "git",
  ofMachine: true,
  simulator: GIT,
  open: async ({ settings, dataDir, simulators, pacer }) => {
    const codeDir = codeDirIn(settings(codeSettings), dataDir)
    const repositories = failingGit(openGit({ codeDir }), { simulators, pacer })
    return { repositories, codeDir, packPlaces: openPackPlaces(pacer) }
  },
}
