/** The code slice: companies' git repositories, and access to them. */
import { CODE_AGGREGATE } from "../../domain/code/aggregates.ts"
import { pushesReadModel } from "../../projections/code/pushes.ts"
import { repositoriesReadModel } from "../../projections/code/repositories.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { eraseRepository } from "./company-code.ts"
import { examineCode } from "./examine-code.ts"
import { codeRefs, fetchCode, pushCode } from "./git-routes.ts"
import { repositoryBackups } from "./repository-backups.ts"
import { defaultBranchOperation, showOperation } from "./operate/create-repository.ts"
import { listOperation, repositoryOperations } from "./operate/repositories.ts"
import { pushOperations, scrubOperation } from "./operate/pushes.ts"
import { gitProvider } from "./providers/git.ts"
import { secretScanProvider } from "./providers/secret-scan.ts"
import { refusedPushMetric } from "./push-checks.ts"
import { finishScrub, maintainRepository, reconcilePush } from "./reactions.ts"
import { codeAlias, codeSettings } from "./settings.ts"

const packMetric: Metric = {
  name: "ledger_code_packs",
  help: "Packs in progress by direction (out: fetches, in: pushes) and waiting requests.",
  labels: ["state"],
  read: async ({ packSlots }) =>
    Object.entries(packSlots.count()).map(([state, value]) => ({ labels: { state }, value })),
}

const pushMetric: Metric = {
  name: "ledger_pushes_total",
  help: "Pushes by result; fault: the check failed, left: the client disconnected.",
  labels: ["said"],
  isCounter: true,
  read: async ({ counters }) => counters.read("pushes"),
}

export const codeSlice: Slice = {
  name: "code",
  streams: { perCompany: [CODE_AGGREGATE] },
  readModels: [pushesReadModel, repositoriesReadModel],
  reactions: [reconcilePush, maintainRepository, finishScrub],
  pages: [codeRefs, fetchCode, pushCode],
  settings: [codeSettings],
  aliases: ({ settings }) => codeAlias(settings(codeSettings)),
  providers: [gitProvider, secretScanProvider],
  commands: [
    listOperation,
    showOperation,
    ...repositoryOperations,
    defaultBranchOperation,
    scrubOperation,
    ...pushOperations,
  ],
  topics: { code: "companies' code", repository: "companies' repositories" },
  erase: eraseRepository,
  backup: repositoryBackups,
  sweep: (ports) => ports.repositories.sweep(),
  doctorCheck: examineCode,
  metrics: [packMetric, pushMetric, refusedPushMetric],
}
