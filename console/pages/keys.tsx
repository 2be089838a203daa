import { Select, SimpleGrid, TextInput } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import { useState } from "react"
import type { Key, KeyList, LimitList, MadeKey } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FormDialog, dollarsFault } from "../parts/form-dialog.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatus } from "../parts/key-status.tsx"
import { limitWords } from "../parts/limit-bar.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { OperationChoice } from "../parts/operation-choice.tsx"
import { Page } from "../parts/page.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { ShownOnce } from "../parts/shown-once.tsx"
import { Time } from "../parts/time.tsx"

/** The company's keys, or the reader's own. */
export default function Keys() {
  const list = useAnswer<KeyList>("key-list")
  const [made, setMade] = useState<MadeKey | null>(null)
  return (
    <Page
      title="Keys"
      says="By a key, a program calls the API as one person, or as the company's app."
      actions={<NewKey onMade={setMade} />}
    >
      <Loaded of={list}>{({ keys }) => <List keys={keys} />}</Loaded>
      {made === null ? null : (
        <ShownOnce
          title="The new key"
          secrets={[
            ["API key", made.key],
            ...(made.appSecret === undefined ? [] : [["App secret", made.appSecret] as const]),
          ]}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  )
}

function List({ keys }: KeyList) {
  const { person } = useNames()
  const me = useMe()
  const commandFor = useShellCommand()
  const whose = (personId: string | null) =>
    personId === null ? "The company's app" : person(personId)
  const seesLimits = useMay("limit-list")
  const limits = useAnswer<LimitList>("limit-list", {}, seesLimits).data?.limits ?? []
  const limitOf = (keyId: string) => limits.find((one) => one.holderId === keyId)
  const columns: readonly Column<Key>[] = [
    {
      title: "Name",
      cell: ({ label, keyId, personId }) => (
        <>
          {label ?? keyId}
          <NarrowLine>{whose(personId)}</NarrowLine>
        </>
      ),
      sortBy: (key) => key.label ?? "",
    },
    { title: "Id", isWide: true, cell: ({ keyId }) => <Id id={keyId} /> },
    {
      title: "Of",
      isWide: true,
      cell: ({ personId }) => whose(personId),
      sortBy: ({ personId }) => person(personId),
    },
    {
      title: "Status",
      cell: ({ status }) => <KeyStatus status={status} />,
      sortBy: (key) => key.status,
    },
    {
      title: "Operations",
      isNumber: true,
      isWide: true,
      cell: ({ operations }) => operations.length,
      sortBy: ({ operations }) => operations.length,
    },
    {
      title: "Spent this month",
      isNumber: true,
      cell: ({ spentThisMonthMicros }) => <Money micros={spentThisMonthMicros} />,
      sortBy: ({ spentThisMonthMicros }) => spentThisMonthMicros,
    },
    {
      title: "Last used",
      isWide: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? "Never" : <Time at={lastUsedAt} />),
      sortBy: ({ lastUsedAt }) => lastUsedAt ?? "",
    },
    {
      title: "Own limit",
      isNumber: true,
      isWide: true,
      cell: ({ keyId }) => {
        const limit = limitOf(keyId)
        return limit === undefined ? (
          "–"
        ) : (
          <>
            <Money micros={limit.amountMicros} /> a {limit.period}
          </>
        )
      },
    },
    {
      title: "Used of it",
      isNumber: true,
      isWide: true,
      cell: ({ keyId }) => {
        const limit = limitOf(keyId)
        return limit === undefined ? (
          "–"
        ) : (
          <span title={limitWords(limit)}>
            <Money micros={limit.usedMicros} />
          </span>
        )
      },
    },
    {
      title: "Created",
      isWide: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
      sortBy: ({ createdAt }) => createdAt,
    },
  ]
  return (
    <DataTable
      {...{ label: "Keys", columns, rows: keys }}
      rowKey={({ keyId }) => keyId}
      place={({ keyId }) => ({ to: `keys/${keyId}` })}
      empty={
        <Empty
          title="No keys yet"
          says="A key lets a program call the API. It is shown once, when it is made."
          command={commandFor(
            "key create",
            `--person ${me.personId} --operation phone.messages.send`,
          )}
        />
      }
    />
  )
}

type Values = {
  readonly label: string
  readonly person: string
  readonly operations: readonly string[]
  readonly addFundsPerPurchase: string
  readonly addFundsPerMonth: string
}

const APP = "app"

function inputOf({ person, operations, label, ...terms }: Values) {
  const whose = person === APP ? { app: true } : { person }
  return { label: label.trim(), ...whose, operations, ...terms }
}

function termsFault(own: string, other: string): string | null {
  if (own.trim() === "") return other.trim() === "" ? null : "Both amounts go together"
  return dollarsFault(own)
}

function NewKey({ onMade }: { readonly onMade: (made: MadeKey) => void }) {
  const { personId } = useMe()
  const initial: Values = {
    label: "",
    person: personId,
    operations: [],
    addFundsPerPurchase: "",
    addFundsPerMonth: "",
  }
  return (
    <FormDialog<Values, MadeKey>
      operation="key-create"
      label="Create key"
      title="Create a key"
      variant="filled"
      isOwn
      initial={initial}
      check={{
        label: (label) => (label.trim() === "" ? "A name, by which you know it again" : null),
        operations: (chosen) => (chosen.length === 0 ? "Choose at least one operation" : null),
        addFundsPerPurchase: (own, all) => termsFault(own, all.addFundsPerMonth),
        addFundsPerMonth: (own, all) => termsFault(own, all.addFundsPerPurchase),
      }}
      inputOf={inputOf}
      fields={(form) => <Fields form={form} />}
      does="Create key"
      done="The key was made."
      onDone={onMade}
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const { people } = useNames()
  const mayAll = useMay("key-create")
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.getInputProps("label")} />
      {mayAll ? (
        <Select
          label="Whose"
          description="What it spends counts for this person. They must be allowed what the key is."
          allowDeselect={false}
          data={[
            ...people.map(([value, label]) => ({ value, label })),
            { value: APP, label: "The company's app" },
          ]}
          {...form.getInputProps("person")}
        />
      ) : null}
      <OperationChoice
        chosen={form.values.operations}
        onChoose={(operations) => form.setFieldValue("operations", operations)}
        error={form.errors["operations"] === undefined ? null : String(form.errors["operations"])}
      />
      {mayAll ? (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label="May add funds, at a time"
            description="Dollars; empty: it may not"
            {...form.getInputProps("addFundsPerPurchase")}
          />
          <TextInput
            label="May add funds, a month"
            description="Dollars"
            {...form.getInputProps("addFundsPerMonth")}
          />
        </SimpleGrid>
      ) : null}
    </>
  )
}
