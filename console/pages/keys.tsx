import { Select, SimpleGrid, TextInput } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import { useState } from "react"
import type { Key, KeyList, LimitList, CreatedKey } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { OperationFormButton, dollarsFault } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatusBadge } from "../parts/key-status.tsx"
import { limitLabel } from "../parts/limit-bar.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { OperationChoice } from "../parts/operation-choice.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { SecretDialog } from "../parts/secret-dialog.tsx"
import { Time } from "../parts/time.tsx"

/** The company's keys, or only the reader's. */
export default function KeysPage() {
  const list = useOperationQuery<KeyList>("key-list")
  const [made, setMade] = useState<CreatedKey | null>(null)
  return (
    <PageLayout
      title="Keys"
      description="Programs use a key to call the API as a person, or as the company's app."
      actions={<CreateKey onMade={setMade} />}
    >
      <QueryView query={list}>{({ keys }) => <List keys={keys} />}</QueryView>
      {made === null ? null : (
        <SecretDialog
          title="The new key"
          secrets={[
            ["API key", made.key],
            ...(made.appSecret === undefined ? [] : [["App secret", made.appSecret] as const]),
          ]}
          onClose={() => setMade(null)}
        />
      )}
    </PageLayout>
  )
}

function List({ keys }: KeyList) {
  const { person } = useNames()
  const me = useMe()
  const commandFor = useShellCommand()
  const whose = (personId: string | null) =>
    personId === null ? "The company's app" : person(personId)
  const seesLimits = useCanRun("limit-list")
  const limits = useOperationQuery<LimitList>("limit-list", {}, seesLimits).data?.limits ?? []
  const limitOf = (keyId: string) => limits.find((one) => one.holderId === keyId)
  const columns: readonly TableColumn<Key>[] = [
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
    { title: "Id", isHiddenOnNarrow: true, cell: ({ keyId }) => <Id id={keyId} /> },
    {
      title: "Person",
      isHiddenOnNarrow: true,
      cell: ({ personId }) => whose(personId),
      sortBy: ({ personId }) => person(personId),
    },
    {
      title: "Status",
      cell: ({ status }) => <KeyStatusBadge status={status} />,
      sortBy: (key) => key.status,
    },
    {
      title: "Operations",
      isNumber: true,
      isHiddenOnNarrow: true,
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
      isHiddenOnNarrow: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? "Never" : <Time at={lastUsedAt} />),
      sortBy: ({ lastUsedAt }) => lastUsedAt ?? "",
    },
    {
      title: "Limit",
      isNumber: true,
      isHiddenOnNarrow: true,
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
      title: "Limit used",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ keyId }) => {
        const limit = limitOf(keyId)
        return limit === undefined ? (
          "–"
        ) : (
          <span title={limitLabel(limit)}>
            <Money micros={limit.usedMicros} />
          </span>
        )
      },
    },
    {
      title: "Created",
      isHiddenOnNarrow: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
      sortBy: ({ createdAt }) => createdAt,
    },
  ]
  return (
    <DataTable
      label="Keys"
      columns={columns}
      rows={keys}
      rowKey={({ keyId }) => keyId}
      place={({ keyId }) => ({ to: `keys/${keyId}` })}
      empty={
        <EmptyState
          title="No keys yet"
          description="Programs use a key to call the API. A key is shown once, when it is created."
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

function termsFault(amount: string, other: string): string | null {
  if (amount.trim() === "") return other.trim() === "" ? null : "Enter both amounts or neither"
  return dollarsFault(amount)
}

function CreateKey({ onMade }: { readonly onMade: (made: CreatedKey) => void }) {
  const { personId } = useMe()
  const initial: Values = {
    label: "",
    person: personId,
    operations: [],
    addFundsPerPurchase: "",
    addFundsPerMonth: "",
  }
  return (
    <OperationFormButton<Values, CreatedKey>
      operation="key-create"
      label="Create key"
      title="Create a key"
      variant="filled"
      isOwn
      initialValues={initial}
      validators={{
        label: (label) => (label.trim() === "" ? "Enter a name" : null),
        operations: (chosen) => (chosen.length === 0 ? "Choose at least one operation" : null),
        addFundsPerPurchase: (amount, all) => termsFault(amount, all.addFundsPerMonth),
        addFundsPerMonth: (amount, all) => termsFault(amount, all.addFundsPerPurchase),
      }}
      inputOf={inputOf}
      fields={(form) => <Fields form={form} />}
      submitLabel="Create key"
      successMessage="The key was created."
      onDone={onMade}
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const { people } = useNames()
  const mayAll = useCanRun("key-create")
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.getInputProps("label")} />
      {mayAll ? (
        <Select
          label="Person"
          description="Its spending counts for this person, who must have the permissions for its operations."
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
            label="Can add funds, per purchase"
            description="Dollars; leave empty for no purchases"
            {...form.getInputProps("addFundsPerPurchase")}
          />
          <TextInput
            label="Can add funds, per month"
            description="Dollars"
            {...form.getInputProps("addFundsPerMonth")}
          />
        </SimpleGrid>
      ) : null}
    </>
  )
}
