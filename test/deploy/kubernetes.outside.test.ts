/**
 * `deploy/kubernetes`: no cluster runs it here. Its files are parsed, and what they name is compared with what
 * there is; where kubectl is installed, it puts them together.
 */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { HEALTH_URLS } from "../../src/frame/http/health.ts"
import { ROOT } from "../conventions/source-tree.ts"
import type { YamlDocument } from "./project-files.ts"
import {
  PACKAGE_MANIFEST,
  SETTING_NAMES,
  yamlDocumentOf,
  yamlDocumentsOf,
  instructionArguments,
  dockerStagesOf,
  projectText,
} from "./project-files.ts"

const FOLDER = "deploy/kubernetes"
/** What it patches is of the cluster. */
const OUTSIDE = ["kustomization.yaml", "controller.yaml"]

const kustomization = yamlDocumentOf(`${FOLDER}/kustomization.yaml`)
const resources: readonly YamlDocument[] = (kustomization.resources as string[]).flatMap((name) =>
  yamlDocumentsOf(`${FOLDER}/${name}`),
)
const kind = (of: string): YamlDocument => resources.find((one) => one.kind === of)
const deployment = kind("Deployment")
const pod = deployment.spec.template.spec
const [container] = pod.containers
const config = kind("ConfigMap").data
const LABELS = { "app.kubernetes.io/name": "company-ledger" }

describe("the manifests", () => {
  it("are all listed", () => {
    const files = readdirSync(join(ROOT, FOLDER)).filter((name) => !OUTSIDE.includes(name))
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted())
  })

  it("are of forms that are served still", () => {
    expect(resources.map((one) => `${one.apiVersion} ${one.kind}`).toSorted()).toEqual([
      "apps/v1 Deployment",
      "autoscaling/v2 HorizontalPodAutoscaler",
      "monitoring.coreos.com/v1 ServiceMonitor",
      "networking.k8s.io/v1 Ingress",
      "policy/v1 PodDisruptionBudget",
      "v1 ConfigMap",
      "v1 Namespace",
      "v1 PersistentVolumeClaim",
      "v1 PersistentVolumeClaim",
      "v1 Service",
      "v1 Service",
    ])
  })

  it("are put together by kubectl", (ctx) => {
    const built = spawnSync("kubectl", ["kustomize", join(ROOT, FOLDER)], { encoding: "utf8" })
    if (built.error !== undefined) ctx.skip("kubectl is not installed")
    expect(built.stderr).toBe("")
    expect(built.stdout.match(/^ {2}namespace: company-ledger$/gm)).toHaveLength(
      resources.length - 1,
    )
  })
})

describe("the deployment", () => {
  it("runs this release as the user of its image", () => {
    expect(container.image).toBe(`company-ledger:${PACKAGE_MANIFEST.version}`)
    expect(deployment.metadata.labels["app.kubernetes.io/version"]).toBe(PACKAGE_MANIFEST.version)
    const made = instructionArguments(dockerStagesOf("Dockerfile").at(-1) ?? [], "RUN").join()
    expect(made).toContain(`--uid ${pod.securityContext.runAsUser} `)
    expect(made).toContain(`--gid ${pod.securityContext.runAsGroup} `)
    expect(pod.securityContext.runAsNonRoot).toBe(true)
  })

  it("sets what the program reads, as it takes it", () => {
    const secret = container.env.map(({ name }: { name: string }) => name)
    const names = [...Object.keys(config), ...secret]
    expect(names.filter((name) => !SETTING_NAMES.has(name))).toEqual([])
    const masterKey = "0".repeat(64)
    const given = {
      DATABASE_URL: "postgres://ledger@database/ledger",
      LEDGER_MASTER_KEY: masterKey,
    }
    expect(readConfig({ ...config, ...given })).toMatchObject({ warnings: [] })
    for (const { name, valueFrom } of container.env) {
      expect(valueFrom.secretKeyRef).toMatchObject({ name: "company-ledger", key: name })
    }
    expect(container.envFrom).toEqual([{ configMapRef: { name: kind("ConfigMap").metadata.name } }])
  })

  it("is looked at where the program answers, at its port", () => {
    const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map(
      (name) => container[name].httpGet,
    )
    const { live, ready } = HEALTH_URLS
    expect(probes).toEqual([live, live, ready].map((path) => ({ path, port: "http" })))
    expect(container.ports).toEqual([{ name: "http", containerPort: readConfig({}).port }])
  })

  it("is of one version at a time, and may take an hour to begin", () => {
    expect(deployment.spec.strategy).toEqual({ type: "Recreate" })
    const { periodSeconds, failureThreshold } = container.startupProbe
    const mostSeconds = periodSeconds * failureThreshold
    expect(mostSeconds).toBe(3_600)
    expect(deployment.spec.progressDeadlineSeconds).toBeGreaterThan(mostSeconds)
  })

  it("has time to stop in order, behind the moment in which nothing new comes", () => {
    const pause = container.lifecycle.preStop.sleep.seconds
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10)
  })

  it("mounts what it writes, and claims what all share", () => {
    const mounts: { name: string; mountPath: string }[] = container.volumeMounts
    const paths = mounts.map(({ mountPath }) => mountPath)
    for (const path of ["/var/lib/company-ledger", config.CODE_DIR, config.PREVIEW_DIR]) {
      expect(paths).toContain(path)
    }
    const volumes: YamlDocument[] = pod.volumes
    expect(new Set(mounts.map(({ name }) => name))).toEqual(
      new Set(volumes.map(({ name }) => name)),
    )
    const claimed = volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
    const claims = resources.filter((one) => one.kind === "PersistentVolumeClaim")
    expect(claimed).toEqual(claims.map(({ metadata }) => metadata.name))
    for (const { spec } of claims) expect(spec.accessModes).toEqual(["ReadWriteMany"])
  })
})

