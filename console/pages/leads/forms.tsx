import { Checkbox, TagsInput, TextInput } from "@mantine/core"
import { useState } from "react"
import type { FormList, LeadForm } from "../../api/outreach-answers.ts"
import { useOperationQuery, useCommand, useOperation } from "../../api/operations.ts"
import { ActionButton } from "../../parts/action-button.tsx"
import { CopyCommandButton } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { OperationFormButton } from "../../parts/operation-form-button.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { useShellCommand } from "../../parts/shell-command.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { EmbedFormButton, EmbedFormDialog } from "./embed.tsx"

/** The forms that collect leads. */
export function LeadForms() {
  const found = useOperationQuery<FormList>("form-list")
  const operation = useOperation("form-list")
  const commandOf = useCommand()
  const [madeId, setMadeId] = useState<string | null>(null)
  const made = found.data?.forms.find(({ formId }) => formId === madeId)
  return (
    <Section
      title="Forms"
      description="Each form has a hosted page, and HTML for your own page."
      actions={
        <>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, {})} />}
          <AddForm onMade={setMadeId} />
        </>
      }
    >
      <QueryView query={found}>{({ forms }) => <List forms={forms} />}</QueryView>
      {made === undefined ? null : <EmbedFormDialog form={made} onClose={() => setMadeId(null)} />}
    </Section>
  )
}

function List({ forms }: FormList) {
  const commandFor = useShellCommand()
  const columns: readonly TableColumn<LeadForm>[] = [
    { title: "Name", cell: ({ name }) => name ?? "Erased", sortBy: ({ name }) => name ?? "" },
    {
      title: "Status",
      cell: ({ status }) =>
        status === "open" ? (
          <StatusBadge tone="good">Open</StatusBadge>
        ) : (
          <StatusBadge tone="quiet">Closed</StatusBadge>
        ),
      sortBy: ({ status }) => status,
    },
    { title: "Hosted page", isHiddenOnNarrow: true, cell: ({ url }) => <WebLink address={url} /> },
    {
      title: "Allowed sites",
      isHiddenOnNarrow: true,
      cell: ({ hostnames }) => (hostnames.length === 0 ? "Any site" : hostnames.join(", ")),
    },
    {
      title: "Opened",
      isHiddenOnNarrow: true,
      cell: ({ openedAt }) => <Time at={openedAt} />,
      sortBy: (one) => one.openedAt,
    },
    { title: "Change", isNumber: true, cell: (form) => <Row form={form} /> },
  ]
  return (
    <DataTable
      label="Forms"
      columns={columns}
      rows={forms}
      rowKey={({ formId }) => formId}
      place={({ formId }) => ({ to: "leads", search: { form: formId } })}
      empty={
        <EmptyState
          title="No forms yet"
          description="Visitors of your website contact you with a form. Each submission is a lead."
          command={commandFor("form add", "--name 'Contact us'")}
        />
      }
    />
  )
}

function Row({ form }: { readonly form: LeadForm }) {
  if (form.status === "closed") return null
  return (
    <>
      <EmbedFormButton form={form} />
      <ActionButton
        operation="form-close"
        input={{ formId: form.formId }}
        label="Close"
        variant="subtle"
        description="The form takes no more leads, for good. Its leads stay."
        successMessage="The form was closed."
        isDangerous
      />
    </>
  )
}

type Values = {
  readonly name: string
  readonly hostnames: readonly string[]
  readonly refuseLinks: boolean
}

function AddForm({ onMade }: { readonly onMade: (formId: string) => void }) {
  return (
    <OperationFormButton<Values, { readonly formId: string }>
      operation="form-add"
      label="Open a form"
      variant="filled"
      initialValues={{ name: "", hostnames: [], refuseLinks: false }}
      validators={{
        name: (name) => (name.trim() === "" ? "Enter a name" : null),
        hostnames: (names) =>
          names.every((name) => /^[a-z0-9.-]+$/i.test(name))
            ? null
            : "Must be host names such as www.acme.com, without https:// and without a path",
      }}
      inputOf={({ name, ...rest }) => ({ ...rest, name: name.trim() })}
      fields={(form) => (
        <>
          <TextInput
            label="Name"
            description="Shown above the form"
            maxLength={200}
            data-autofocus
            {...form.getInputProps("name")}
          />
          <TagsInput
            label="Host names of your pages"
            description="Sites that may embed the form, each with Enter"
            value={[...form.values.hostnames]}
            onChange={(hostnames) => form.setFieldValue("hostnames", hostnames)}
            error={form.errors["hostnames"]}
          />
          <Checkbox
            label="Reject spam with many links"
            description="Rejects submissions with three links and no email"
            {...form.getInputProps("refuseLinks", { type: "checkbox" })}
          />
        </>
      )}
      submitLabel="Open the form"
      successMessage="The form now accepts leads."
      onDone={({ formId }) => onMade(formId)}
    />
  )
}
