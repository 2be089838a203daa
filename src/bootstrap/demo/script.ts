/** The script of the demo: a week of the company `acme`. */
import type { DemoStep } from "./script-runner.ts"
import { callStep, commandStep } from "./script-runner.ts"

export const DEMO_COMPANY = "acme"
/** Length of the demo, hours. */
export const DEMO_HOURS = 168

const company = DEMO_COMPANY
/** Steps that need the jobs of earlier steps to be done. */
const AFTER_JOBS = { isAfterJobs: true } as const
const CUSTOMERS = ["+14155550111", "+12125550122", "+13125550133", "+16175550144"] as const

/** The people, their keys and their spending limits. */
const companySteps: readonly DemoStep[] = [
  commandStep(
    0,
    "company create",
    { name: DEMO_COMPANY, funds: "20", ownerName: "Ada Example", ownerEmail: "ada@example.com" },
    { captures: { acme: "companyId", ada: "ownerId" } },
  ),
  commandStep(0, "card set", { company, verified: true }),
  ...(
    [
      ["ben", "Ben Sample", "admin", []],
      ["cleo", "Cleo Specimen", "developer", ["Use phone", "Spend on environments"]],
      ["dan", "Dan Placeholder", "manager", ["See billing", "Read leads"]],
    ] as const
  ).map(([id, name, role, permissions]) =>
    commandStep(
      0.1,
      "person add",
      { company, name, email: `${id}@example.com`, role, permissions },
      { captures: { [id]: "personId" } },
    ),
  ),
  ...(
    [
      ["back office", "ada", "office", { addFundsPerPurchase: "50", addFundsPerMonth: "200" }],
      ["shop", "ben", "shop", {}],
      ["support agent", "cleo", "agent", {}],
      ["coding agent", "cleo", "coder", {}],
    ] as const
  ).map(([label, person, id, funds]) =>
    commandStep(
      0.2,
      "key create",
      { company, person: `{${person}}`, allOperations: true, label, ...funds },
      { captures: { [id]: "keyId", [`${id}.key`]: "key" } },
    ),
  ),
  commandStep(0.3, "limit set", { company, class: "general", period: "month", dollars: "40" }),
  commandStep(0.3, "limit set", {
    company,
    class: "ai",
    period: "week",
    dollars: "25",
    reminders: ["20", "24"],
  }),
  commandStep(0.3, "limit set", {
    company,
    person: "{ada}",
    class: "general",
    period: "week",
    dollars: "20",
  }),
  commandStep(0.3, "limit set", {
    company,
    person: "{cleo}",
    class: "ai",
    period: "month",
    dollars: "60",
  }),
  commandStep(0.3, "limit set", { company, key: "{agent}", period: "day", dollars: "0.12" }),
]

/** A phone number, a mail domain and a website form. */
const setupSteps: readonly DemoStep[] = [
  callStep(1, "shop", "GET /api/v1/phone/search?areaCode=415", undefined, {
    captures: { offered: "numbers.0.number" },
  }),
  callStep(
    1,
    "shop",
    "POST /api/v1/phone/buy",
    { number: "{offered}" },
    { captures: { number: "number.number", numberId: "number.id" } },
  ),
  callStep(1.1, "shop", "PATCH /api/v1/phone/settings", {
    numbers: [
      {
        id: "{numberId}",
        label: "Shop",
        ringTo: [{ phone: "+14155550190" }],
        recordCalls: true,
        acknowledgeRecording: true,
      },
    ],
  }),
  callStep(
    2,
    "office",
    "POST /api/v1/domain",
    { domain: "acme-example.com" },
    { captures: { domainId: "id" } },
  ),
  callStep(3, "office", "POST /api/v1/domain", { check: true }, AFTER_JOBS),
  callStep(
    3.1,
    "office",
    "POST /api/v1/email/domains",
    { action: "add", domainId: "{domainId}", domain: "mail.acme-example.com" },
    { captures: { sendingId: "id" }, isAfterJobs: true },
  ),
  callStep(
    3.2,
    "office",
    "POST /api/v1/email/domains",
    { action: "check", id: "{sendingId}" },
    AFTER_JOBS,
  ),
  commandStep(
    3.5,
    "repository upload",
    { company, file: "{app.zip}", message: "The first version" },
    AFTER_JOBS,
  ),
  commandStep(
    4,
    "form add",
    { company, name: "Ask for a quote", hostnames: ["www.acme-example.com"] },
    { captures: { form: "formId" } },
  ),
]

