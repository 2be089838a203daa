import { SimpleGrid, Stack } from "@mantine/core"
import { useBoxes } from "../api/boxes.ts"
import type { Box } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { holds, useMe } from "../api/session.ts"
import { BOX_WORDS, BoxStatus } from "../parts/box-status.tsx"
import { CopyAs, curlOf, curlOfChange } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { TextLink } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money, dollarMicros } from "../parts/money.tsx"
import { Figure, Page, Section } from "../parts/page.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

const START = "/api/v1/sandboxes"

/** The boxes: Linux machines with the company's code, for AI workers. */
export default function Boxes() {
  const { seesAll, found } = useBoxes()
  const mayStart = holds(useMe(), "Create test environments")
  return (
    <Page
      title="Boxes"
      says="Linux machines with the company's code, for AI workers. Each minute is a charge."
      actions={<CopyAs what="curl" command={curlOf(seesAll ? `${START}?all=1` : START)} />}
    >
      <Loaded of={found}>
        {({ boxes }) => (
          <>
            <Figures boxes={boxes} />
            <List {...{ boxes, seesAll, mayStart }} />
          </>
        )}
      </Loaded>
      {mayStart ? <HowToStart /> : null}
    </Page>
  )
}

function HowToStart() {
  return (
    <Section
      title="Start one"
      says="A key does it, with the operation sandbox.start; the console starts none itself. AI clients have it as a tool."
    >
      <TextView
        title="By the API"
        text={curlOfChange({
          method: "POST",
          path: START,
          body: { size: "small", label: "fix the tests" },
        })}
      />
    </Section>
  )
}

/** What a box cost so far, micros. */
const costOf = ({ spent }: Box): number => dollarMicros(spent.dollars)

function Figures({ boxes }: { readonly boxes: readonly Box[] }) {
  if (boxes.length === 0) return null
  const sum = (of: (box: Box) => number): number => boxes.reduce((all, box) => all + of(box), 0)
  return (
    <SimpleGrid cols={{ base: 3 }} maw={640}>
      <Figure label="Running">{boxes.filter(({ status }) => status === "running").length}</Figure>
      <Figure label="Minutes">{sum(({ spent }) => spent.minutes).toLocaleString("en-US")}</Figure>
      <Figure label="Cost">
        <Money micros={sum(costOf)} decimals={2} />
      </Figure>
    </SimpleGrid>
  )
}

interface ListProps {
  readonly boxes: readonly Box[]
  readonly seesAll: boolean
  readonly mayStart: boolean
}

function List({ boxes, seesAll, mayStart }: ListProps) {
  const [{ status, person }] = useFilters()
  const names = useNames()
  const shown = boxes.filter(
    (box) =>
      (status === undefined || box.status === status) &&
      (person === undefined || box.personId === person),
  )
  const statuses = { name: "status", label: "Status", options: Object.entries(BOX_WORDS) }
  const people = { name: "person", label: "Person", options: names.people }
  const whose: readonly Column<Box>[] = [
    {
      title: "Of",
      isWide: true,
      cell: ({ personId }) => names.person(personId ?? null),
      sortBy: ({ personId }) => names.person(personId ?? null),
    },
    {
      title: "Key",
      isWide: true,
      cell: ({ keyId }) => names.key(keyId ?? null),
      sortBy: ({ keyId }) => names.key(keyId ?? null),
    },
  ]
  return (
    <Stack gap="sm">
      <FilterBar filters={seesAll ? [statuses, people] : [statuses]} />
      <DataTable
        {...{ label: "Boxes", rows: shown }}
        columns={[...COLUMNS, ...(seesAll ? whose : []), ...NUMBERS]}
        rowKey={({ id }) => id}
        place={({ id }) => ({ to: `boxes/${id}` })}
        empty={boxes.length > 0 ? <Empty {...NARROWED} /> : <None {...{ seesAll, mayStart }} />}
      />
    </Stack>
  )
}

const NARROWED = { title: "No box stands so", says: "Choose another status, or show all." }

/** Whoever sees their own boxes alone is not told that there are none. */
function None({ seesAll, mayStart }: Omit<ListProps, "boxes">) {
  return (
    <Empty
      title={seesAll ? "There is no box" : "You have no box"}
      says={
        <>
          {seesAll ? null : "You see your own boxes; owners and admins see everybody's. "}
          {mayStart
            ? "A box is started by a key, as below. "
            : "Starting one takes the permission “Create test environments”. "}
          It is listed until somebody deletes it; what it cost stays in{" "}
          <TextLink to="spending">Spending</TextLink>.
        </>
      }
    />
  )
}

const COLUMNS: readonly Column<Box>[] = [
  {
    title: "Box",
    cell: ({ label, id }) => label ?? `…${id.slice(-6)}`,
    sortBy: ({ label, id }) => label ?? id,
  },
  {
    title: "Status",
    cell: ({ status }) => <BoxStatus status={status} />,
    sortBy: ({ status }) => status,
  },
  { title: "Size", isWide: true, cell: ({ size }) => size, sortBy: ({ size }) => size },
  {
    title: "Started",
    isWide: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
    sortBy: ({ createdAt }) => createdAt,
  },
]

const NUMBERS: readonly Column<Box>[] = [
  {
    title: "Minutes",
    isNumber: true,
    cell: ({ spent }) => spent.minutes,
    sortBy: ({ spent }) => spent.minutes,
  },
  {
    title: "Cost",
    isNumber: true,
    cell: (box) => <Money micros={costOf(box)} decimals={3} />,
    sortBy: costOf,
  },
]
