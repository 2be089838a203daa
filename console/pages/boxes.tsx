import { SimpleGrid, Stack } from "@mantine/core"
import { useBoxes } from "../api/boxes.ts"
import type { Box } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { hasPermission, useMe } from "../api/session.ts"
import { BOX_STATUS_LABELS, BoxStatusBadge } from "../parts/box-status.tsx"
import { CopyCommandButton, curlOf, curlOfChange } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { TextLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, dollarMicros } from "../parts/money.tsx"
import { KeyFigure, PageLayout, Section } from "../parts/page-layout.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

const START = "/api/v1/sandboxes"

/** The list of boxes: Linux machines with the company's code, for AI workers. */
export default function BoxesPage() {
  const { seesAll, found } = useBoxes()
  const mayStart = hasPermission(useMe(), "Create test environments")
  return (
    <PageLayout
      title="Boxes"
      description="Linux machines with the company's code, for AI workers. Each minute is a charge."
      actions={
        <CopyCommandButton what="curl" command={curlOf(seesAll ? `${START}?all=1` : START)} />
      }
    >
      <QueryView query={found}>
        {({ boxes }) => (
          <>
            <Figures boxes={boxes} />
            <BoxTable boxes={boxes} seesAll={seesAll} mayStart={mayStart} />
          </>
        )}
      </QueryView>
      {mayStart ? <HowToStart /> : null}
    </PageLayout>
  )
}

function HowToStart() {
  return (
    <Section
      title="Start a box"
      description="Boxes are started with a key that has the operation sandbox.start, not in the console. AI clients have a tool for it."
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

/** Cost of a box so far, micro-dollars. */
const costOf = ({ spent }: Box): number => dollarMicros(spent.dollars)

function Figures({ boxes }: { readonly boxes: readonly Box[] }) {
  if (boxes.length === 0) return null
  const sum = (of: (box: Box) => number): number => boxes.reduce((all, box) => all + of(box), 0)
  return (
    <SimpleGrid cols={{ base: 3 }} maw={640}>
      <KeyFigure label="Running">
        {boxes.filter(({ status }) => status === "running").length}
      </KeyFigure>
      <KeyFigure label="Minutes">
        {sum(({ spent }) => spent.minutes).toLocaleString("en-US")}
      </KeyFigure>
      <KeyFigure label="Cost">
        <Money micros={sum(costOf)} decimals={2} />
      </KeyFigure>
    </SimpleGrid>
  )
}

interface ListProps {
  readonly boxes: readonly Box[]
  readonly seesAll: boolean
  readonly mayStart: boolean
}

function BoxTable({ boxes, seesAll, mayStart }: ListProps) {
  const [{ status, person }] = useFilters()
  const names = useNames()
  const shown = boxes.filter(
    (box) =>
      (status === undefined || box.status === status) &&
      (person === undefined || box.personId === person),
  )
  const statuses = { name: "status", label: "Status", options: Object.entries(BOX_STATUS_LABELS) }
  const people = { name: "person", label: "Person", options: names.people }
  const whose: readonly TableColumn<Box>[] = [
    {
      title: "Person",
      isHiddenOnNarrow: true,
      cell: ({ personId }) => names.person(personId ?? null),
      sortBy: ({ personId }) => names.person(personId ?? null),
    },
    {
      title: "Key",
      isHiddenOnNarrow: true,
      cell: ({ keyId }) => names.key(keyId ?? null),
      sortBy: ({ keyId }) => names.key(keyId ?? null),
    },
  ]
  return (
    <Stack gap="sm">
      <FilterBar filters={seesAll ? [statuses, people] : [statuses]} />
      <DataTable
        label="Boxes"
        rows={shown}
        columns={[...COLUMNS, ...(seesAll ? whose : []), ...NUMBERS]}
        rowKey={({ id }) => id}
        place={({ id }) => ({ to: `boxes/${id}` })}
        empty={
          boxes.length > 0 ? (
            <EmptyState {...NO_MATCH} />
          ) : (
            <NoBoxes seesAll={seesAll} mayStart={mayStart} />
          )
        }
      />
    </Stack>
  )
}

const NO_MATCH = { title: "No matching boxes", description: "Choose another status, or show all." }

/** The empty list; readers of only their own boxes get another text. */
function NoBoxes({ seesAll, mayStart }: Omit<ListProps, "boxes">) {
  return (
    <EmptyState
      title={seesAll ? "No boxes" : "You have no boxes"}
      description={
        <>
          {seesAll ? null : "You see your own boxes; owners and admins see all boxes. "}
          {mayStart
            ? "Start a box with a key, as below. "
            : "You need the permission “Create test environments” to start one. "}
          Boxes stay listed until they are deleted; their charges stay in{" "}
          <TextLink to="spending">Spending</TextLink>.
        </>
      }
    />
  )
}

const COLUMNS: readonly TableColumn<Box>[] = [
  {
    title: "Box",
    cell: ({ label, id }) => label ?? `…${id.slice(-6)}`,
    sortBy: ({ label, id }) => label ?? id,
  },
  {
    title: "Status",
    cell: ({ status }) => <BoxStatusBadge status={status} />,
    sortBy: ({ status }) => status,
  },
  { title: "Size", isHiddenOnNarrow: true, cell: ({ size }) => size, sortBy: ({ size }) => size },
  {
    title: "Started",
    isHiddenOnNarrow: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
    sortBy: ({ createdAt }) => createdAt,
  },
]

const NUMBERS: readonly TableColumn<Box>[] = [
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