/** The company's code: the files of a web page. */
export const DEMO_APP_FILES = {
  "README.md": "# acme\n\nThe page of a company that is made up.\n",
  "index.html": "<!doctype html>\n<title>acme</title>\n<h1>Hello from acme</h1>\n",
}

/** AI charges of each day: hour, person, item and dollars. */
const MODEL_SPENDING = [
  [5.2, "cleo", "code review", ["0.84", "1.12", "0.66", "0.95", "1.31", "0.72", "0.88"]],
  [8.7, "dan", "chat completion", ["0.31", "0.22", "0.47", "0.19", "0.36", "0.28", "0.41"]],
  [13.4, "ben", "document summary", ["0.62", "0.48", "0.91", "0.55", "0.37", "0.83", "0.44"]],
  [20.1, "cleo", "embeddings", ["0.14", "0.35", "0.21", "0.42", "0.18", "0.29", "0.33"]],
] as const

const modelSteps: readonly DemoStep[] = MODEL_SPENDING.flatMap(([hour, who, item, days]) =>
  days.map((dollars, day) =>
    commandStep(
      day * 24 + hour,
      "charge",
      { company, class: "ai", person: `{${who}}`, item, dollars, id: `${who}-${item[0]}-${day}` },
      {},
    ),
  ),
)

const TEXT_BODIES = [
  "Your order is packed and leaves today.",
  "We open at nine tomorrow. See you!",
  "Your invoice is ready: reply if anything looks wrong.",
  "Thanks for waiting: the part is in stock again.",
] as const

/** Steps of every day: outgoing and incoming texts, a call, mails, address lookups, a lead. */
const dailySteps: readonly DemoStep[] = [0, 1, 2, 3, 4, 5, 6].flatMap((day) => {
  const at = (hour: number) => day * 24 + hour
  const customer = CUSTOMERS[day % CUSTOMERS.length] as string
  const other = CUSTOMERS[(day + 1) % CUSTOMERS.length] as string
  const text = (to: string, n: number) => ({
    to,
    from: "{number}",
    body: TEXT_BODIES[(day + n) % TEXT_BODIES.length],
  })
  return [
    callStep(at(6), "shop", "POST /api/v1/phone/messages", text(customer, 0), {
      isAfterJobs: true,
    }),
    callStep(at(6), "shop", "POST /api/v1/phone/messages", text(other, 1)),
    callStep(at(6.5), "agent", "POST /api/v1/phone/messages", text(customer, 2), {
      mayBeRejected: true,
    }),
    commandStep(at(6.5), "carrier text-in", {
      company,
      from: customer,
      to: "{number}",
      body: "Great, thank you.",
    }),
    commandStep(at(9), "carrier call-in", {
      company,
      from: other,
      to: "{number}",
      seconds: String(45 + 37 * day),
      outcome: day % 3 === 2 ? "voicemail" : "answered",
      recorded: day % 3 !== 2,
    }),
    callStep(at(10), "office", "POST /api/v1/email/send", {
      from: "Acme <hello@mail.acme-example.com>",
      to: CUSTOMERS.slice(0, 2 + (day % 3)).map((_one, n) => `customer${n + 1}@example.net`),
      subject: "News from acme",
      text: "What is new this week.",
    }),
    callStep(at(11), "shop", "POST /api/v1/places", {
      action: "suggest",
      input: `${12 + day} map`,
      sessionToken: `checkout-${day}`,
    }),
    commandStep(at(12), "lead add", {
      company,
      form: "{form}",
      firstName: "Lead",
      lastName: `Number ${day + 1}`,
      email: `lead${day + 1}@example.net`,
      message: "What would ten of these cost?",
    }),
  ]
})

