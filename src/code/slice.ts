/** The companies' code, over git: repositories, and who reads and writes them. */
import { CODE } from "../../domain/code/aggregates.ts"
import { pushes } from "../../projections/code/pushes.ts"
import { repositories } from "../../projections/code/repositories.ts"
import type { Measure } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { eraseRepository } from "./company-code.ts"
import { examineCode } from "./examine-code.ts"
import { codeRefs, fetchCode, pushCode } from "./git-routes.ts"
import { repositoriesInBackups } from "./in-backups.ts"
import { defaultBranchOperation, shownOperation } from "./operate/making.ts"
import { listedOperation, repositoryOperations } from "./operate/repositories.ts"
import { pushOperations, scrubOperation } from "./operate/pushes.ts"
import { gitProvider } from "./providers/git.ts"
import { secretScanProvider } from "./providers/secret-scan.ts"
import { refusedPushMeasure } from "./push-checks.ts"
import { endScrubbing, maintainRepository, settlePush } from "./reactions.ts"
import { codeAlias, codeSettings } from "./settings.ts"

const packMeasure: Measure = {
  name: "ledger_code_packs",
  help: "Packs under way by direction: out to who fetches, in from who pushes; waiting: who waits for a place.",
  labels: ["state"],
  read: async ({ packPlaces }) =>
    Object.entries(packPlaces.count()).map(([state, value]) => ({ labels: { state }, value })),
}

const pushMeasure: Measure = {
  name: "ledger_pushes_total",
  help: "Pushes by what was said to them; fault: they could not be judged.",
  labels: ["said"],
  isCount: true,
  read: async ({ counts }) => counts.read("pushes"),
}

/** The companies' code. */
export const code: Slice = {
  name: "code",
  streams: { ofCompanies: [CODE] },
  readModels: [pushes, repositories],
  reactions: [settlePush, maintainRepository, endScrubbing],
  pages: [codeRefs, fetchCode, pushCode],
  settings: [codeSettings],
  aliases: ({ settings }) => codeAlias(settings(codeSettings)),
  providers: [gitProvider, secretScanProvider],
  operations: [
    listedOperation,
    shownOperation,
    ...repositoryOperations,
    defaultBranchOperation,
    scrubOperation,
    ...pushOperations,
  ],
  topics: { code: "companies' code", repository: "companies' repositories" },
  erase: eraseRepository,
  inBackups: repositoriesInBackups,
  sweep: (ports) => ports.repositories.sweep(),
  examine: examineCode,
  measures: [packMeasure, pushMeasure, refusedPushMeasure],
}