describe("what stands around it", () => {
  it("selects its pods", () => {
    expect(deployment.spec.template.metadata.labels).toMatchObject(LABELS)
    const selecting = [
      deployment.spec.selector.matchLabels,
      kind("PodDisruptionBudget").spec.selector.matchLabels,
      kind("ServiceMonitor").spec.selector.matchLabels,
      kind("Service").spec.selector,
    ]
    expect(selecting).toEqual(selecting.map(() => LABELS))
    expect(kind("Service").metadata.labels).toMatchObject(LABELS)
  })

  it("scales it by what a core does, and leaves room in PostgreSQL", () => {
    const { scaleTargetRef, minReplicas, maxReplicas, metrics } =
      kind("HorizontalPodAutoscaler").spec
    expect(scaleTargetRef.name).toBe(deployment.metadata.name)
    expect(metrics[0].resource.name).toBe("cpu")
    expect(container.resources.requests.cpu).toBeDefined()
    expect(minReplicas).toBeGreaterThan(kind("PodDisruptionBudget").spec.maxUnavailable)
    // `docs/deploy.md` says for how many connections PostgreSQL has to be made.
    const most = maxReplicas * Number(config.DATABASE_CONNECTIONS)
    expect(projectText("docs/deploy.md")).toContain(`max_connections=${most + 60}`)
  })

  it("leads to services that it has, and keeps what is for the cluster from the public", () => {
    const services = resources.filter((one) => one.kind === "Service")
    const paths: YamlDocument[] = kind("Ingress").spec.rules[0].http.paths
    const led = Object.fromEntries(paths.map(({ path, backend }) => [path, backend.service.name]))
    expect(new Set(Object.values(led))).toEqual(new Set(services.map((one) => one.metadata.name)))
    const [blocked] = services.filter((one) => one.spec.selector === undefined)
    for (const path of ["/metrics", "/readyz", "/livez"]) {
      expect(led[path]).toBe(blocked?.metadata.name)
    }
    expect(kind("ServiceMonitor").spec.endpoints[0]).toMatchObject({
      port: "http",
      path: "/metrics",
    })
    expect(new URL(config.BASE_URL).hostname).toBe(kind("Ingress").spec.rules[0].host)
  })

  it("keeps a company's calls together as deploy/nginx does", () => {
    const by = kind("Ingress").metadata.annotations["nginx.ingress.kubernetes.io/upstream-hash-by"]
    const snippet: string = yamlDocumentOf(`${FOLDER}/controller.yaml`).data["http-snippet"]
    const upstream = projectText("deploy/nginx/ledger-upstream.conf")
    expect(upstream).toContain(`hash ${by} consistent;`)
    const maps = (text: string) => text.match(/^map \S+ \$ledger_c\w+ \{[^}]*^\}/gm) ?? []
    expect(maps(snippet)).toEqual(maps(upstream).slice(0, 2))
    expect(maps(snippet)).toHaveLength(2)
  })
})