/** An agent that sends texts until the daily limit of its key rejects one. */
const burstSteps: readonly DemoStep[] = Array.from({ length: 15 }, (_one, n) =>
  callStep(
    74 + n / 60,
    "agent",
    "POST /api/v1/phone/messages",
    { to: CUSTOMERS[n % 4], from: "{number}", body: `Ticket ${1040 + n} is answered.` },
    { mayBeRejected: true },
  ),
)

const BOX_LABELS = ["Fix the tests", "Try the new checkout", "Update packages", "Speed up search"]

/** How long a box runs, hours. Each of its minutes is a step, and the demo must start quickly. */
const boxHours = (n: number): number => (5 + 2 * n) / 60
/** Interval between an agent's commands in its box, hours; an idle box would stop. */
const EXEC_EVERY_H = 0.05
const FIRST_EXEC_H = 0.03
const BOX_START_HOURS = [30, 54, 101, 150] as const

/** Boxes in which an agent works for some minutes. */
const boxSteps: readonly DemoStep[] = BOX_START_HOURS.flatMap((at, n) => {
  const times = Math.ceil((boxHours(n) - FIRST_EXEC_H) / EXEC_EVERY_H)
  return [
    callStep(
      at,
      "coder",
      "POST /api/v1/sandboxes",
      {
        size: n % 2 === 0 ? "small" : "large",
        branch: "main",
        maxMinutes: 30,
        label: BOX_LABELS[n],
      },
      { captures: { [`box${n}`]: "id" } },
    ),
    ...Array.from({ length: times }, (_one, k) =>
      callStep(
        at + FIRST_EXEC_H + k * EXEC_EVERY_H,
        "coder",
        `POST /api/v1/sandboxes/{box${n}}/exec`,
        { command: k === 0 ? "ls && cat README.md" : "cat index.html" },
        AFTER_JOBS,
      ),
    ),
    callStep(
      at + boxHours(n),
      "coder",
      `POST /api/v1/sandboxes/{box${n}}/stop`,
      undefined,
      AFTER_JOBS,
    ),
  ]
})

/** Whether a box runs. Steps then run due jobs first: a box whose minutes are not charged is lost. */
const isBoxRunning = (at: number): boolean =>
  BOX_START_HOURS.some((from, n) => at > from && at <= from + boxHours(n))

/** Charges that use up the funds, a card payment and refunds. */
const moneySteps: readonly DemoStep[] = [
  commandStep(26, "charge", {
    company,
    class: "general",
    person: "{ben}",
    item: "label printing",
    dollars: "2.4",
    id: "labels-1",
  }),
  commandStep(
    95,
    "charge",
    { company, class: "general", person: "{ben}", item: "print run", dollars: "14.5", id: "run-1" },
    { mayBeRejected: true },
  ),
  callStep(95.5, "office", "POST /api/v1/credits", { amount: 50 }),
  commandStep(95.6, "charge", {
    company,
    class: "general",
    person: "{ben}",
    item: "print run",
    dollars: "14.5",
    id: "run-2",
  }),
  commandStep(
    100,
    "charge refund",
    { company, chargeId: "ben-d-3" },
    { reason: "The model was down and did not answer." },
  ),
  commandStep(130, "person invite", { company, email: "eve@example.com", role: "developer" }),
]

/** All steps in order of time; steps with the same time keep their order here. */
export const DEMO_STEPS: readonly DemoStep[] = [
  ...companySteps,
  ...setupSteps,
  ...modelSteps,
  ...dailySteps,
  ...burstSteps,
  ...boxSteps,
  ...moneySteps,
]
  .map((step) => (isBoxRunning(step.at) ? { ...step, isAfterJobs: true } : step))
  .toSorted((one, other) => one.at - other.at)
