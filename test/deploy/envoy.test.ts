/** `deploy/envoy`: no Envoy runs here, so the tests parse it and compare it with the tested nginx files. */
import { expect, it } from "vitest"
import type { YamlDocument } from "./project-files.ts"
import { yamlDocumentOf, projectText } from "./project-files.ts"

const { listeners, clusters } = yamlDocumentOf("deploy/envoy/envoy.yaml").static_resources
const [chain] = listeners[0].filter_chains
const manager: YamlDocument = chain.filters[0].typed_config
const routes: readonly YamlDocument[] = manager.route_config.virtual_hosts[0].routes
const { route } = routes.at(-1)
const upstream = projectText("deploy/nginx/ledger-upstream.conf")

it("proxies to the same processes as nginx, with all calls of a company to one", () => {
  const [cluster] = clusters
  const [{ lb_endpoints: endpoints }] = cluster.load_assignment.endpoints
  const addresses = endpoints.map(({ endpoint }: YamlDocument) => endpoint.address.socket_address)
  const servers = [...upstream.matchAll(/^ *server (\S+)/gm)].map(([, server]) => server)
  expect(
    addresses.map(({ address, port_value }: YamlDocument) => `${address}:${port_value}`),
  ).toEqual(servers)
  expect([route.cluster, cluster.load_assignment.cluster_name]).toEqual([
    cluster.name,
    cluster.name,
  ])
  expect(cluster.lb_policy).toBe("RING_HASH")
})

it("reads the company from a key like nginx", () => {
  const [byKey, byAddress] = route.hash_policy
  const { header_name: name, regex_rewrite: rewrite } = byKey.header
  expect([name, byKey.terminal, byAddress.connection_properties.source_ip]).toEqual([
    "authorization",
    true,
    true,
  ])
  const { pattern, substitution } = rewrite
  const envoyPattern = new RegExp(pattern.regex.replace("(?i)", ""), "i")
  const [, nginx = ""] = /map \$http_authorization[^}]*"~\*(\S.*)" \$1;/.exec(upstream) ?? []
  for (const key of ["Bearer cpk_4Zb0x7_secret", "bearer   cpk_9_a_b_c"]) {
    const [, company] = new RegExp(nginx, "i").exec(key) ?? []
    expect(company).toBeDefined()
    expect(key.replace(envoyPattern, substitution.replace("\\", "$"))).toBe(company)
  }
})

it("hides operator routes from the public, and retries only failed connections", () => {
  const hidden = routes.filter(({ direct_response: direct }) => direct?.status === 404)
  expect(hidden.map(({ match }) => match.path)).toEqual(["/metrics", "/readyz", "/livez"])
  expect(route.retry_policy.retry_on).toBe("connect-failure")
  expect(manager.use_remote_address).toBe(true)
})
