/**
 * `deploy/kubernetes`: no cluster runs here, so the tests parse the files and compare them with the project; if
 * kubectl is installed, it builds them.
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
/** Files that are not resources of the kustomization. */
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

  it("use API versions that clusters still serve", () => {
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

  it("are built by kubectl", (ctx) => {
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
    const commands = instructionArguments(dockerStagesOf("Dockerfile").at(-1) ?? [], "RUN").join()
    expect(commands).toContain(`--uid ${pod.securityContext.runAsUser} `)
    expect(commands).toContain(`--gid ${pod.securityContext.runAsGroup} `)
    expect(pod.securityContext.runAsNonRoot).toBe(true)
  })

  it("has valid settings", () => {
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

  it("is probed at the health routes and the port of the program", () => {
    const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map(
      (name) => container[name].httpGet,
    )
    const { live, ready } = HEALTH_URLS
    expect(probes).toEqual([live, live, ready].map((path) => ({ path, port: "http" })))
    expect(container.ports).toEqual([{ name: "http", containerPort: readConfig({}).port }])
  })

  it("runs one version at a time, and may take an hour to start", () => {
    expect(deployment.spec.strategy).toEqual({ type: "Recreate" })
    const { periodSeconds, failureThreshold } = container.startupProbe
    const maxStartSeconds = periodSeconds * failureThreshold
    expect(maxStartSeconds).toBe(3_600)
    expect(deployment.spec.progressDeadlineSeconds).toBeGreaterThan(maxStartSeconds)
  })

  it("has time to stop cleanly after the pause in which no new calls arrive", () => {
    const pause = container.lifecycle.preStop.sleep.seconds
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10)
  })

  it("mounts the folders that it writes, and claims the shared ones", () => {
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

describe("the other resources", () => {
  it("select the deployment's pods", () => {
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

  it("scale it by CPU, within the connections of PostgreSQL", () => {
    const { scaleTargetRef, minReplicas, maxReplicas, metrics } =
      kind("HorizontalPodAutoscaler").spec
    expect(scaleTargetRef.name).toBe(deployment.metadata.name)
    expect(metrics[0].resource.name).toBe("cpu")
    expect(container.resources.requests.cpu).toBeDefined()
    expect(minReplicas).toBeGreaterThan(kind("PodDisruptionBudget").spec.maxUnavailable)
    // `docs/deploy.md` has the number of connections that PostgreSQL needs.
    const maxConnections = maxReplicas * Number(config.DATABASE_CONNECTIONS)
    expect(projectText("docs/deploy.md")).toContain(`max_connections=${maxConnections + 60}`)
  })

  it("route to existing services, and hide cluster routes from the public", () => {
    const services = resources.filter((one) => one.kind === "Service")
    const paths: YamlDocument[] = kind("Ingress").spec.rules[0].http.paths
    const serviceByPath = Object.fromEntries(
      paths.map(({ path, backend }) => [path, backend.service.name]),
    )
    expect(new Set(Object.values(serviceByPath))).toEqual(
      new Set(services.map((one) => one.metadata.name)),
    )
    const [blocked] = services.filter((one) => one.spec.selector === undefined)
    for (const path of ["/metrics", "/readyz", "/livez"]) {
      expect(serviceByPath[path]).toBe(blocked?.metadata.name)
    }
    expect(kind("ServiceMonitor").spec.endpoints[0]).toMatchObject({
      port: "http",
      path: "/metrics",
    })
    expect(new URL(config.BASE_URL).hostname).toBe(kind("Ingress").spec.rules[0].host)
  })

  it("send a company's calls to one process like deploy/nginx", () => {
    const by = kind("Ingress").metadata.annotations["nginx.ingress.kubernetes.io/upstream-hash-by"]
    const snippet: string = yamlDocumentOf(`${FOLDER}/controller.yaml`).data["http-snippet"]
    const upstream = projectText("deploy/nginx/ledger-upstream.conf")
    expect(upstream).toContain(`hash ${by} consistent;`)
    const maps = (text: string) => text.match(/^map \S+ \$ledger_c\w+ \{[^}]*^\}/gm) ?? []
    expect(maps(snippet)).toEqual(maps(upstream).slice(0, 2))
    expect(maps(snippet)).toHaveLength(2)
  })
})
