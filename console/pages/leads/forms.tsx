import { Checkbox, TagsInput, TextInput } from "@mantine/core"
import { useState } from "react"
import type { FormList, LeadForm } from "../../api/work-answers.ts"
import { useAnswer, useCommand, useOperation } from "../../api/operations.ts"
import { Action } from "../../parts/action.tsx"
import { CopyAs } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FormDialog } from "../../parts/form-dialog.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Section } from "../../parts/page.tsx"
import { useShellCommand } from "../../parts/shell-command.ts"
import { Status } from "../../parts/status.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { Embed, EmbedDialog } from "./embed.tsx"

/** The forms by which leads come in. */
export function Forms() {
  const found = useAnswer<FormList>("form-list")
  const operation = useOperation("form-list")
  const commandOf = useCommand()
  const [madeId, setMadeId] = useState<string | null>(null)
  const made = found.data?.forms.find(({ formId }) => formId === madeId)
  return (
    <Section
      title="Forms"
      says="Each has a page that is hosted here, and HTML for a page of your own."
      actions={
        <>
          {operation === null ? null : <CopyAs command={commandOf(operation, {})} />}
          <AddForm onMade={setMadeId} />
        </>
      }
    >
      <Loaded of={found}>{({ forms }) => <List forms={forms} />}</Loaded>
      {made === undefined ? null : <EmbedDialog form={made} onClose={() => setMadeId(null)} />}
    </Section>
  )
}

function List({ forms }: FormList) {
  const commandFor = useShellCommand()
  const columns: readonly Column<LeadForm>[] = [
    { title: "Name", cell: ({ name }) => name ?? "Erased", sortBy: ({ name }) => name ?? "" },
    {
      title: "Status",
      cell: ({ status }) =>
        status === "open" ? (
          <Status tone="good">Open</Status>
        ) : (
          <Status tone="quiet">Closed</Status>
        ),
      sortBy: ({ status }) => status,
    },
    { title: "Its page", isWide: true, cell: ({ url }) => <WebLink address={url} /> },
    {
      title: "From the pages of",
      isWide: true,
      cell: ({ hostnames }) => (hostnames.length === 0 ? "Any site" : hostnames.join(", ")),
    },
    {
      title: "Opened",
      isWide: true,
      cell: ({ openedAt }) => <Time at={openedAt} />,
      sortBy: (one) => one.openedAt,
    },
    { title: "Change", isNumber: true, cell: (form) => <Row form={form} /> },
  ]
  return (
    <DataTable
      {...{ label: "Forms", columns, rows: forms }}
      rowKey={({ formId }) => formId}
      place={({ formId }) => ({ to: "leads", search: { form: formId } })}
      empty={
        <Empty
          title="No forms yet"
          says="A form lets people of your web site ask to be answered; each that is sent is a lead."
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
      <Embed form={form} />
      <Action
        operation="form-close"
        input={{ formId: form.formId }}
        label="Close"
        variant="subtle"
        says="It takes no more leads, for ever. Those that came by it stay."
        done="The form was closed."
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
    <FormDialog<Values, { readonly formId: string }>
      operation="form-add"
      label="Open a form"
      variant="filled"
      initial={{ name: "", hostnames: [], refuseLinks: false }}
      check={{
        name: (name) => (name.trim() === "" ? "What stands above it" : null),
        hostnames: (names) =>
          names.every((name) => /^[a-z0-9.-]+$/i.test(name))
            ? null
            : "Host names such as www.acme.com, without https:// and without a path",
      }}
      inputOf={({ name, ...rest }) => ({ ...rest, name: name.trim() })}
      fields={(form) => (
        <>
          <TextInput
            label="Name"
            description="It stands above the form"
            maxLength={200}
            data-autofocus
            {...form.getInputProps("name")}
          />
          <TagsInput
            label="Host names of your pages"
            description="Whose pages may send it beside this service's own, each with Enter"
            value={[...form.values.hostnames]}
            onChange={(hostnames) => form.setFieldValue("hostnames", hostnames)}
            error={form.errors["hostnames"]}
          />
          <Checkbox
            label="Take many links for a robot's"
            description="Three links and no email to answer to"
            {...form.getInputProps("refuseLinks", { type: "checkbox" })}
          />
        </>
      )}
      does="Open the form"
      done="The form takes leads from now on."
      onDone={({ formId }) => onMade(formId)}
    />
  )
}
