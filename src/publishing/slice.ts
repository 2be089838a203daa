/** Publishing: one commit of a company's code is its preview. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import {
  PUBLISH_AGGREGATE,
  PUBLISHING_SWITCHES_STREAM,
  publishStreamOf,
} from "../../domain/publishing/aggregates.ts"
import { livePublishOf } from "../../domain/publishing/publishing.ts"
import { countPublishes, publishesReadModel } from "../../projections/publishing/publishes.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Ports } from "../frame/ports.ts"
import type { Slice } from "../frame/slice.ts"
import { openArtifact } from "./artifacts.ts"
import { previewLeaseRenewal } from "./preview-leases.ts"
import { companyPreviewHostRoute } from "./host-route/host-route.ts"
import { previewOperations } from "./operate/previews.ts"
import { publishOperations } from "./operate/publishes.ts"
import { previewHostProvider } from "./providers/preview-host.ts"
import { publishPreview } from "./publish-preview.ts"
import {
  deleteArtifact,
  endReplacedVersion,
  deleteBuildLogs,
  removeArtifacts,
} from "./reactions/after-publish.ts"
import { publishDetail, publishList } from "./publish-routes.ts"
import { publishingSettings } from "./settings.ts"

/** What a company's preview serves, as this process knows it; others tell it of what is new. */
const livePublish = ({ runner }: Pick<Ports, "runner">, companyId: CompanyId) =>
  runner.read(publishStreamOf(companyId), livePublishOf)

const publishMetric: Metric = {
  name: "ledger_publishes",
  help: "Publishes by how far they have come.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countPublishes(readAll)).map(({ status, count }) => ({
      labels: { status },
      value: count,
    })),
}

/** What companies publish. */
export const publishingSlice: Slice = {
  name: "publishing",
  streams: { perCompany: [PUBLISH_AGGREGATE], perInstallation: [PUBLISHING_SWITCHES_STREAM] },
  groups: {
    publishing: `One commit of the company's code is its preview: built, and served at one address with a sign-in of its own, for the company's people.

\`company.json\` at the root of the commit names the company and says how it is built and what is served: a folder of
files (\`static\`), or a program (\`start\`) with a test database and storage. Publish a commit, ask until its \`status\` is
\`live\` or \`failed\`; each takes the place of the one before, and what failed is given back.`,
  },
  routes: [publishPreview, publishList, publishDetail],
  readModels: [publishesReadModel],
  reactions: [endReplacedVersion, removeArtifacts, deleteArtifact, deleteBuildLogs],
  settings: [publishingSettings],
  providers: [previewHostProvider],
  hostRoutes: (ports) => [companyPreviewHostRoute(ports, { livePublish, openArtifact })],
  daemons: [previewLeaseRenewal],
  erase: ({ previewHost }, companyId) => previewHost.erase(companyId),
  commands: [...publishOperations, ...previewOperations],
  topics: { publish: "what companies publish", preview: "companies' previews" },
  metrics: [publishMetric],
}
