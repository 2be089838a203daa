/** The machine's own git, with the repositories in a folder. */
import { GIT, failingGit } from "../../../adapters/git/failing.ts"
import { openGit } from "../../../adapters/git/git.ts"
import type { Repositories } from "../../../adapters/git/port.ts"
import type { Provider } from "../../frame/provider.ts"
import type { CompanyCode } from "../company-code.ts"
import type { PackPlaces } from "../git-client.ts"
import { openPackPlaces } from "../git-client.ts"
import { codeDirIn, codeSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly repositories: Repositories
    readonly packPlaces: PackPlaces
    /** The companies' code for other slices. */
    readonly companyCode: CompanyCode
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
  open: async ({ settings, dataDir, simulators, pacer }, ports) => {
    const codeDir = codeDirIn(settings(codeSettings), dataDir)
    const repositories = failingGit(openGit({ codeDir }), { simulators, pacer })
    const packPlaces = openPackPlaces(pacer)
    // To show settings this module is loaded alone.
    const { openCompanyCode } = await import("../company-code.ts")
    return { repositories, codeDir, packPlaces, companyCode: openCompanyCode(ports) }
  },
}
